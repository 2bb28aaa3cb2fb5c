int largest(int *a, int n);
