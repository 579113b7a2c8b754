/* What gguf.c, gguf_map.c, gguf_parse.c and gguf_split.c share. */
#ifndef CONVECT_ENGINE_GGUF_INTERNAL_H
#define CONVECT_ENGINE_GGUF_INTERNAL_H

#include "engine/gguf.h"
#include "engine/name_index.h"

#define GGUF_MAGIC            "GGUF"
#define GGUF_HEADER_BYTES     24          /* magic, version, n_tensors, n_kv */
#define GGUF_ALIGNMENT        32          /* unless general.alignment says otherwise */
#define GGUF_ALIGNMENT_MAX    (1u << 20)  /* ours; real files use 32 to 4096 */
#define GGUF_N_KV_MAX         (1u << 20)  /* ours; real files have < 100 */
#define GGUF_N_TENSORS_MAX    (1u << 20)  /* ours, over all shards; real files have < 2000 */
#define GGUF_KEY_BYTES_MAX    (64u << 10) /* ours */
#define GGUF_STRING_MAX       (1u << 30)  /* ggml's limit for a string's bytes and for an array's elements */
#define GGUF_KV_BYTES_MIN     13          /* key length 8, type 4, value 1 */
#define GGUF_TENSOR_BYTES_MIN 32          /* name length 8, n_dims 4, one dim 8, type 4, offset 8 */
#define GGUF_QUOTE_BYTES      100         /* room for a quoted name */

typedef struct gguf_shard {
    char *path;          /* owned; as given or derived */
    int fd;              /* -1: bytes in memory that the caller owns */
    const uint8_t *data; /* the whole file */
    uint64_t n_bytes;
    uint32_t version;
    uint64_t data_off; /* first byte of tensor data */
    gguf_kv *kv;       /* owned */
    size_t n_kv;
    name_index keys;
    char *names; /* owned; n_tensors x GGUF_TENSOR_NAME_BYTES */
    size_t i_tensor_first;
    size_t n_tensors;
} gguf_shard;

struct gguf {
    gguf_shard *shards;
    size_t n_shards;
    gguf_tensor *tensors;
    size_t n_tensors;
    name_index names;
};

/* Opens and maps path into s (path, fd, data, n_bytes); refuses what is not a regular file. gguf_shard_close undoes it
 * on any result. Errors: NOT_FOUND, DAMAGED (unfinished download), IO. */
convect_status gguf_shard_open(gguf_shard *s, const char *path, convect_error *err) CONVECT_MUST_CHECK;
void gguf_shard_close(gguf_shard *s);

/* Parses shard i of g, whose path, data and n_bytes are set: fills the rest and appends its tensors to g. */
convect_status gguf_parse(gguf *g, size_t i_shard, convect_error *err) CONVECT_MUST_CHECK;

/* Makes a gguf of one shard whose path, data and n_bytes are set; takes over what shard owns, on any result. */
convect_status gguf_open_shard(gguf_shard *shard, gguf **out, convect_error *err) CONVECT_MUST_CHECK;

/* Says why a tensor cannot have the type id, which gguf_ggml_type_find does not know. tensor is quoted. Always fails.
 */
convect_status gguf_refuse_type(const gguf_shard *s, const char *tensor, uint32_t id,
                                convect_error *err) CONVECT_MUST_CHECK;

/* Looks at the first bytes of a file without GGUF's magic and says what it is instead. Always fails. */
convect_status gguf_not_gguf(const gguf_shard *s, convect_error *err) CONVECT_MUST_CHECK;

/* After shard 0 of g is parsed: opens and parses the others if it is the first of a split. */
convect_status gguf_open_siblings(gguf *g, convect_error *err) CONVECT_MUST_CHECK;

const gguf_kv *gguf_shard_kv(const gguf_shard *s, const char *key); /* NULL if absent */

/* Fails with "PATH: <text>"; long paths are shortened from the left so that the text stays whole. */
convect_status gguf_fail(const gguf_shard *s, convect_error *err, convect_status status, const char *fmt, ...)
    CONVECT_PRINTF(4, 5);

/* Hints for messages from the names of files (gguf_hint.c). */
const char *gguf_hint_unfinished(const char *path); /* suffix of path that marks an unfinished download, or NULL */
const char *gguf_hint_unfinished_sibling(const char *path); /* suffix of such a download of path beside it, or NULL */
bool gguf_hint_has_control_file(const char *path);          /* aria2 has not finished path */
bool gguf_hint_is_part(const char *path, unsigned *i_part, unsigned *n_parts); /* NAME.part1of2 */
/* Adds one more name and a note to a list in a message; false, and the list as it was, when it is full. */
bool gguf_hint_add_name(char *out, size_t n_bytes, const char *name, const char *note);
size_t gguf_hint_list(const char *folder, char *out, size_t n_bytes); /* number of .gguf files; out: names and sizes */
bool gguf_hint_near(const char *path, char *out, size_t n_bytes);     /* a .gguf beside path of nearly its name */

/* Quotes bytes of a file for a message: 'name', other than printable ASCII as \xNN, cut with "...". Returns buf. */
const char *gguf_quote(char buf[GGUF_QUOTE_BYTES], const char *data, uint64_t n_bytes);

#endif
