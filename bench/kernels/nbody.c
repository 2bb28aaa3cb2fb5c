// The sun and four planets under gravity: nbody [STEPS].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define BODIES 5
#define SOLAR_MASS (4 * 3.14159265358979323846 * 3.14159265358979323846)
#define YEAR 365.24

struct body { double x, y, z, vx, vy, vz, mass; };

static struct body planets[BODIES] = {
    { 0, 0, 0, 0, 0, 0, SOLAR_MASS },
    { 4.84143144246472090, -1.16032004402742839, -0.103622044471123109,
      0.00166007664274403694 * YEAR, 0.00769901118419740425 * YEAR, -0.0000690460016972063023 * YEAR,
      0.000954791938424326609 * SOLAR_MASS },
    { 8.34336671824457987, 4.12479856412430479, -0.403523417114321381,
      -0.00276742510726411021 * YEAR, 0.00499852801234917238 * YEAR, 0.0000230417297573763929 * YEAR,
      0.000285885980666130812 * SOLAR_MASS },
    { 12.8943695621391310, -15.1111514016986312, -0.223307578892655734,
      0.00296460137564761618 * YEAR, 0.00237847173959480950 * YEAR, -0.0000296589568540237556 * YEAR,
      0.0000436624404335156298 * SOLAR_MASS },
    { 15.3796971148509165, -25.9193146099879641, 0.179258772950371181,
      0.00268067772490389322 * YEAR, 0.00162824170038242295 * YEAR, -0.0000951592254519715870 * YEAR,
      0.0000515138902046611451 * SOLAR_MASS },
};

static void rest(struct body b[], int n) {
    double px = 0, py = 0, pz = 0;
    for (int i = 0; i < n; i++) {
        px += b[i].vx * b[i].mass;
        py += b[i].vy * b[i].mass;
        pz += b[i].vz * b[i].mass;
    }
    b[0].vx = -px / SOLAR_MASS;
    b[0].vy = -py / SOLAR_MASS;
    b[0].vz = -pz / SOLAR_MASS;
}

static void advance(struct body b[], int n, double dt) {
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y, dz = b[i].z - b[j].z;
            double square = dx * dx + dy * dy + dz * dz;
            double force = dt / (square * sqrt(square));
            b[i].vx -= dx * b[j].mass * force;
            b[i].vy -= dy * b[j].mass * force;
            b[i].vz -= dz * b[j].mass * force;
            b[j].vx += dx * b[i].mass * force;
            b[j].vy += dy * b[i].mass * force;
            b[j].vz += dz * b[i].mass * force;
        }
    }
    for (int i = 0; i < n; i++) {
        b[i].x += dt * b[i].vx;
        b[i].y += dt * b[i].vy;
        b[i].z += dt * b[i].vz;
    }
}

static double energy(const struct body b[], int n) {
    double e = 0;
    for (int i = 0; i < n; i++) {
        e += 0.5 * b[i].mass * (b[i].vx * b[i].vx + b[i].vy * b[i].vy + b[i].vz * b[i].vz);
        for (int j = i + 1; j < n; j++) {
            double dx = b[i].x - b[j].x, dy = b[i].y - b[j].y, dz = b[i].z - b[j].z;
            e -= b[i].mass * b[j].mass / sqrt(dx * dx + dy * dy + dz * dz);
        }
    }
    return e;
}

int main(int argc, char **argv) {
    int steps = argc > 1 ? atoi(argv[1]) : 4000000;
    rest(planets, BODIES);
    double before = energy(planets, BODIES);
    for (int i = 0; i < steps; i++)
        advance(planets, BODIES, 0.01);
    printf("%.12f %.12f\n", before, energy(planets, BODIES));
    return 0;
}
