/* Preloaded into a server: a disk of which a test can cut the power. Before each write, what it replaces is appended to a
 * journal; a flush is noted there too. What was written after the last flush of a file can then be undone.
 *
 * Names of files are durable at once. Nothing is flushed in truth, unless the machine itself loses power. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Followed by `length` bytes: what the file had from `offset` on. */
struct entry {
    uint64_t inode, birth_ns, is_flush, offset, old_size, length;
};

/* High enough for no server to expect it. */
enum { JOURNAL_MIN = 300 };

static int journal(void) {
    static int fd = -1;
    const char *path = getenv("LOSSY_DISK_JOURNAL");
    if (fd < 0 && path) {
        int opened = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
        fd = fcntl(opened, F_DUPFD_CLOEXEC, JOURNAL_MIN);
        syscall(SYS_close, opened);
    }
    return fd;
}

/* Whether it is a file that a disk has. */
static int identify(int fd, struct entry *entry) {
    struct statx state;
    if (journal() < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &state) || !S_ISREG(state.stx_mode))
        return 0;
    entry->inode = state.stx_ino;
    entry->birth_ns = state.stx_btime.tv_sec * 1000000000ull + state.stx_btime.tv_nsec;
    entry->old_size = state.stx_size;
    return 1;
}

static void append(struct entry *entry, void *bytes) {
    struct iovec parts[] = {{entry, sizeof *entry}, {bytes, entry->length}};
    if (syscall(SYS_writev, journal(), parts, 2) != (long)(sizeof *entry + entry->length))
        abort();
}

/* Keeps what a write of this length will replace; `offset` is -1 for the file's position. */
static void remember(int fd, off_t offset, size_t length) {
    int error = errno, is_appending = fcntl(fd, F_GETFL) & O_APPEND;
    struct entry entry = {0};
    if (identify(fd, &entry)) {
        if (offset < 0)
            offset = is_appending ? (off_t)entry.old_size : lseek(fd, 0, SEEK_CUR);
        entry.offset = offset;
        uint64_t after = entry.old_size > entry.offset ? entry.old_size - entry.offset : 0;
        size_t replaced = after < length ? after : length;
        char path[40], *bytes = malloc(replaced + 1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        /* The server's own descriptor may be only for writing, or for aligned buffers. */
        int reading = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
        ssize_t read = replaced ? pread(reading, bytes, replaced, offset) : 0;
        if (!bytes || read < 0)
            abort();
        syscall(SYS_close, reading);
        entry.length = read;
        append(&entry, bytes);
        free(bytes);
    }
    errno = error;
}

static size_t sum(const struct iovec *parts, int count) {
    size_t length = 0;
    for (int i = 0; i < count; i++)
        length += parts[i].iov_len;
    return length;
}

#define REAL(name, ...) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

ssize_t write(int fd, const void *bytes, size_t length) {
    remember(fd, -1, length);
    return REAL(write, fd, bytes, length);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    remember(fd, -1, sum(parts, count));
    return REAL(writev, fd, parts, count);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    remember(fd, offset, length);
    return REAL(pwrite, fd, bytes, length, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    return pwrite(fd, bytes, length, offset);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
    remember(fd, offset, sum(parts, count));
    return REAL(pwritev, fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) {
    return pwritev(fd, parts, count, offset);
}

int fsync(int fd) {
    struct entry entry = {.is_flush = 1};
    const char *lie = getenv("LOSSY_DISK_LIE");
    if ((!lie || access(lie, F_OK)) && identify(fd, &entry))
        append(&entry, 0);
    return 0;
}
int fdatasync(int fd) {
    return fsync(fd);
}
