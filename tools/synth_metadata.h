/* Metadata of made-up files: the entries of the list, with the tokenizer's tables and missing texts made up. */
#ifndef CONVECT_TOOLS_SYNTH_METADATA_H
#define CONVECT_TOOLS_SYNTH_METADATA_H

#include "engine/gguf_write.h"
#include "tools/model_list.h"

/* Errors: USAGE (vocabulary out of range), NO_FIT; the writer keeps its own for begin_data. */
convect_status synth_metadata_write(const model_list *list, gguf_writer *w, convect_error *err) CONVECT_MUST_CHECK;

/* split.no, split.count, split.tensors.count of shard i. */
void synth_metadata_split(gguf_writer *w, size_t i_shard, size_t n_shards, size_t n_tensors);

#endif
