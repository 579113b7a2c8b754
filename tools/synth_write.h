/* Writes a model_list as GGUF: metadata with a made-up tokenizer, then all tensors by all workers in large pieces, each
 * straight to its place; one file, or the shards of a split one. */
#ifndef CONVECT_TOOLS_SYNTH_WRITE_H
#define CONVECT_TOOLS_SYNTH_WRITE_H

#include "cpu/pool.h"
#include "tools/model_list.h"
#include "tools/progress.h"
#include "tools/synth_fill.h"

#define SYNTH_PATH_BYTES 4096

typedef struct synth_result {
    uint64_t n_bytes;                 /* all shards */
    char path[SYNTH_PATH_BYTES + 32]; /* to be opened: the file, or the first shard */
} synth_result;

/* path: the file; of a split list PREFIX.gguf gives PREFIX-00001-of-0000N.gguf and so on. Errors: USAGE (vocabulary out
 * of range), NO_FIT, IO; on any error no file is left behind but shards already renamed into place. */
convect_status synth_write(const model_list *list, const synth_style *style, const char *path, cpu_pool *pool,
                           bool is_quiet, synth_result *out, convect_error *err) CONVECT_MUST_CHECK;

#endif
