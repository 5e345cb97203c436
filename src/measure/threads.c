#include "measure/threads.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "device/device.h"

/* "123 (a name) R …": the state follows the last parenthesis. */
static bool is_running(const char *thread) {
    char path[64], line[256];
    (void)snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    FILE *file = fopen(path, "re");
    if (!file) return false; /* it has ended */
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    (void)fclose(file);
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

static bool others_run(void) {
    const long self = syscall(SYS_gettid);
    DIR *threads = opendir("/proc/self/task");
    bool any = false;
    if (!threads) return false;
    for (struct dirent *e; !any && (e = readdir(threads)) != NULL;)
        any = e->d_name[0] != '.' && strtol(e->d_name, NULL, 10) != self && is_running(e->d_name);
    (void)closedir(threads);
    return any;
}

void ridge_threads_rest(double limit_s) {
    const struct timespec pause = {.tv_nsec = 300000};
    const uint64_t began = ridge_clock_ns();
    do nanosleep(&pause, NULL);
    while (others_run() && ridge_seconds_since(began) < limit_s);
}
