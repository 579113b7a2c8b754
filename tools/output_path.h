/* Files that a command writes must not be files that it reads: a report that replaces the model is a loss. */
#ifndef CONVECT_TOOLS_OUTPUT_PATH_H
#define CONVECT_TOOLS_OUTPUT_PATH_H

#include "engine/base/status.h"
#include "engine/gguf.h"

/* USAGE if out names the same file as in (links followed). A file that does not exist is no other. NULL for either is
 * fine. */
convect_status output_check_file(const char *out, const char *in, convect_error *err) CONVECT_MUST_CHECK;

/* The same for every shard of an open model. */
convect_status output_check_model(const char *out, const gguf *model, convect_error *err) CONVECT_MUST_CHECK;

#endif
