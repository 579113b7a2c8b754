/* Byte-level BPE tokenizer read from GGUF metadata (tokenizer.ggml.*), with the `qwen2` and `qwen35` pre-tokenizers.
 * Immutable after create; any thread may encode and decode. Encoding is linear in the text apart from a log factor. */
#ifndef CONVECT_ENGINE_TOKENIZER_H
#define CONVECT_ENGINE_TOKENIZER_H

#include "engine/gguf.h"

/* Longest text of one token in a file, and so of one piece. The longest of Qwen3 has 256 bytes. */
#define TOKENIZER_PIECE_BYTES_MAX 1024

typedef struct tokenizer tokenizer;

/* A growing list of token ids; start from {0}, free with token_list_free. */
typedef struct token_list {
    int32_t *ids;
    size_t n;
    size_t cap;
} token_list;

void token_list_free(token_list *list);
convect_status token_list_push(token_list *list, int32_t id, convect_error *err) CONVECT_MUST_CHECK;

/* Reads and checks the vocabulary; a file without tensors will do. Of two tokens with the same bytes the lower id is
 * encoded; of two merges of the same pair the first counts. Copies what it needs: g may be closed afterwards. Errors:
 * DAMAGED, NOT_SUPPORTED (another tokenizer model or pre-tokenizer, a BOS token), NO_FIT. */
convect_status tokenizer_create(const gguf *g, tokenizer **out, convect_error *err) CONVECT_MUST_CHECK;
void tokenizer_destroy(tokenizer *t); /* NULL is fine */

/* Appends the ids of text (any bytes, at most 1 GiB; NFC-normalised where it is valid UTF-8). User-defined tokens
 * always match; control tokens match only with parse_special: text from users must never form one. Errors: USAGE,
 * NO_FIT. */
convect_status tokenizer_encode(const tokenizer *t, const char *text, size_t n_bytes, bool parse_special,
                                token_list *out, convect_error *err) CONVECT_MUST_CHECK;

typedef struct tokenizer_range {
    size_t begin, end; /* bytes [begin, end) */
} tokenizer_range;

/* The same where control tokens match only within one of the trusted ranges (rising, apart): the rest is from users.
 * Otherwise the ranges change nothing: words reach across their ends. */
convect_status tokenizer_encode_mixed(const tokenizer *t, const char *text, size_t n_bytes,
                                      const tokenizer_range *trusted, size_t n_trusted, token_list *out,
                                      convect_error *err) CONVECT_MUST_CHECK;

/* The bytes of one token: control tokens give their literal text. Borrowed; may be part of a UTF-8 character. Id must
 * be in [0, vocabulary size) (checked); padding tokens give no bytes. */
gguf_string tokenizer_piece(const tokenizer *t, int32_t id);

size_t tokenizer_n_vocab(const tokenizer *t);
size_t tokenizer_n_real(const tokenizer *t);              /* ids at and above it are padding: never produce them */
bool tokenizer_is_unused(const tokenizer *t, int32_t id); /* padding: to be masked */
bool tokenizer_is_control(const tokenizer *t, int32_t id);
bool tokenizer_is_stop(const tokenizer *t,
                       int32_t id); /* eos, <|im_end|>, <|endoftext|>, fim_pad, repo_name, file_sep */
int32_t tokenizer_find(const tokenizer *t, const char *text); /* whole-token text, or -1 */

/* Streaming detokeniser: never splits a UTF-8 character. Start from {0}. Push returns bytes that are ready (borrowed
 * until the next call); flush returns what is held back, as it is. */
typedef struct detokenizer {
    char buf[TOKENIZER_PIECE_BYTES_MAX + 3];
    size_t n_ready; /* bytes handed out by the last call */
    size_t n_bytes; /* bytes in buf */
} detokenizer;

gguf_string detokenizer_push(detokenizer *d, gguf_string piece);
gguf_string detokenizer_flush(detokenizer *d);

#endif
