// The average grade of many students, who have 0 to 100 percent: the grade for each ten percent stands in a table. 100 percent
// want grade[10], which is not there: C reads `students` instead. -DFIXED gives them a grade.
#include <stdio.h>
#include <stdlib.h>

enum { STUDENTS = 5000000, ROUNDS = 40 };

#ifdef FIXED
enum { STEPS = 11 };
#else
enum { STEPS = 10 };
#endif

struct course {
    int grade[STEPS];
    int students;
};

static double average(const struct course *c, const int *percent, int n) {
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += c->grade[percent[i] / 10];
    return (double)sum / n;
}

struct course course = { { 0, 0, 0, 0, 1, 2, 3, 4, 5, 5 }, STUDENTS };

int main(void) {
#ifdef FIXED
    course.grade[10] = 6;
#endif
    int *percent = malloc(STUDENTS * sizeof *percent);
    unsigned seed = 1;
    for (int i = 0; i < STUDENTS; i++) {
        seed = seed * 1664525 + 1013904223;
        percent[i] = (seed >> 8) % 101;
    }
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        sum += average(&course, percent, STUDENTS);
    printf("grades are 0 to 6, the average is %.2f\n", sum / ROUNDS);
    return 0;
}
