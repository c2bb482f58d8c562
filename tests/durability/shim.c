/* Stands between a process and its C library: every call that looks at or changes a file below one folder is numbered,
   can be made to fail, to write less than asked, or to be the last thing the process does, and is written to a trace.

   Loaded with LD_PRELOAD, so that Python, SQLite and everything else pass through the same place. `strace` is asked in
   test_trace.py whether a call that changes the disk gets past it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, FAIL_ONCE, FAIL_FROM, SHORT, KILL };
enum { CHANGE = 1, LOOK = 2, LOCK = 4 };

static char root[PATH_MAX];
static size_t root_length;
static int on, kinds, mode, error_number, trace = -1;
static long at, count;
static const char *failed; /* the name of the last call that was made to fail */

/* For the tests, through ctypes. */
void shim_start(const char *folder, int which, int how, long where, int number, int trace_fd) {
    strncpy(root, folder, sizeof root - 1);
    root_length = strlen(root);
    kinds = which, mode = how, at = where, error_number = number, trace = trace_fd;
    count = 0, failed = "";
    syscall(SYS_access, "/shim on", 0); /* seen by strace */
    on = 1;
}

long shim_stop(void) {
    on = 0;
    syscall(SYS_access, "/shim off", 0);
    return count;
}

const char *shim_failed(void) { return failed; }

static void say(const char *text, size_t length) {
    while (length > 0) {
        long done = syscall(SYS_write, trace, text, length);
        if (done <= 0) return;
        text += done, length -= done;
    }
}

/* One event of the trace: a line of fields parted by tabs, then so many bytes. */
static void tell(const char *what, unsigned long inode, long offset, long length, const char *one, const char *two,
                 const void *data) {
    if (!on || trace < 0) return;
    char line[2 * PATH_MAX + 200];
    int saved = errno;
    int used = snprintf(line, sizeof line, "%s\t%lu\t%ld\t%ld\t%s\t%s\n", what, inode, offset, length, one, two);
    say(line, used);
    if (data) say(data, length);
    errno = saved;
}

void shim_mark(const char *what) { tell("mark", 0, 0, 0, what, "", 0); }

static int below(const char *path) {
    return on && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path, absolute. A link is followed in no part of it: the tests use real folders. */
static const char *absolute(int folder, const char *path, char *buffer) {
    if (path[0] == '/') return path;
    char link[64];
    if (folder == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    long length = syscall(SYS_readlink, link, buffer, PATH_MAX - 2);
    if (length < 0) return path;
    snprintf(buffer + length, PATH_MAX - length, "/%s", path);
    return buffer;
}

static const char *path_of(int handle, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    long length = on ? syscall(SYS_readlink, link, buffer, PATH_MAX - 1) : -1;
    buffer[length < 0 ? 0 : length] = 0;
    return buffer;
}

static unsigned long inode_of(int handle) {
    struct stat found;
    return fstat(handle, &found) ? 0 : found.st_ino;
}

/* Number a call. Returns 0 to let it pass, 1 to let a write be short, -1 to make it fail with errno set. */
static int numbered(int kind, const char *name, const char *path) {
    if (!on || !(kinds & kind)) return 0;
    count++;
    tell("call", count, kind, 0, name, path, 0);
    if (mode == COUNT || count < at || (count > at && mode != FAIL_FROM)) return 0;
    if (mode == KILL) syscall(SYS_kill, getpid(), SIGKILL);
    if (mode == SHORT && strcmp(name, "write")) return 0;
    failed = name;
    if (mode == SHORT) return 1;
    errno = error_number;
    return -1;
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opened(int folder, const char *path, int flags, mode_t access) {
    REAL(int, "openat", int, const char *, int, ...);
    char buffer[PATH_MAX];
    const char *full = on ? absolute(folder, path, buffer) : path;
    if (!below(full)) return real(folder, path, flags, access);
    int writing = (flags & (O_CREAT | O_TRUNC)) || (flags & O_ACCMODE) != O_RDONLY;
    if (numbered(writing ? CHANGE : LOOK, writing ? "open to write" : "open to read", full)) return -1;
    struct stat before;
    int there = !lstat(full, &before);
    int handle = real(folder, path, flags, access);
    if (handle >= 0 && !there) tell("create", inode_of(handle), 0, 0, full, "", 0);
    else if (handle >= 0 && (flags & O_TRUNC)) tell("truncate", inode_of(handle), 0, 0, full, "", 0);
    return handle;
}

#define MODE_ARGUMENT \
    mode_t access = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); access = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE_ARGUMENT return opened(AT_FDCWD, path, flags, access); }
int open64(const char *path, int flags, ...) { MODE_ARGUMENT return opened(AT_FDCWD, path, flags, access); }
int openat(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return opened(folder, path, flags, access); }
int openat64(int folder, const char *path, int flags, ...) { MODE_ARGUMENT return opened(folder, path, flags, access); }
int creat(const char *path, mode_t access) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, access); }
int creat64(const char *path, mode_t access) { return creat(path, access); }

static ssize_t written(int handle, const void *data, size_t length, off_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    static ssize_t (*plain)(int, const void *, size_t);
    if (!plain) plain = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    char path[PATH_MAX];
    int mine = on && handle != trace && below(path_of(handle, path));
    int verdict = mine ? numbered(CHANGE, "write", path) : 0;
    if (verdict < 0) return -1;
    if (verdict > 0 && length > 1) length /= 2;
    if (!mine) return offset < 0 ? plain(handle, data, length) : real(handle, data, length, offset);
    int appends = fcntl(handle, F_GETFL) & O_APPEND;
    off_t place = offset >= 0 ? offset : lseek(handle, 0, appends ? SEEK_END : SEEK_CUR);
    ssize_t done = offset < 0 ? plain(handle, data, length) : real(handle, data, length, offset);
    if (done > 0) tell("write", inode_of(handle), place, done, path, "", data);
    return done;
}

ssize_t write(int handle, const void *data, size_t length) { return written(handle, data, length, -1); }
ssize_t pwrite(int handle, const void *data, size_t length, off_t offset) { return written(handle, data, length, offset); }
ssize_t pwrite64(int handle, const void *data, size_t length, off_t offset) { return written(handle, data, length, offset); }

ssize_t writev(int handle, const struct iovec *parts, int number) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    char path[PATH_MAX];
    if (!on || handle == trace || !below(path_of(handle, path))) return real(handle, parts, number);
    ssize_t all = 0;
    for (int n = 0; n < number; n++) {
        ssize_t done = written(handle, parts[n].iov_base, parts[n].iov_len, -1);
        if (done < 0) return all ? all : -1;
        all += done;
        if ((size_t)done < parts[n].iov_len) break;
    }
    return all;
}

/* Copies within the kernel: callers fall back to read and write. */
ssize_t sendfile(int out, int in, off_t *offset, size_t length) {
    REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
    char path[PATH_MAX];
    if (on && below(path_of(out, path))) return errno = ENOTSOCK, -1;
    return real(out, in, offset, length);
}
ssize_t sendfile64(int out, int in, off_t *offset, size_t length) { return sendfile(out, in, offset, length); }

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
    char path[PATH_MAX];
    if (on && below(path_of(out, path))) return errno = EXDEV, -1;
    return real(in, from, out, to, length, flags);
}

#define ON_HANDLE(kind, name) \
    char path[PATH_MAX]; \
    int mine = on && handle != trace && below(path_of(handle, path)); \
    if (mine && numbered(kind, name, path)) return -1

ssize_t read(int handle, void *data, size_t length) {
    REAL(ssize_t, "read", int, void *, size_t);
    ON_HANDLE(LOOK, "read");
    return real(handle, data, length);
}

static ssize_t read_at(int handle, void *data, size_t length, off_t offset) {
    REAL(ssize_t, "pread64", int, void *, size_t, off_t);
    ON_HANDLE(LOOK, "read");
    return real(handle, data, length, offset);
}
ssize_t pread(int handle, void *data, size_t length, off_t offset) { return read_at(handle, data, length, offset); }
ssize_t pread64(int handle, void *data, size_t length, off_t offset) { return read_at(handle, data, length, offset); }

int ftruncate(int handle, off_t size) {
    REAL(int, "ftruncate64", int, off_t);
    ON_HANDLE(CHANGE, "truncate");
    int result = real(handle, size);
    if (mine && !result) tell("truncate", inode_of(handle), size, 0, path, "", 0);
    return result;
}
int ftruncate64(int handle, off_t size) { return ftruncate(handle, size); }

int posix_fallocate(int handle, off_t offset, off_t length) {
    REAL(int, "posix_fallocate64", int, off_t, off_t);
    char path[PATH_MAX];
    if (on && below(path_of(handle, path)) && numbered(CHANGE, "fallocate", path)) return errno;
    return real(handle, offset, length);
}
int posix_fallocate64(int handle, off_t offset, off_t length) { return posix_fallocate(handle, offset, length); }

static int synced(int handle, const char *name) {
    REAL(int, "fsync", int);
    static int (*data_only)(int);
    if (!data_only) data_only = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    ON_HANDLE(CHANGE, name);
    int result = strcmp(name, "fsync") ? data_only(handle) : real(handle);
    if (mine && !result) tell("fsync", inode_of(handle), 0, 0, path, "", 0);
    return result;
}
int fsync(int handle) { return synced(handle, "fsync"); }
int fdatasync(int handle) { return synced(handle, "fdatasync"); }

int fchmod(int handle, mode_t access) {
    REAL(int, "fchmod", int, mode_t);
    ON_HANDLE(CHANGE, "chmod");
    return real(handle, access);
}

int flock(int handle, int operation) {
    REAL(int, "flock", int, int);
    ON_HANDLE(LOCK, "flock");
    return real(handle, operation);
}

static int controlled(int handle, int command, void *argument) {
    REAL(int, "fcntl64", int, int, ...);
    /* Taking a lock off fails on no system that still works. */
    int locks = (command == F_SETLK || command == F_SETLKW) && ((struct flock *)argument)->l_type != F_UNLCK;
    char path[PATH_MAX];
    if (locks && on && below(path_of(handle, path)) && numbered(LOCK, "fcntl lock", path)) return -1;
    return real(handle, command, argument);
}
#define CONTROL \
    va_list more; va_start(more, command); void *argument = va_arg(more, void *); va_end(more); \
    return controlled(handle, command, argument);
int fcntl(int handle, int command, ...) { CONTROL }
int fcntl64(int handle, int command, ...) { CONTROL }

/* What changes names. */
static int moved(int a, const char *from, int b, const char *to, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    char one[PATH_MAX], two[PATH_MAX];
    const char *source = on ? absolute(a, from, one) : from, *target = on ? absolute(b, to, two) : to;
    int mine = below(source) || below(target);
    const char *name = flags & RENAME_EXCHANGE ? "exchange" : "rename";
    if (mine && numbered(CHANGE, name, target)) return -1;
    int result = flags ? real(a, from, b, to, flags) : (int)syscall(SYS_renameat, a, from, b, to);
    if (mine && !result) tell(name, 0, 0, 0, source, target, 0);
    return result;
}
int rename(const char *from, const char *to) { return moved(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return moved(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return moved(a, from, b, to, flags); }

int linkat(int a, const char *from, int b, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    char one[PATH_MAX], two[PATH_MAX];
    const char *source = on ? absolute(a, from, one) : from, *target = on ? absolute(b, to, two) : to;
    int mine = below(target);
    if (mine && numbered(CHANGE, "link", target)) return -1;
    int result = real(a, from, b, to, flags);
    if (mine && !result) tell("link", 0, 0, 0, source, target, 0);
    return result;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int folder, const char *path, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    char buffer[PATH_MAX];
    const char *full = on ? absolute(folder, path, buffer) : path;
    int mine = below(full);
    if (mine && numbered(CHANGE, flags & AT_REMOVEDIR ? "rmdir" : "unlink", full)) return -1;
    int result = real(folder, path, flags);
    if (mine && !result) tell("unlink", 0, 0, 0, full, "", 0);
    return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) { struct stat s; return !lstat(path, &s) && S_ISDIR(s.st_mode) ? rmdir(path) : unlink(path); }

int mkdirat(int folder, const char *path, mode_t access) {
    REAL(int, "mkdirat", int, const char *, mode_t);
    char buffer[PATH_MAX];
    const char *full = on ? absolute(folder, path, buffer) : path;
    int mine = below(full);
    if (mine && numbered(CHANGE, "mkdir", full)) return -1;
    int result = real(folder, path, access);
    struct stat found;
    if (mine && !result && !lstat(full, &found)) tell("mkdir", found.st_ino, 0, 0, full, "", 0);
    return result;
}
int mkdir(const char *path, mode_t access) { return mkdirat(AT_FDCWD, path, access); }

int fchmodat(int folder, const char *path, mode_t access, int flags) {
    REAL(int, "fchmodat", int, const char *, mode_t, int);
    char buffer[PATH_MAX];
    const char *full = on ? absolute(folder, path, buffer) : path;
    if (below(full) && numbered(CHANGE, "chmod", full)) return -1;
    return real(folder, path, access, flags);
}
int chmod(const char *path, mode_t access) { return fchmodat(AT_FDCWD, path, access, 0); }
