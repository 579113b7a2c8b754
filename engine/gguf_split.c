/* Split files: NAME-00001-of-0000N.gguf (1-based) with split.no (0-based), split.count and split.tensors.count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf_internal.h"

#define SPLIT_COUNT_MAX 65535 /* u16 in the file */
#define SPLIT_TAIL      20    /* strlen("-00001-of-00002.gguf") */

typedef unsigned long long ull;

typedef struct split_keys {
    bool present;
    uint64_t no, count, n_tensors;
} split_keys;

/* Reads one split key; false (with a message) if it has no integer value. */
static bool read_key(const gguf_shard *s, const char *key, uint64_t *out, convect_error *err) {
    const gguf_kv *kv = gguf_shard_kv(s, key);
    if (kv && kv->type != GGUF_ARRAY && gguf_read_u64(kv, 0, out)) return true;
    (void)gguf_fail(s, err, CONVECT_DAMAGED, kv ? "is damaged: %s is no number" : "is damaged: a split file without %s",
                    key);
    return false;
}

static convect_status read_keys(const gguf_shard *s, split_keys *k, convect_error *err) {
    *k = (split_keys){.present = gguf_shard_kv(s, "split.count") != NULL};
    if (!k->present) return CONVECT_OK;
    if (!read_key(s, "split.count", &k->count, err) || !read_key(s, "split.no", &k->no, err) ||
        !read_key(s, "split.tensors.count", &k->n_tensors, err))
        return CONVECT_DAMAGED;
    if (k->count == 0 || k->count > SPLIT_COUNT_MAX || k->no >= k->count)
        return gguf_fail(s, err, CONVECT_DAMAGED, "is damaged: it says it is shard %llu of %llu", (ull)k->no + 1,
                         (ull)k->count);
    return CONVECT_OK;
}

/* PREFIX-%05d-of-%05d.gguf for shard no (0-based); NULL if memory is short. The caller frees it. */
static char *sibling_path(const char *path, size_t n_prefix, uint64_t no, uint64_t count) {
    char *out = malloc(n_prefix + 64);
    if (!out) return NULL;
    memcpy(out, path, n_prefix);
    (void)snprintf(out + n_prefix, 64, "-%05llu-of-%05llu.gguf", (ull)no + 1, (ull)count);
    return out;
}

/* Length of the prefix if path is named as shard no of count; 0 otherwise. */
static size_t prefix_of(const char *path, uint64_t no, uint64_t count) {
    size_t n = strlen(path);
    if (n <= SPLIT_TAIL) return 0;
    char tail[64];
    (void)snprintf(tail, sizeof tail, "-%05llu-of-%05llu.gguf", (ull)no + 1, (ull)count);
    return strcmp(path + n - SPLIT_TAIL, tail) == 0 ? n - SPLIT_TAIL : 0;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static convect_status badly_named(const gguf_shard *s, const split_keys *k, convect_error *err) {
    return gguf_fail(s, err, CONVECT_NOT_SUPPORTED,
                     "is shard %llu of %llu but is not named ...-%05llu-of-%05llu.gguf, so the others cannot be found",
                     (ull)k->no + 1, (ull)k->count, (ull)k->no + 1, (ull)k->count);
}

/* Names of the shards that are not there, as many as fit into out. Returns their number, or -1 if memory is short. */
static long long list_missing(const char *path, size_t n_prefix, uint64_t count, char *out, size_t n_bytes) {
    long long n_missing = 0;
    for (uint64_t no = 0; no < count; no++) {
        char *name = sibling_path(path, n_prefix, no, count);
        if (!name) return -1;
        if (access(name, F_OK) != 0) {
            const char *note = gguf_hint_unfinished_sibling(name) ? " (unfinished download)" : "";
            (void)gguf_hint_add_name(out, n_bytes, base_name(name), note);
            n_missing++;
        }
        free(name);
    }
    return n_missing;
}

static convect_status check_all_there(const gguf_shard *s, size_t n_prefix, const split_keys *k, convect_error *err) {
    char names[280] = "";
    const long long n_missing = list_missing(s->path, n_prefix, k->count, names, sizeof names);
    if (n_missing == 0) return CONVECT_OK;
    if (n_missing < 0) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    return gguf_fail(s, err, CONVECT_DAMAGED, "%llu of %llu parts found; missing: %s", (ull)k->count - (ull)n_missing,
                     (ull)k->count, names);
}

static convect_status check_sibling(const gguf_shard *s, uint64_t no, const split_keys *first, convect_error *err) {
    split_keys k;
    convect_status status = read_keys(s, &k, err);
    if (status != CONVECT_OK) return status;
    if (!k.present)
        return gguf_fail(s, err, CONVECT_DAMAGED, "is damaged: it is named as a shard but has no split.count");
    if (k.no != no || k.count != first->count)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is a wrong shard: it says shard %llu of %llu, its name says shard %llu of %llu",
                         (ull)k.no + 1, (ull)k.count, (ull)no + 1, (ull)first->count);
    if (k.n_tensors != first->n_tensors)
        return gguf_fail(s, err, CONVECT_DAMAGED,
                         "is of another split: its split.tensors.count is %llu, that of the first shard %llu",
                         (ull)k.n_tensors, (ull)first->n_tensors);
    return CONVECT_OK;
}

static convect_status open_sibling(gguf *g, size_t n_prefix, uint64_t no, const split_keys *first, convect_error *err) {
    char *path = sibling_path(g->shards[0].path, n_prefix, no, first->count);
    if (!path) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    gguf_shard *s = &g->shards[no];
    g->n_shards = no + 1;
    convect_status status = gguf_shard_open(s, path, err);
    free(path);
    if (status == CONVECT_NOT_FOUND)
        convect_error_context(err, "shard %llu of %llu is missing: ", (ull)no + 1, (ull)first->count);
    if (status == CONVECT_OK) status = gguf_parse(g, no, err);
    if (status == CONVECT_OK) status = check_sibling(s, no, first, err);
    return status;
}

/* Any shard may be named: begins again at the first one. */
static convect_status go_to_first(gguf *g, size_t n_prefix, const split_keys *k, convect_error *err) {
    char *path = sibling_path(g->shards[0].path, n_prefix, 0, k->count);
    if (!path) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    gguf_shard_close(&g->shards[0]);
    g->n_tensors = 0;
    convect_status status = gguf_shard_open(&g->shards[0], path, err);
    free(path);
    if (status == CONVECT_OK) status = gguf_parse(g, 0, err);
    if (status == CONVECT_OK) status = check_sibling(&g->shards[0], 0, k, err);
    return status;
}

convect_status gguf_open_siblings(gguf *g, convect_error *err) {
    split_keys k;
    convect_status status = read_keys(&g->shards[0], &k, err);
    if (status != CONVECT_OK || k.count < 2) return status;
    const size_t n_prefix = prefix_of(g->shards[0].path, k.no, k.count);
    if (n_prefix == 0) return badly_named(&g->shards[0], &k, err);
    status = check_all_there(&g->shards[0], n_prefix, &k, err);
    if (status == CONVECT_OK && k.no != 0) status = go_to_first(g, n_prefix, &k, err);
    if (status != CONVECT_OK) return status;
    gguf_shard *grown = realloc(g->shards, k.count * sizeof *grown); /* <= 65535 x 120 bytes */
    if (!grown) return convect_fail(err, CONVECT_NO_FIT, "out of memory");
    g->shards = grown;
    for (uint64_t no = 1; no < k.count && status == CONVECT_OK; no++) status = open_sibling(g, n_prefix, no, &k, err);
    if (status != CONVECT_OK || g->n_tensors == k.n_tensors) return status;
    return gguf_fail(&g->shards[0], err, CONVECT_DAMAGED,
                     "is damaged: its shards hold %zu tensors, split.tensors.count says %llu", g->n_tensors,
                     (ull)k.n_tensors);
}
