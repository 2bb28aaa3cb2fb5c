/* line_table_sample.c: functions at known places, for line_table_test.c. Compiled without the runtime. */
int plain(int n);
int in_folder(int n);
int absolute(int n);
int beyond(int n);

#line 20 "plain.lee"
int plain(int n) {
    return n + 1;
}
#line 40 "some/folder/in.lee"
int in_folder(int n) {
    return n * 3;
}
#line 60 "/abs/olute.lee"
int absolute(int n) {
    return n - 9;
}
#line 70000 "../up/beyond.lee"
int beyond(int n) {
    return n ^ 5;
}
#line 29 "line_table_sample.c"
int main(int argc, char **argv) {
    (void)argv;
    return plain(argc) + in_folder(argc) + absolute(argc) + beyond(argc) == 1000;
}
