/* Files of stored token distributions, so that two models can be compared without holding both: `convect ppl
 * --save-logits` writes one, `--kl` reads it. Streamed in both directions: a record at a time is in memory.
 *
 * Layout, little-endian, no padding:
 *   header, 128 bytes:  "CVLOGITS", u32 version (1), u32 header bytes (128), u32 n_vocab, u32 n_top, u32 window tokens,
 *                       u32 KV type (convect_kv_type), u64 n_positions, u64 hash of the tokens, u64 hash of the model,
 *                       64 bytes model name (UTF-8, NUL-padded), 8 bytes zero
 *   n_positions records of 12 + 8 n_top bytes: i32 the token that follows, f32 its log-probability, f32 log of the mass
 *                       of all tokens that are not listed (-inf if there is none), n_top i32 ids from the most likely
 *                       one down (ties: lower id first), n_top f32 log-probabilities (natural)
 *   u64 XXH3 of everything before it
 *
 * With n_top = n_vocab nothing is left out. Otherwise the record is the exact distribution over n_top + 1 outcomes: the
 * listed tokens, and "any other". */
#ifndef CONVECT_ENGINE_LOGITS_FILE_H
#define CONVECT_ENGINE_LOGITS_FILE_H

#include <stdint.h>

#include "engine/base/status.h"

#define LOGITS_NAME_BYTES 64 /* of a model name, with its NUL */

typedef struct logits_header {
    uint32_t n_vocab;         /* 1..2^24 */
    uint32_t n_top;           /* 1..n_vocab */
    uint32_t n_window_tokens; /* 2..2^24 */
    uint32_t kv_type;         /* convect_kv_type */
    uint64_t n_positions;
    uint64_t tokens_hash;
    uint64_t model_hash;
    char model_name[LOGITS_NAME_BYTES];
} logits_header;

typedef struct logits_row {
    int32_t target;
    float target_logp;
    float tail_logp;    /* -INFINITY if n_top = n_vocab */
    const int32_t *ids; /* [n_top] */
    const float *logps; /* [n_top], not rising */
} logits_row;

typedef struct logits_writer logits_writer;
typedef struct logits_reader logits_reader;

/* Writes PATH.<pid>.part and renames it at the end: an existing PATH stays whole on any failure. Errors: NOT_FOUND (no
 * such folder), IO, NO_FIT. */
convect_status logits_writer_open(const char *path, const logits_header *header, logits_writer **out,
                                  convect_error *err) CONVECT_MUST_CHECK;
convect_status logits_writer_put(logits_writer *w, const logits_row *row, convect_error *err) CONVECT_MUST_CHECK;

/* n_positions rows must have been put (checked). The writer is gone afterwards, whatever the result. */
convect_status logits_writer_commit(logits_writer *w, convect_error *err) CONVECT_MUST_CHECK;
void logits_writer_abandon(logits_writer *w); /* deletes the temporary file; NULL is fine */

/* Checks the header against the file's size before anything is allocated. Errors: NOT_FOUND, DAMAGED, NOT_SUPPORTED
 * (another version), NO_FIT. */
convect_status logits_reader_open(const char *path, logits_reader **out, convect_error *err) CONVECT_MUST_CHECK;
void logits_reader_close(logits_reader *r); /* NULL is fine */
const logits_header *logits_reader_header(const logits_reader *r);

/* The next record, checked: ids in range and distinct, log-probabilities in order, masses that sum to 1. *row is
 * borrowed until the next call. At most n_positions calls (checked). Errors: DAMAGED, IO. */
convect_status logits_reader_next(logits_reader *r, logits_row *row, convect_error *err) CONVECT_MUST_CHECK;

/* After the last record: compares the checksum. Error: DAMAGED. */
convect_status logits_reader_finish(logits_reader *r, convect_error *err) CONVECT_MUST_CHECK;

#endif
