/* Control groups, memory and small files of the running system. */
#include "machine/identity/system.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ridge_system_line(const char *path, char *text, int size) {
    text[0] = '\0';
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(text, size, file) != NULL;
    (void)fclose(file);
    size_t length = read ? strlen(text) : 0;
    while (length && isspace((unsigned char)text[length - 1])) length--;
    text[length] = '\0';
    return read;
}

/* ---- control groups ------------------------------------------------------------------------------------------------
 * /proc/self/cgroup has a line "id:controllers:path" for each hierarchy; v2's has id 0 and no controllers. Every group
 * on the way to the root may set a limit, so each is read. Inside a container the path may exist only on the host; then
 * only the root can be read. */

typedef struct group_file {
    const char *controller; /* "" for v2 */
    const char *root;
    const char *file;
} group_file;

static bool has_controller(const char *list, const char *name) {
    size_t length = strlen(name);
    if (length == 0) return list[0] == '\0';
    for (const char *at = list; (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == '\0' || at[length] == ',')) return true;
    return false;
}

/* Path of this process's group in that hierarchy; false if it has none. */
static bool group_path(const char *controller, char *path, size_t size) {
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at) continue;
        *at = '\0';
        if (!has_controller(list + 1, controller)) continue;
        (void)snprintf(path, size, "%s", at + 1);
        found = true;
    }
    if (file) (void)fclose(file);
    return found;
}

/* Calls see(text, arg) with the file's first line for the group and each of its parents. */
static void walk_groups(const group_file *g, void (*see)(const char *folder, const char *text, void *arg), void *arg) {
    char path[1024], name[1280], text[128];
    if (!group_path(g->controller, path, sizeof path)) return;
    for (;;) {
        size_t length = strlen(path);
        while (length && path[length - 1] == '/') path[--length] = '\0';
        char folder[1152];
        (void)snprintf(folder, sizeof folder, "%s%s", g->root, path);
        (void)snprintf(name, sizeof name, "%s/%s", folder, g->file);
        if (ridge_system_line(name, text, sizeof text)) see(folder, text, arg);
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = '\0';
    }
}

static void see_bytes(const char *folder, const char *text, void *arg) {
    (void)folder;
    double *least = arg, bytes = strtod(text, NULL); /* "max" reads as 0; v1's "no limit" is a huge number */
    if (bytes > 0 && bytes < *least) *least = bytes;
}

static void see_quota(const char *folder, const char *text, void *arg) {
    double *least = arg, quota = 0, period = 0;
    if (sscanf(text, "%lf %lf", &quota, &period) == 1) { /* v1: the period has a file of its own */
        char name[1280], line[64];
        (void)snprintf(name, sizeof name, "%s/cpu.cfs_period_us", folder);
        if (ridge_system_line(name, line, sizeof line)) period = strtod(line, NULL);
    }
    if (quota > 0 && period > 0 && (*least <= 0 || quota / period < *least)) *least = quota / period;
}

int64_t ridge_system_memory(bool *limited) {
    static const group_file files[] = {{"", "/sys/fs/cgroup", "memory.max"},
                                       {"", "/sys/fs/cgroup/unified", "memory.max"},
                                       {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    double physical = pages > 0 && page > 0 ? (double)pages * (double)page : 0, least = physical;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) walk_groups(&files[i], see_bytes, &least);
    if (limited) *limited = least < physical;
    return (int64_t)least;
}

double ridge_system_cpu_quota(void) {
    static const group_file files[] = {{"", "/sys/fs/cgroup", "cpu.max"},
                                       {"", "/sys/fs/cgroup/unified", "cpu.max"},
                                       {"cpu", "/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"}};
    double quota = 0;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) walk_groups(&files[i], see_quota, &quota);
    return quota;
}
