/* The gguf object: opening, closing, look-ups and typed reads. */
#include "engine/gguf.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/gguf_internal.h"

_Static_assert(sizeof(size_t) == 8, "files are mapped whole: 64-bit only");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fields are read in the host's order");

#define PATH_SHOWN_BYTES 240 /* of the 512 of a message */

convect_status gguf_fail(const gguf_shard *s, convect_error *err, convect_status status, const char *fmt, ...) {
    char text[384];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t n_path = strlen(s->path);
    bool cut = n_path > PATH_SHOWN_BYTES;
    return convect_fail(err, status, "%s%s: %s", cut ? "..." : "", s->path + (cut ? n_path - PATH_SHOWN_BYTES : 0),
                        text);
}

const char *gguf_quote(char buf[GGUF_QUOTE_BYTES], const char *data, uint64_t n_bytes) {
    size_t n = 0;
    buf[n++] = '\'';
    uint64_t i = 0;
    for (; i < n_bytes && n + 10 < GGUF_QUOTE_BYTES; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c >= 0x20 && c < 0x7f)
            buf[n++] = (char)c;
        else
            n += (size_t)snprintf(buf + n, 5, "\\x%02x", c);
    }
    (void)snprintf(buf + n, GGUF_QUOTE_BYTES - n, "'%s", i < n_bytes ? "..." : "");
    return buf;
}

static const char *tensor_name(const void *items, size_t i, size_t *n_bytes) {
    const char *name = ((const gguf_tensor *)items)[i].name;
    *n_bytes = strlen(name);
    return name;
}

static convect_status index_tensors(gguf *g, convect_error *err) {
    if (!name_index_init(&g->names, g->n_tensors)) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    for (size_t i = 0; i < g->n_tensors; i++) {
        uint32_t i_first = name_index_add(&g->names, g->tensors, tensor_name, (uint32_t)i);
        if (i_first == i) continue;
        char quoted[GGUF_QUOTE_BYTES];
        const gguf_tensor *t = &g->tensors[i], *first = &g->tensors[i_first];
        gguf_quote(quoted, t->name, strlen(t->name));
        if (t->i_shard == first->i_shard)
            return gguf_fail(&g->shards[t->i_shard], err, CONVECT_DAMAGED,
                             "tensor %s appears twice (as number %u and %zu)", quoted, i_first, i);
        return gguf_fail(&g->shards[t->i_shard], err, CONVECT_DAMAGED, "tensor %s is already in shard %u", quoted,
                         first->i_shard + 1);
    }
    return CONVECT_OK;
}

static convect_status finish(gguf *g, convect_status status, gguf **out, convect_error *err) {
    if (status == CONVECT_OK) status = index_tensors(g, err);
    if (status != CONVECT_OK) {
        gguf_close(g);
        g = NULL;
    }
    *out = g;
    return status;
}

static gguf *gguf_new(void) {
    gguf *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->shards = calloc(1, sizeof *g->shards);
    if (!g->shards) {
        free(g);
        return NULL;
    }
    g->n_shards = 1;
    g->shards[0].fd = -1;
    return g;
}

convect_status gguf_open(const char *path, gguf **out, convect_error *err) {
    *out = NULL;
    gguf *g = gguf_new();
    if (!g) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    convect_status status = gguf_shard_open(&g->shards[0], path, err);
    if (status == CONVECT_OK) status = gguf_parse(g, 0, err);
    if (status == CONVECT_OK) status = gguf_open_siblings(g, err);
    return finish(g, status, out, err);
}

convect_status gguf_open_shard(gguf_shard *shard, gguf **out, convect_error *err) {
    *out = NULL;
    gguf *g = gguf_new();
    if (!g) {
        gguf_shard_close(shard);
        return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    }
    g->shards[0] = *shard;
    return finish(g, gguf_parse(g, 0, err), out, err);
}

convect_status gguf_open_memory(const uint8_t *data, size_t n_bytes, gguf **out, convect_error *err) {
    *out = NULL;
    gguf_shard shard = {.path = strdup("(memory)"), .fd = -1, .data = data, .n_bytes = n_bytes};
    if (!shard.path) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    return gguf_open_shard(&shard, out, err);
}

void gguf_close(gguf *g) {
    if (!g) return;
    for (size_t i = 0; i < g->n_shards; i++) gguf_shard_close(&g->shards[i]);
    name_index_free(&g->names);
    free(g->shards);
    free(g->tensors);
    free(g);
}

uint32_t gguf_version(const gguf *g) {
    return g->shards[0].version;
}

uint64_t gguf_file_bytes(const gguf *g) {
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < g->n_shards; i++) n_bytes += g->shards[i].n_bytes;
    return n_bytes;
}

size_t gguf_n_shards(const gguf *g) {
    return g->n_shards;
}

const char *gguf_shard_path(const gguf *g, size_t i_shard) {
    CONVECT_CHECK(i_shard < g->n_shards);
    return g->shards[i_shard].path;
}

int gguf_shard_fd(const gguf *g, size_t i_shard) {
    CONVECT_CHECK(i_shard < g->n_shards);
    return g->shards[i_shard].fd;
}

size_t gguf_n_kv(const gguf *g) {
    return g->shards[0].n_kv;
}

const gguf_kv *gguf_kv_at(const gguf *g, size_t i) {
    CONVECT_CHECK(i < g->shards[0].n_kv);
    return &g->shards[0].kv[i];
}

const gguf_kv *gguf_kv_find(const gguf *g, const char *key) {
    return gguf_shard_kv(&g->shards[0], key);
}

size_t gguf_n_tensors(const gguf *g) {
    return g->n_tensors;
}

const gguf_tensor *gguf_tensor_at(const gguf *g, size_t i) {
    CONVECT_CHECK(i < g->n_tensors);
    return &g->tensors[i];
}

const gguf_tensor *gguf_tensor_find(const gguf *g, const char *name) {
    uint32_t i = name_index_find(&g->names, g->tensors, tensor_name, name, strlen(name));
    return i == NAME_INDEX_NONE ? NULL : &g->tensors[i];
}

/* An integer of any width as sign and magnitude. */
static bool read_integer(const gguf_kv *kv, uint64_t i, bool *negative, uint64_t *magnitude) {
    if (!kv || i >= kv->n_elements) return false;
    gguf_type type = kv->type == GGUF_ARRAY ? kv->element_type : kv->type;
    uint64_t n = gguf_type_bytes(type);
    const uint8_t *at = kv->data + i * n;
    int64_t s = 0;
    uint64_t u = 0;
    switch (type) {
    case GGUF_U8:
    case GGUF_BOOL:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        memcpy(&u, at, n);
        *negative = false;
        *magnitude = u;
        return true;
    case GGUF_I8: s = (int8_t)at[0]; break;
    case GGUF_I16: {
        int16_t v;
        memcpy(&v, at, sizeof v);
        s = v;
        break;
    }
    case GGUF_I32: {
        int32_t v;
        memcpy(&v, at, sizeof v);
        s = v;
        break;
    }
    case GGUF_I64: memcpy(&s, at, sizeof s); break;
    default: return false;
    }
    *negative = s < 0;
    *magnitude = s < 0 ? 0 - (uint64_t)s : (uint64_t)s;
    return true;
}

bool gguf_read_u64(const gguf_kv *kv, uint64_t i, uint64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!read_integer(kv, i, &negative, &magnitude) || negative) return false;
    *out = magnitude;
    return true;
}

bool gguf_read_i64(const gguf_kv *kv, uint64_t i, int64_t *out) {
    bool negative;
    uint64_t magnitude;
    if (!read_integer(kv, i, &negative, &magnitude)) return false;
    if (magnitude > (uint64_t)INT64_MAX + (negative ? 1 : 0)) return false;
    *out = (int64_t)(negative ? 0 - magnitude : magnitude);
    return true;
}

bool gguf_read_f64(const gguf_kv *kv, uint64_t i, double *out) {
    if (!kv || i >= kv->n_elements) return false;
    gguf_type type = kv->type == GGUF_ARRAY ? kv->element_type : kv->type;
    if (type == GGUF_F32) {
        float v;
        memcpy(&v, kv->data + i * sizeof v, sizeof v);
        *out = (double)v;
        return true;
    }
    if (type != GGUF_F64) return false;
    memcpy(out, kv->data + i * sizeof *out, sizeof *out);
    return true;
}

bool gguf_read_string(const gguf_kv *kv, gguf_string *out) {
    if (!kv || kv->type != GGUF_STRING) return false;
    *out = (gguf_string){.data = (const char *)kv->data + 8, .n_bytes = kv->n_bytes - 8};
    return true;
}

bool gguf_read_strings(const gguf_kv *kv, gguf_string *out) {
    return kv && gguf_read_first_strings(kv, kv->n_elements, out);
}

bool gguf_read_first_strings(const gguf_kv *kv, uint64_t n_strings, gguf_string *out) {
    if (!kv || kv->type != GGUF_ARRAY || kv->element_type != GGUF_STRING || n_strings > kv->n_elements) return false;
    uint64_t at = 0;
    for (uint64_t i = 0; i < n_strings; i++) {
        uint64_t n;
        if (kv->n_bytes - at < sizeof n) return false; /* the file changed under the mapping */
        memcpy(&n, kv->data + at, sizeof n);
        at += sizeof n;
        if (n > kv->n_bytes - at) return false;
        out[i] = (gguf_string){.data = (const char *)kv->data + at, .n_bytes = n};
        at += n;
    }
    return true;
}
