/* Parsing one file. Everything goes through a cursor that never passes the end; no size from the file is used for an
 * allocation before it was compared with the bytes that are left. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gguf_internal.h"

typedef struct cursor {
    const gguf_shard *s;
    uint64_t at;
    convect_error *err;
    convect_status status; /* of the failure that a bool function reported */
} cursor;

typedef unsigned long long ull;

static uint64_t left(const cursor *c) {
    return c->s->n_bytes - c->at;
}

/* Steps over n bytes; what is for the message. NULL after recording "truncated". */
static const uint8_t *take(cursor *c, uint64_t n, const char *what) {
    if (n > left(c)) {
        c->status = gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                              "is truncated or damaged: %s at byte %llu needs %llu bytes, but the file has %llu bytes",
                              what, (ull)c->at, (ull)n, (ull)c->s->n_bytes);
        return NULL;
    }
    const uint8_t *p = c->s->data + c->at;
    c->at += n;
    return p;
}

static bool take_u32(cursor *c, const char *what, uint32_t *out) {
    const uint8_t *p = take(c, sizeof *out, what);
    if (p) memcpy(out, p, sizeof *out);
    return p != NULL;
}

static bool take_u64(cursor *c, const char *what, uint64_t *out) {
    const uint8_t *p = take(c, sizeof *out, what);
    if (p) memcpy(out, p, sizeof *out);
    return p != NULL;
}

static bool take_string(cursor *c, const char *what, uint64_t n_max, gguf_string *out) {
    uint64_t at = c->at, n;
    if (!take_u64(c, what, &n)) return false;
    if (n > n_max) {
        c->status = gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                              "is damaged: %s at byte %llu claims a length of %llu bytes (limit %llu)", what, (ull)at,
                              (ull)n, (ull)n_max);
        return false;
    }
    const uint8_t *p = take(c, n, what);
    if (!p) return false;
    *out = (gguf_string){.data = (const char *)p, .n_bytes = n};
    return true;
}

/* ---- header ---- */

typedef struct header {
    uint64_t n_tensors, n_kv;
} header;

static convect_status check_version(const gguf_shard *s, uint32_t version, convect_error *err) {
    if (version == 2 || version == 3) return CONVECT_OK;
    if (version == 1)
        return gguf_fail(s, err, CONVECT_NOT_SUPPORTED, "is GGUF version 1; Convect reads 2 and 3: get a newer file");
    if (version != 0 && (version & 0xffff) == 0)
        return gguf_fail(s, err, CONVECT_NOT_SUPPORTED,
                         "is of foreign endianness (big-endian); get the little-endian file of the model");
    return gguf_fail(s, err, CONVECT_NOT_SUPPORTED, "is GGUF version %u; Convect reads 2 and 3", version);
}

static convect_status check_count(const gguf_shard *s, const char *what, uint64_t n, uint64_t n_bytes_min,
                                  uint64_t n_max, convect_error *err) {
    uint64_t n_left = s->n_bytes - GGUF_HEADER_BYTES;
    if (n > n_left / n_bytes_min)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is truncated or damaged: the header claims %llu %s, which cannot fit in a file of %llu bytes",
                         (ull)n, what, (ull)s->n_bytes);
    if (n > n_max)
        return gguf_fail(s, err, CONVECT_NOT_SUPPORTED, "has %llu %s; the limit is %llu", (ull)n, what, (ull)n_max);
    return CONVECT_OK;
}

static convect_status parse_header(cursor *c, gguf_shard *s, size_t n_tensors_before, header *h) {
    if (s->n_bytes < 4 || memcmp(s->data, GGUF_MAGIC, 4) != 0) return gguf_not_gguf(s, c->err);
    c->at = 4;
    if (!take_u32(c, "the version", &s->version)) return CONVECT_DAMAGED;
    convect_status status = check_version(s, s->version, c->err);
    if (status != CONVECT_OK) return status;
    if (!take_u64(c, "the header", &h->n_tensors) || !take_u64(c, "the header", &h->n_kv)) return CONVECT_DAMAGED;
    status = check_count(s, "metadata entries", h->n_kv, GGUF_KV_BYTES_MIN, GGUF_N_KV_MAX, c->err);
    if (status != CONVECT_OK) return status;
    return check_count(s, "tensors", h->n_tensors, GGUF_TENSOR_BYTES_MIN, GGUF_N_TENSORS_MAX - n_tensors_before,
                       c->err);
}

/* ---- metadata ---- */

static bool bad_value(cursor *c, const gguf_kv *kv, convect_status status, const char *fmt, ...) CONVECT_PRINTF(4, 5);

/* Records "metadata 'key': text"; returns false. */
static bool bad_value(cursor *c, const gguf_kv *kv, convect_status status, const char *fmt, ...) {
    char text[200], quoted[GGUF_QUOTE_BYTES];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    c->status =
        gguf_fail(c->s, c->err, status, "metadata %s: %s", gguf_quote(quoted, kv->key.data, kv->key.n_bytes), text);
    return false;
}

/* Bytes of metadata that run out get the key's name, which tells more than an offset alone. */
static const uint8_t *take_value(cursor *c, const gguf_kv *kv, uint64_t n) {
    if (n <= left(c)) return take(c, n, "");
    bad_value(c, kv, CONVECT_DAMAGED, "truncated or damaged: the value at byte %llu needs %llu bytes, %llu are left",
              (ull)c->at, (ull)n, (ull)left(c));
    return NULL;
}

static bool take_value_string(cursor *c, const gguf_kv *kv) {
    uint64_t n;
    const uint8_t *p = take_value(c, kv, sizeof n);
    if (!p) return false;
    memcpy(&n, p, sizeof n);
    if (n > GGUF_STRING_MAX && n <= left(c))
        return bad_value(c, kv, CONVECT_NOT_SUPPORTED, "a string of %llu bytes (limit 1 GiB)", (ull)n);
    return take_value(c, kv, n) != NULL;
}

static bool check_bools(cursor *c, const gguf_kv *kv, const uint8_t *p, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        if (p[i] > 1)
            return bad_value(c, kv, CONVECT_DAMAGED, "a bool at byte %llu is %u, not 0 or 1", (ull)(p + i - c->s->data),
                             p[i]);
    return true;
}

static bool take_elements(cursor *c, gguf_kv *kv) {
    uint64_t n_each = gguf_type_bytes(kv->element_type), n = kv->n_elements;
    uint64_t n_min = kv->element_type == GGUF_STRING ? 8 : n_each;
    if (n > left(c) / n_min)
        return bad_value(
            c, kv, CONVECT_DAMAGED,
            "truncated or damaged: an array at byte %llu claims %llu elements, but only %llu bytes are left",
            (ull)c->at, (ull)n, (ull)left(c));
    if (n > GGUF_STRING_MAX)
        return bad_value(c, kv, CONVECT_NOT_SUPPORTED, "an array of %llu elements (limit 2^30)", (ull)n);
    kv->data = c->s->data + c->at;
    if (kv->element_type == GGUF_STRING) {
        for (uint64_t i = 0; i < n; i++)
            if (!take_value_string(c, kv)) return false;
        return true;
    }
    const uint8_t *p = take_value(c, kv, n * n_each);
    return p && (kv->element_type != GGUF_BOOL || check_bools(c, kv, p, n));
}

static bool take_array(cursor *c, gguf_kv *kv) {
    uint32_t type;
    const uint8_t *p = take_value(c, kv, 12);
    if (!p) return false;
    memcpy(&type, p, sizeof type);
    memcpy(&kv->n_elements, p + 4, sizeof kv->n_elements);
    if (type == GGUF_ARRAY) return bad_value(c, kv, CONVECT_NOT_SUPPORTED, "an array of arrays");
    if (type >= GGUF_TYPE_COUNT)
        return bad_value(c, kv, CONVECT_DAMAGED, "an array at byte %llu has unknown element type %u", (ull)(c->at - 12),
                         type);
    kv->element_type = (gguf_type)type;
    return take_elements(c, kv);
}

static bool take_scalar(cursor *c, gguf_kv *kv) {
    kv->n_elements = 1;
    kv->data = c->s->data + c->at;
    if (kv->type == GGUF_STRING) return take_value_string(c, kv);
    const uint8_t *p = take_value(c, kv, gguf_type_bytes(kv->type));
    return p && (kv->type != GGUF_BOOL || check_bools(c, kv, p, 1));
}

static bool take_kv(cursor *c, size_t i, gguf_kv *kv) {
    uint64_t at = c->at;
    uint32_t type;
    char what[48];
    (void)snprintf(what, sizeof what, "the key of metadata entry %zu", i);
    if (!take_string(c, what, GGUF_KEY_BYTES_MAX, &kv->key)) return false;
    if (kv->key.n_bytes == 0) {
        c->status = gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                              "is damaged: metadata entry %zu at byte %llu has an empty key", i, (ull)at);
        return false;
    }
    if (!take_u32(c, "a metadata type", &type)) return false;
    if (type >= GGUF_TYPE_COUNT)
        return bad_value(c, kv, CONVECT_DAMAGED, "unknown value type %u at byte %llu", type, (ull)(c->at - 4));
    kv->type = (gguf_type)type;
    if (!(kv->type == GGUF_ARRAY ? take_array(c, kv) : take_scalar(c, kv))) return false;
    kv->n_bytes = (size_t)(c->s->data + c->at - kv->data);
    return true;
}

static const char *key_name(const void *items, size_t i, size_t *n_bytes) {
    const gguf_string *key = &((const gguf_kv *)items)[i].key;
    *n_bytes = key->n_bytes;
    return key->data;
}

const gguf_kv *gguf_shard_kv(const gguf_shard *s, const char *key) {
    uint32_t i = name_index_find(&s->keys, s->kv, key_name, key, strlen(key));
    return i == NAME_INDEX_NONE ? NULL : &s->kv[i];
}

static convect_status parse_kvs(cursor *c, gguf_shard *s, uint64_t n_kv) {
    s->kv = calloc(n_kv ? n_kv : 1, sizeof *s->kv);
    if (!s->kv || !name_index_init(&s->keys, n_kv)) return convect_fail(c->err, CONVECT_NO_FIT, "out of memory");
    for (size_t i = 0; i < n_kv; i++) {
        if (!take_kv(c, i, &s->kv[i])) return c->status;
        s->n_kv = i + 1;
        uint32_t i_first = name_index_add(&s->keys, s->kv, key_name, (uint32_t)i);
        if (i_first == i) continue;
        char quoted[GGUF_QUOTE_BYTES];
        return gguf_fail(s, c->err, CONVECT_DAMAGED, "is damaged: metadata key %s appears twice (entries %u and %zu)",
                         gguf_quote(quoted, s->kv[i].key.data, s->kv[i].key.n_bytes), i_first, i);
    }
    return CONVECT_OK;
}

static convect_status read_alignment(const gguf_shard *s, uint64_t *out, convect_error *err) {
    const gguf_kv *kv = gguf_shard_kv(s, "general.alignment");
    *out = GGUF_ALIGNMENT;
    if (!kv) return CONVECT_OK;
    if (kv->type != GGUF_U32)
        return gguf_fail(s, err, CONVECT_DAMAGED, "is damaged: general.alignment has type %s instead of u32",
                         gguf_type_name(kv->type));
    (void)gguf_read_u64(kv, 0, out);
    if (*out == 0 || (*out & (*out - 1)) != 0 || *out > GGUF_ALIGNMENT_MAX)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is damaged: general.alignment is %llu, not a power of two from 1 to %u", (ull)*out,
                         GGUF_ALIGNMENT_MAX);
    return CONVECT_OK;
}

/* ---- tensors ---- */

bool gguf_tensor_bytes(uint32_t ggml_type, const uint64_t ne[4], uint64_t *n_bytes) {
    const gguf_ggml_type *type = gguf_ggml_type_find(ggml_type);
    if (!type || ne[0] % type->block_elems != 0) return false;
    uint64_t n_elems = 1, n = ne[0] / type->block_elems;
    if (__builtin_mul_overflow(n, type->block_bytes, &n)) return false;
    for (int i = 0; i < 4; i++) {
        if (ne[i] == 0 || __builtin_mul_overflow(n_elems, ne[i], &n_elems) || n_elems > INT64_MAX) return false;
        if (i > 0 && __builtin_mul_overflow(n, ne[i], &n)) return false;
    }
    *n_bytes = n;
    return n <= INT64_MAX;
}

static convect_status take_name(cursor *c, size_t i, char name[GGUF_TENSOR_NAME_BYTES]) {
    gguf_string text;
    uint64_t at = c->at;
    char what[48];
    (void)snprintf(what, sizeof what, "the name of tensor %zu", i);
    if (!take_string(c, what, GGUF_TENSOR_NAME_BYTES - 1, &text)) return CONVECT_DAMAGED;
    if (text.n_bytes == 0)
        return gguf_fail(c->s, c->err, CONVECT_DAMAGED, "is damaged: tensor %zu at byte %llu has no name", i, (ull)at);
    if (memchr(text.data, 0, text.n_bytes))
        return gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                         "is damaged: the name of tensor %zu at byte %llu holds a zero byte", i, (ull)at);
    memcpy(name, text.data, text.n_bytes);
    name[text.n_bytes] = 0;
    return CONVECT_OK;
}

static convect_status take_shape(cursor *c, const char *quoted, gguf_tensor *t) {
    if (!take_u32(c, quoted, &t->n_dims)) return CONVECT_DAMAGED;
    if (t->n_dims < 1 || t->n_dims > 4)
        return gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                         "is damaged: tensor %s at byte %llu has %u dimensions, not 1 to 4", quoted, (ull)(c->at - 4),
                         t->n_dims);
    for (uint32_t i = 0; i < 4; i++) {
        t->ne[i] = 1;
        if (i >= t->n_dims) continue;
        if (!take_u64(c, quoted, &t->ne[i])) return CONVECT_DAMAGED;
        if (t->ne[i] == 0 || t->ne[i] > INT64_MAX)
            return gguf_fail(c->s, c->err, CONVECT_DAMAGED, "is damaged: dimension %u of tensor %s is %lld", i, quoted,
                             (long long)t->ne[i]);
    }
    return CONVECT_OK;
}

static convect_status check_size(cursor *c, const char *quoted, gguf_tensor *t) {
    const gguf_ggml_type *type = gguf_ggml_type_find(t->ggml_type);
    if (!type) return gguf_refuse_type(c->s, quoted, t->ggml_type, c->err);
    if (t->ne[0] % type->block_elems != 0)
        return gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                         "is damaged: the row length %llu of tensor %s is no multiple of %u, the block of %s",
                         (ull)t->ne[0], quoted, type->block_elems, type->name);
    if (!gguf_tensor_bytes(t->ggml_type, t->ne, &t->n_bytes))
        return gguf_fail(c->s, c->err, CONVECT_DAMAGED,
                         "is damaged: the shape of tensor %s (%llu x %llu x %llu x %llu) overflows 63 bits", quoted,
                         (ull)t->ne[0], (ull)t->ne[1], (ull)t->ne[2], (ull)t->ne[3]);
    return CONVECT_OK;
}

/* file_off holds the offset relative to the data until place_tensors. */
static convect_status take_tensor(cursor *c, size_t i, char name[GGUF_TENSOR_NAME_BYTES], gguf_tensor *t) {
    char quoted[GGUF_QUOTE_BYTES];
    convect_status status = take_name(c, i, name);
    if (status != CONVECT_OK) return status;
    t->name = name;
    gguf_quote(quoted, name, strlen(name));
    status = take_shape(c, quoted, t);
    if (status != CONVECT_OK) return status;
    if (!take_u32(c, quoted, &t->ggml_type)) return CONVECT_DAMAGED;
    status = check_size(c, quoted, t);
    if (status != CONVECT_OK) return status;
    return take_u64(c, quoted, &t->file_off) ? CONVECT_OK : CONVECT_DAMAGED;
}

static convect_status place_tensor(const gguf_shard *s, uint64_t alignment, gguf_tensor *t, convect_error *err) {
    char quoted[GGUF_QUOTE_BYTES];
    uint64_t off = t->file_off, end;
    gguf_quote(quoted, t->name, strlen(t->name));
    if (off % alignment != 0)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is damaged: the offset %llu of tensor %s is no multiple of the alignment %llu", (ull)off,
                         quoted, (ull)alignment);
    if (__builtin_add_overflow(s->data_off, off, &t->file_off) || __builtin_add_overflow(t->file_off, t->n_bytes, &end))
        return gguf_fail(s, err, CONVECT_DAMAGED, "is damaged: the offset %llu of tensor %s overflows", (ull)off,
                         quoted);
    return CONVECT_OK;
}

/* Do all tensors lie within the file, and does the file end with them? Shards joined with cat do not. */
static convect_status check_end(const gguf_shard *s, const gguf_tensor *tensors, uint64_t alignment,
                                convect_error *err) {
    uint64_t end = s->data_off < s->n_bytes ? s->data_off : s->n_bytes;
    const gguf_tensor *last = NULL;
    for (size_t i = 0; i < s->n_tensors; i++) {
        const uint64_t tensor_end = tensors[i].file_off + tensors[i].n_bytes; /* place_tensor saw that it fits */
        if (tensor_end <= end) continue;
        end = tensor_end;
        last = &tensors[i];
    }
    char quoted[GGUF_QUOTE_BYTES];
    if (last && end > s->n_bytes)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is truncated or damaged: it is %.2f GB, its header needs %.2f GB: %llu bytes are missing "
                         "(tensor %s ends at byte %llu, the file at %llu); resume the download or repeat it",
                         (double)s->n_bytes / 1e9, (double)end / 1e9, (ull)(end - s->n_bytes),
                         gguf_quote(quoted, last->name, strlen(last->name)), (ull)end, (ull)s->n_bytes);
    const uint64_t padded = (end + alignment - 1) / alignment * alignment;
    for (int i = 0; i < 2; i++) {
        const uint64_t at = i == 0 ? end : padded;
        if (at <= s->n_bytes && s->n_bytes - at >= GGUF_HEADER_BYTES && memcmp(s->data + at, GGUF_MAGIC, 4) == 0)
            return gguf_fail(s, err, CONVECT_DAMAGED,
                             "holds a second GGUF file from byte %llu on: parts of a split model joined with cat; use "
                             "the parts as they were, or merge them with gguf-split --merge",
                             (ull)at);
    }
    return CONVECT_OK;
}

static int by_offset(const void *a, const void *b) {
    uint64_t x = (*(const gguf_tensor *const *)a)->file_off, y = (*(const gguf_tensor *const *)b)->file_off;
    return (x > y) - (x < y);
}

static convect_status overlap(const gguf_shard *s, const gguf_tensor *a, const gguf_tensor *b, convect_error *err) {
    char quoted_a[GGUF_QUOTE_BYTES], quoted_b[GGUF_QUOTE_BYTES];
    return gguf_fail(s, err, CONVECT_DAMAGED, "is damaged: tensors %s and %s overlap at byte %llu",
                     gguf_quote(quoted_a, a->name, strlen(a->name)), gguf_quote(quoted_b, b->name, strlen(b->name)),
                     (ull)b->file_off);
}

/* Any order of the data is accepted; no byte may belong to two tensors. Ties in offset are overlaps, as no tensor is
 * empty. */
static convect_status check_overlap(const gguf_shard *s, const gguf_tensor *t, convect_error *err) {
    if (s->n_tensors == 0) return CONVECT_OK;
    const gguf_tensor **order = malloc(s->n_tensors * sizeof *order);
    if (!order) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    for (size_t i = 0; i < s->n_tensors; i++) order[i] = &t[i];
    qsort(order, s->n_tensors, sizeof *order, by_offset);
    convect_status status = CONVECT_OK;
    for (size_t i = 1; i < s->n_tensors && status == CONVECT_OK; i++)
        if (order[i - 1]->file_off + order[i - 1]->n_bytes > order[i]->file_off)
            status = overlap(s, order[i - 1], order[i], err);
    free(order);
    return status;
}

static convect_status place_tensors(cursor *c, gguf_shard *s, gguf_tensor *t) {
    uint64_t alignment;
    convect_status status = read_alignment(s, &alignment, c->err);
    if (status != CONVECT_OK) return status;
    s->data_off = (c->at + alignment - 1) / alignment * alignment; /* at <= file size < 2^63: no overflow */
    for (size_t i = 0; i < s->n_tensors; i++) {
        status = place_tensor(s, alignment, &t[i], c->err);
        if (status != CONVECT_OK) return status;
    }
    status = check_end(s, t, alignment, c->err);
    if (status != CONVECT_OK) return status;
    for (size_t i = 0; i < s->n_tensors; i++) t[i].data = s->data + t[i].file_off;
    return check_overlap(s, t, c->err);
}

static convect_status parse_tensors(cursor *c, gguf *g, size_t i_shard, uint64_t n) {
    gguf_shard *s = &g->shards[i_shard];
    s->i_tensor_first = g->n_tensors;
    s->names = malloc(n ? n * GGUF_TENSOR_NAME_BYTES : 1);
    gguf_tensor *grown = realloc(g->tensors, (g->n_tensors + n + 1) * sizeof *grown);
    if (grown) g->tensors = grown;
    if (!grown || !s->names) return convect_fail(c->err, CONVECT_NO_FIT, "out of memory");
    gguf_tensor *t = grown + g->n_tensors;
    for (size_t i = 0; i < n; i++) {
        t[i] = (gguf_tensor){.i_shard = (uint32_t)i_shard};
        convect_status status = take_tensor(c, i, s->names + i * GGUF_TENSOR_NAME_BYTES, &t[i]);
        if (status != CONVECT_OK) return status;
    }
    s->n_tensors = n;
    g->n_tensors += n;
    return place_tensors(c, s, t);
}

convect_status gguf_parse(gguf *g, size_t i_shard, convect_error *err) {
    gguf_shard *s = &g->shards[i_shard];
    cursor c = {.s = s, .err = err};
    header h = {0};
    convect_status status = parse_header(&c, s, g->n_tensors, &h);
    if (status == CONVECT_OK) status = parse_kvs(&c, s, h.n_kv);
    if (status == CONVECT_OK) status = parse_tensors(&c, g, i_shard, h.n_tensors);
    return status;
}
