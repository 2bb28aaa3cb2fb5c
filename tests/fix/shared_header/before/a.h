int total(int *a, int n);
