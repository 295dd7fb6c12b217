// Stops a process, or lets a call fail, at the n-th call that changes what lies in a folder: for LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;      // since the last names_set()
static atomic_long wanted = -1; // the one that does not come back, from 0; none: -1
static atomic_int error;       // its errno; 0: the process is killed instead

void names_set(long number, int code) {
    atomic_store(&calls, 0);
    atomic_store(&error, code);
    atomic_store(&wanted, number);
}

long names_calls(void) { return atomic_load(&calls); }

static int fails(void) {
    if (atomic_fetch_add(&calls, 1) != atomic_load(&wanted)) return 0;
    if (atomic_load(&error) == 0) kill(getpid(), SIGKILL);
    errno = atomic_load(&error);
    return 1;
}

#define CALL(name, parameters, arguments)                          \
    int name parameters {                                          \
        static int(*real) parameters;                              \
        if (!real) real = dlsym(RTLD_NEXT, #name);                 \
        return fails() ? -1 : real arguments;                      \
    }

CALL(rename, (const char *from, const char *to), (from, to))
CALL(unlink, (const char *path), (path))
CALL(link, (const char *from, const char *to), (from, to))
CALL(linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(fsync, (int file), (file))
CALL(rmdir, (const char *path), (path))
CALL(mkdir, (const char *path, mode_t mode), (path, mode))

ssize_t write(int file, const void *bytes, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return fails() ? -1 : real(file, bytes, size);
}
