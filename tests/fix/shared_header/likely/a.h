int total(int *counted_by(n) a, int n);
