// Queries that come by the places that the advisor patches in SQLite: statistics of indices of few
// and of many columns, and the test of bit vectors.
#include "sqlite3.h"
#include <stdio.h>

static int row(void *unused, int n, char **values, char **names) {
    (void)unused, (void)names;
    for (int i = 0; i < n; i++) printf("%s|", values[i] ? values[i] : "null");
    puts("");
    return 0;
}

static void run(sqlite3 *db, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(db, sql, row, NULL, &error)) printf("%s\n", error);
    sqlite3_free(error);
}

// The columns c1 to c89, which take more than a buffer of 64 numbers.
static int columns(char *to) {
    int n = 0;
    for (int i = 1; i < 90; i++) n += sprintf(to + n, ", c%d", i);
    return n;
}

int main(void) {
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db)) return 1;
    run(db, "create table t(a, b, c, d); with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)"
            "insert into t select i % 7, i % 11, i * i % 101, hex(i) from n; create index ti on t(a, b, c, d)");
    char wide[4000];
    int n = sprintf(wide, "create table w(c0");
    n += columns(wide + n);
    n += sprintf(wide + n, "); insert into w(c0, c5) values(1, 2), (1, 3), (2, 3); create index wi on w(c0");
    n += columns(wide + n);
    sprintf(wide + n, ")");
    run(db, wide);
    run(db, "analyze; select * from sqlite_stat1 order by 1, 2; select a, count(*), sum(c) from t where b > 3 group by a");
    for (int size = 10; size < 100000; size *= 7) {
        int operations[] = { 5, 3, 1, 1, 0 };
        printf("%d bits: %d\n", size, sqlite3_test_control(SQLITE_TESTCTRL_BITVEC_TEST, size, operations));
    }
    return sqlite3_close(db);
}
