#define _GNU_SOURCE
#include "cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of each controller a hierarchy of its own in version 1; in version 2 there is one, the first. */
static const char *const controllers[] = {"memory", "pids", "cpu"};
enum { CONTROLLERS = sizeof controllers / sizeof *controllers, FOLDER = 1000, PATH = FOLDER + 100 };

static int version, groups;
static bool bounds_memory;
static char tops[CONTROLLERS][FOLDER]; /* the folder that all groups are in */
static char before[FOLDER - 40];       /* version 2: the group that this program was in */
static bool handed_on[CONTROLLERS];    /* by this program, from there */

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

/* Writes into a file of a folder. */
static bool tell(const char *folder, const char *file, const char *text) {
    char path[PATH];
    snprintf(path, sizeof path, "%.990s/%.40s", folder, file);
    return write_file(path, text);
}

static void path_of(char path[PATH], int hierarchy, int which, const char *file) {
    snprintf(path, PATH, "%.990s/t%d%s%.40s", tops[hierarchy], which, *file ? "/" : "", file);
}

static bool write_group(int hierarchy, int which, const char *file, const char *text) {
    char path[PATH];
    path_of(path, hierarchy, which, file);
    return write_file(path, text);
}

/* Whether a line of words has one. */
static bool has_word(const char *line, const char *word) {
    size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at += length) {
        if ((at == line || at[-1] == ' ') && (at[length] == 0 || at[length] == ' ' || at[length] == '\n'))
            return true;
    }
    return false;
}

static bool read_line(const char *path, char *line, int size) {
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, size, file);
    if (file)
        fclose(file);
    return read;
}

/* --- version 2 ---------------------------------------------------------------------------------- */

/* Where the hierarchy is mounted, and the group of this program below. */
static bool find_own(void) {
    char line[2 * FOLDER], at[FOLDER] = "", group[FOLDER] = "";
    FILE *file = fopen("/proc/self/mountinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %999s", at) == 1)
            break;
    }
    if (file)
        fclose(file);
    file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) == 0)
            snprintf(group, sizeof group, "%.*s", (int)strcspn(line + 4, "\n"), line + 4);
    }
    if (file)
        fclose(file);
    int length = snprintf(before, sizeof before, "%s%s%s", at, *group ? "/" : "", group);
    return *at && length < (int)sizeof before;
}

/* Hands a controller that the folder has on to what is below it. */
static bool hand_on(const char *folder, int controller) {
    char path[PATH], line[256] = "", word[32];
    snprintf(path, sizeof path, "%.990s/cgroup.controllers", folder);
    snprintf(word, sizeof word, "+%s", controllers[controller]);
    return read_line(path, line, sizeof line) && has_word(line, controllers[controller]) && tell(folder, "cgroup.subtree_control", word);
}

static bool is_handed_on(const char *folder, int controller) {
    char path[PATH], line[256] = "";
    snprintf(path, sizeof path, "%.990s/cgroup.subtree_control", folder);
    return read_line(path, line, sizeof line) && has_word(line, controllers[controller]);
}

/* A group that hands controllers on has no processes of its own, but for the root: so the program goes
 * into one beside those of the tenants. */
static bool make_host(void) {
    char path[PATH];
    snprintf(path, sizeof path, "%.990s/host", tops[0]);
    return mkdir(path, 0755) == 0 && tell(path, "cgroup.procs", "0");
}

static bool begin_2(int count, bool missing[CONTROLLERS]) {
    if (!find_own())
        return false;
    snprintf(tops[0], FOLDER, "%s/lee-tenants-%d", before, (int)getpid());
    if (mkdir(tops[0], 0755) != 0 || !make_host())
        return false;
    for (int i = 0; i < CONTROLLERS; i++) {
        bool was = is_handed_on(before, i);
        handed_on[i] = !was && hand_on(before, i);
        missing[i] = (!was && !handed_on[i]) || !hand_on(tops[0], i);
    }
    bounds_memory = !missing[0];
    for (; groups < count; groups++) {
        char path[PATH];
        path_of(path, 0, groups, "");
        if (mkdir(path, 0755) != 0)
            return false;
        if (!missing[0]) {
            bool bounded = write_group(0, groups, "memory.max", "8388608");
            write_group(0, groups, "memory.swap.max", "0"); /* not there without swap */
            missing[0] = !bounded;
        }
        missing[1] = missing[1] || !write_group(0, groups, "pids.max", "20");
    }
    return true;
}

/* --- version 1 ---------------------------------------------------------------------------------- */

static bool begin_1(int count) {
    for (int i = 0; i < CONTROLLERS; i++) {
        snprintf(tops[i], FOLDER, "/sys/fs/cgroup/%s/lee-tenants-%d", controllers[i], (int)getpid());
        mkdir(tops[i], 0755);
    }
    bounds_memory = true;
    for (; groups < count; groups++) {
        for (int i = 0; i < CONTROLLERS; i++) {
            char path[PATH];
            path_of(path, i, groups, "");
            if (mkdir(path, 0755) != 0)
                return false;
        }
        if (!write_group(0, groups, "memory.limit_in_bytes", "8388608") || !write_group(1, groups, "pids.max", "20"))
            return false;
    }
    return true;
}

/* --- both --------------------------------------------------------------------------------------- */

const char *cgroups_begin(int count) {
    static char name[100];
    bool missing[CONTROLLERS] = {false};
    const char *said = getenv("TENANTS_CGROUPS");
    int only = said ? atoi(said) : 0;
    version = 2;
    if (only != 1 && begin_2(count, missing) && (only == 2 || (!missing[0] && !missing[1]))) {
        snprintf(name, sizeof name, "cgroup v2");
        for (int i = 0; i < CONTROLLERS; i++) {
            if (missing[i])
                snprintf(name + strlen(name), sizeof name - strlen(name), ", without %s", controllers[i]);
        }
        return name;
    }
    cgroups_end();
    version = 1;
    if (only != 2 && begin_1(count))
        return "cgroup v1";
    cgroups_end();
    return NULL;
}

bool cgroups_bound_memory(void) {
    return version != 0 && bounds_memory;
}

void cgroup_enter(int which) {
    for (int i = 0; i < (version == 1 ? CONTROLLERS : version / 2); i++)
        write_group(i, which, "cgroup.procs", "0");
}

void cgroup_kill(int which) {
    if (version == 0 || (version == 2 && write_group(0, which, "cgroup.kill", "1")))
        return;
    char path[PATH];
    path_of(path, version == 1 ? 1 : 0, which, "cgroup.procs");
    for (int again = 0; again < 20; again++) {
        FILE *file = fopen(path, "re");
        int pid = 0, found = 0;
        while (file && fscanf(file, "%d", &pid) == 1) {
            kill(pid, SIGKILL);
            found = 1;
        }
        if (file)
            fclose(file);
        if (!found)
            return;
        usleep(1000);
    }
}

void cgroups_end(void) {
    char path[PATH];
    for (int i = 0; i < CONTROLLERS && *tops[i]; i++) {
        for (int which = 0; which <= groups; which++) { /* one may be half made */
            path_of(path, i, which, "");
            for (int again = 0; again < 5000 && rmdir(path) != 0 && access(path, F_OK) == 0; again++)
                usleep(1000); /* who was killed is there until it has ended */
        }
        for (int k = 0; version == 2 && k < CONTROLLERS; k++) {
            char word[32];
            snprintf(word, sizeof word, "-%s", controllers[k]);
            tell(tops[i], "cgroup.subtree_control", word);
            if (handed_on[k])
                tell(before, "cgroup.subtree_control", word);
            handed_on[k] = false;
        }
        if (version == 2) {
            tell(before, "cgroup.procs", "0");
            snprintf(path, sizeof path, "%.990s/host", tops[i]);
            rmdir(path);
        }
        rmdir(tops[i]);
        *tops[i] = 0;
    }
    groups = 0;
    version = 0;
    bounds_memory = false;
}
