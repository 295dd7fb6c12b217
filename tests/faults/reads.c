// Lets the n-th read call of a process fail: for LD_PRELOAD. Only reads of files in one folder count.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;      // reads that counted since the last fault_set()
static atomic_long first = -1; // the one that fails, from 0; none: -1
static atomic_int forever;     // whether all later ones fail too
static atomic_int error;       // its errno; 0: the read is short
static char folder[4096];

void fault_set(const char *path, long number, int all, int code) {
    snprintf(folder, sizeof folder, "%s/", path);
    atomic_store(&calls, 0);
    atomic_store(&forever, all);
    atomic_store(&error, code);
    atomic_store(&first, number);
}

long fault_calls(void) { return atomic_load(&calls); }

// Whether a read of this file fails; how many bytes it gives at most is changed for a short one.
static int fails(int file, size_t *size) {
    if (folder[0] == 0) return 0;
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder)) != 0) return 0;
    long number = atomic_fetch_add(&calls, 1), from = atomic_load(&first);
    if (from < 0 || number < from || (number > from && !atomic_load(&forever))) return 0;
    if (atomic_load(&error) == 0) {
        if (*size > 1) *size = *size / 2 < 1000 ? *size / 2 : 1000;
        return 0;
    }
    errno = atomic_load(&error);
    return 1;
}

ssize_t read(int file, void *room, size_t size) {
    static ssize_t (*real)(int, void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "read");
    return fails(file, &size) ? -1 : real(file, room, size);
}

ssize_t pread(int file, void *room, size_t size, off_t at) {
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread");
    return fails(file, &size) ? -1 : real(file, room, size, at);
}

ssize_t pread64(int file, void *room, size_t size, off64_t at) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    return fails(file, &size) ? -1 : real(file, room, size, at);
}
