/* SHA-256 of files, with libmd doing the work. */
#ifndef CONVECT_TOOLS_FILE_DIGEST_H
#define CONVECT_TOOLS_FILE_DIGEST_H

#include "engine/convect.h"

#define FILE_DIGEST_TEXT_BYTES 65 /* 64 hex digits and a NUL */

/* progress counts the file's bytes, false cancels; may be NULL. Errors: NOT_FOUND, IO, CANCELLED. */
convect_status file_digest(const char *path, convect_progress progress, void *user, char out[FILE_DIGEST_TEXT_BYTES],
                           convect_error *err) CONVECT_MUST_CHECK;

#endif
