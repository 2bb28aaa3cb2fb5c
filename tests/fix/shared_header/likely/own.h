int largest(int *counted_by(n) a, int n);
