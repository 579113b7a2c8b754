/* What the disk under a path gives: how fast it reads past the page cache, and whether io_uring is there to ask for
 * many reads at once. For `convect doctor`. */
#ifndef CONVECT_OFFLOAD_DISK_PROBE_H
#define CONVECT_OFFLOAD_DISK_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/status.h"

typedef struct disk_read_rate {
    double gb_per_s; /* 1e9 bytes a second */
    uint64_t read_bytes;
    uint64_t free_bytes; /* of the file system, for this user */
    bool was_written;    /* the data was written just before: a drive's own cache may flatter it */
} disk_read_rate;

/* Reads a file with O_DIRECT, 4 MiB at a time from its beginning, for at most half a second (so one read may make it a
 * little more). For a folder: an unnamed file of 64 MiB is written there first, and is gone afterwards. Messages name
 * no path. Errors: NOT_FOUND, NOT_SUPPORTED (the file system has no direct reads, or the file is below 4 MiB), IO,
 * NO_FIT. */
convect_status disk_probe_read(const char *path, disk_read_rate *out, convect_error *err) CONVECT_MUST_CHECK;

typedef enum disk_uring { DISK_URING_READY, DISK_URING_REFUSED, DISK_URING_NOT_BUILT } disk_uring;

/* Sets up a small ring and takes it down. *error_code: errno if REFUSED, else 0. */
disk_uring disk_probe_uring(int *error_code);

#endif
