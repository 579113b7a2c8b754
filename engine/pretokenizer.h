/* Pre-tokenizers: cut text into the pieces inside which byte-level BPE merges. A hand-written scanner with the meaning
 * of the published patterns, leftmost alternative first (L letters, M marks, N numbers, S Unicode White_Space):
 *
 *   (?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n L N]?[W]+ | N | ?[^S W N]+[\r\n]* | S*[\r\n]+ | S+(?!\S) | S+
 *
 * where W = L for qwen2 and W = L or M for qwen35. Linear in the text, no recursion, no allocation. Pure functions. */
#ifndef CONVECT_ENGINE_PRETOKENIZER_H
#define CONVECT_ENGINE_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pretokenizer { PRETOKENIZER_QWEN2, PRETOKENIZER_QWEN35, PRETOKENIZER_COUNT } pretokenizer;

/* The pre-tokenizer that a file calls `name` (tokenizer.ggml.pre), aliases included. False if there is none. */
bool pretokenizer_find(const char *name, size_t n_bytes, pretokenizer *out);

/* Length in bytes (>= 1) of the first piece of text; n_bytes >= 1. A byte that is no part of valid UTF-8 counts as a
 * character outside all classes. */
size_t pretokenizer_next(pretokenizer kind, const char *text, size_t n_bytes);

#endif
