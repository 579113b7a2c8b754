#include "offload/disk_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef CONVECT_HAVE_URING
#include <liburing.h>
#endif

#include "engine/base/stats.h"

#define PIECE_BYTES   ((size_t)4 << 20)
#define WRITTEN_BYTES ((uint64_t)64 << 20)
#define ALIGN_BYTES   4096
#define READ_NS       UINT64_C(500000000)

static convect_status failed(convect_error *err, const char *what) {
    const int code = errno;
    if (code == EINVAL || code == EOPNOTSUPP)
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "the file system has no direct reads");
    const convect_status status = code == ENOENT || code == EACCES || code == ENOTDIR ? CONVECT_NOT_FOUND : CONVECT_IO;
    return convect_fail(err, status, "%s: %s", what, strerror(code));
}

static convect_status write_file(int fd, uint8_t *piece, convect_error *err) {
    for (size_t i = 0; i < PIECE_BYTES; i++) piece[i] = (uint8_t)(i * 2654435761U >> 13); /* nothing to compress away */
    for (uint64_t off = 0; off < WRITTEN_BYTES; off += PIECE_BYTES)
        if (pwrite(fd, piece, PIECE_BYTES, (off_t)off) != (ssize_t)PIECE_BYTES)
            return failed(err, "cannot write a test file");
    return fsync(fd) == 0 ? CONVECT_OK : failed(err, "cannot write a test file");
}

static convect_status read_file(int fd, uint8_t *piece, uint64_t n_bytes, disk_read_rate *out, convect_error *err) {
    const uint64_t start_ns = stats_now_ns();
    uint64_t spent_ns = 0, off = 0;
    while (off + PIECE_BYTES <= n_bytes && spent_ns < READ_NS) {
        if (pread(fd, piece, PIECE_BYTES, (off_t)off) != (ssize_t)PIECE_BYTES) return failed(err, "cannot read");
        off += PIECE_BYTES;
        spent_ns = stats_now_ns() - start_ns;
    }
    if (off == 0) return convect_fail(err, CONVECT_NOT_SUPPORTED, "the file is too small to measure with");
    out->read_bytes = off;
    out->gb_per_s = (double)off / (double)(spent_ns ? spent_ns : 1);
    return CONVECT_OK;
}

static convect_status probe(int fd, bool is_new, disk_read_rate *out, convect_error *err) {
    struct stat st;
    uint8_t *piece = aligned_alloc(ALIGN_BYTES, PIECE_BYTES);
    if (!piece) return convect_fail(err, CONVECT_NO_FIT, "no memory for a read buffer");
    convect_status status = is_new ? write_file(fd, piece, err) : CONVECT_OK;
    if (!status && fstat(fd, &st) != 0) status = failed(err, "cannot read the size");
    if (!status) status = read_file(fd, piece, (uint64_t)st.st_size, out, err);
    free(piece);
    return status;
}

convect_status disk_probe_read(const char *path, disk_read_rate *out, convect_error *err) {
    struct stat st;
    struct statvfs fs;
    *out = (disk_read_rate){0};
    if (stat(path, &st) != 0) return failed(err, "cannot look at the path");
    out->was_written = S_ISDIR(st.st_mode);
    if (!out->was_written && !S_ISREG(st.st_mode))
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "the path is neither a file nor a folder");
    if (statvfs(path, &fs) == 0) out->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    const int fd = out->was_written ? open(path, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600)
                                    : open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0) return failed(err, out->was_written ? "cannot make a test file" : "cannot open the file");
    const convect_status status = probe(fd, out->was_written, out, err);
    (void)close(fd);
    return status;
}

disk_uring disk_probe_uring(int *error_code) {
    *error_code = 0;
#ifdef CONVECT_HAVE_URING
    struct io_uring ring;
    const int rc = io_uring_queue_init(8, &ring, 0);
    if (rc == 0) {
        io_uring_queue_exit(&ring);
        return DISK_URING_READY;
    }
    *error_code = -rc;
    return DISK_URING_REFUSED;
#else
    return DISK_URING_NOT_BUILT;
#endif
}
