#include "tools/file_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)1 << 18)

_Static_assert(FILE_DIGEST_TEXT_BYTES == SHA256_DIGEST_STRING_LENGTH, "room for the digest's text");

static convect_status digest(int fd, uint64_t n_bytes, convect_progress progress, void *user, SHA2_CTX *sha,
                             convect_error *err) {
    uint8_t piece[PIECE_BYTES];
    uint64_t n_done = 0;
    for (;;) {
        const ssize_t n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return convect_fail(err, CONVECT_IO, "cannot read it: %s", strerror(errno));
        if (n == 0) return CONVECT_OK;
        SHA256Update(sha, piece, (size_t)n);
        n_done += (uint64_t)n;
        if (progress && !progress(user, n_done, n_bytes)) return convect_fail(err, CONVECT_CANCELLED, "interrupted");
    }
}

convect_status file_digest(const char *path, convect_progress progress, void *user, char out[FILE_DIGEST_TEXT_BYTES],
                           convect_error *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return convect_fail(err, CONVECT_NOT_FOUND, "%s: cannot open it: %s", path, strerror(errno));
    struct stat st;
    SHA2_CTX sha;
    SHA256Init(&sha);
    const uint64_t n_bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
    const convect_status status = digest(fd, n_bytes, progress, user, &sha, err);
    (void)close(fd);
    (void)SHA256End(&sha, out);
    if (status != CONVECT_OK && status != CONVECT_CANCELLED) convect_error_context(err, "%s: ", path);
    return status;
}
