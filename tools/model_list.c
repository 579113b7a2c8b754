#include "tools/model_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"

#define BLOCKS_MAX 1024 /* as many as the family reads */

void model_list_free(model_list *list) {
    for (size_t i = 0; i < list->n_kv; i++) {
        free((void *)(uintptr_t)list->kvs[i].key.data); /* one block: key, then value */
    }
    free(list->kvs);
    free(list->tensors);
    *list = (model_list){0};
}

/* Room for one more element of a growing array. */
static convect_status grow(void **array, size_t n, size_t *cap, size_t elem_bytes, convect_error *err) {
    if (n < *cap) return CONVECT_OK;
    size_t cap_new = 2 * *cap + 64;
    void *bigger = realloc(*array, cap_new * elem_bytes);
    if (!bigger) return convect_fail(err, CONVECT_NO_FIT, "out of memory for a list of %zu entries", cap_new);
    *array = bigger;
    *cap = cap_new;
    return CONVECT_OK;
}

convect_status model_list_add_kv(model_list *list, const char *key, gguf_type type, gguf_type element_type,
                                 uint64_t n_elements, const void *data, size_t n_bytes, convect_error *err) {
    void *array = list->kvs;
    convect_status status = grow(&array, list->n_kv, &list->cap_kv, sizeof *list->kvs, err);
    list->kvs = array;
    if (status) return status;
    size_t n_key = strlen(key);
    char *block = malloc(n_key + 1 + n_bytes);
    if (!block) return convect_fail(err, CONVECT_NO_FIT, "out of memory for the metadata");
    memcpy(block, key, n_key + 1);
    if (n_bytes) memcpy(block + n_key + 1, data, n_bytes);
    list->kvs[list->n_kv++] =
        (gguf_kv){{block, n_key}, type, element_type, n_elements, (const uint8_t *)block + n_key + 1, n_bytes};
    return CONVECT_OK; /* cppcheck-suppress memleak ; the list owns block */
}

convect_status model_list_add_u32(model_list *list, const char *key, uint32_t v, convect_error *err) {
    return model_list_add_kv(list, key, GGUF_U32, GGUF_U32, 1, &v, sizeof v, err);
}

convect_status model_list_add_tensor(model_list *list, const list_tensor *t, convect_error *err) {
    void *array = list->tensors;
    convect_status status = grow(&array, list->n_tensors, &list->cap_tensors, sizeof *list->tensors, err);
    list->tensors = array;
    if (status) return status;
    list->tensors[list->n_tensors++] = *t;
    return CONVECT_OK;
}

bool list_key_is(const gguf_kv *kv, const char *key) {
    return kv->key.n_bytes == strlen(key) && memcmp(kv->key.data, key, kv->key.n_bytes) == 0;
}

const gguf_kv *model_list_find(const model_list *list, const char *key) {
    for (size_t i = 0; i < list->n_kv; i++) {
        if (list_key_is(&list->kvs[i], key)) return &list->kvs[i];
    }
    return NULL;
}

/* The entry <architecture>.NAME if it is one whole number >= 0, else NULL. */
static gguf_kv *find_number(const model_list *list, const char *name) {
    gguf_string arch;
    uint64_t v;
    char key[128];
    const gguf_kv *kv = model_list_find(list, "general.architecture");
    if (!kv || kv->n_bytes < 8 || !gguf_read_string(kv, &arch) || arch.n_bytes > 64) return NULL;
    (void)snprintf(key, sizeof key, "%.*s.%s", (int)arch.n_bytes, arch.data, name);
    kv = model_list_find(list, key);
    return kv && kv->type != GGUF_ARRAY && gguf_read_u64(kv, 0, &v) ? &list->kvs[kv - list->kvs] : NULL;
}

uint64_t model_list_number(const model_list *list, const char *name, uint64_t fallback) {
    uint64_t v = fallback;
    const gguf_kv *kv = find_number(list, name);
    if (kv) (void)gguf_read_u64(kv, 0, &v);
    return v;
}

uint64_t list_tensor_elems(const list_tensor *t) {
    return t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3];
}

uint64_t list_tensor_bytes(const list_tensor *t) {
    return format_row_bytes(t->format, list_tensor_elems(t));
}

/* ---- cutting ---- */

/* Values are owned by the list, so writing through them is fine. */
static uint8_t *own_data(const gguf_kv *kv) {
    return (uint8_t *)(uintptr_t)kv->data;
}

static void set_number(gguf_kv *kv, uint64_t v) { /* of find_number */
    CONVECT_CHECK(kv->n_bytes <= sizeof v);
    memcpy(own_data(kv), &v, kv->n_bytes); /* little-endian, as the format is */
}

typedef struct layer_cut {
    size_t n_main, n_mtp; /* before */
    size_t n_kept;        /* trunk layers after */
    size_t last_source;   /* which layer becomes the last trunk layer */
} layer_cut;

/* The layer that becomes layer i. */
static size_t cut_source(const layer_cut *cut, size_t i) {
    if (i + 1 < cut->n_kept) return i;
    return i + 1 == cut->n_kept ? cut->last_source : cut->n_main + (i - cut->n_kept);
}

/* What layer `source` becomes; false if it goes. */
static bool cut_target(const layer_cut *cut, size_t source, size_t *target) {
    for (size_t i = 0; i < cut->n_kept + cut->n_mtp; i++) {
        if (cut_source(cut, i) != source) continue;
        *target = i;
        return true;
    }
    return false;
}

static void cut_tensors(model_list *list, const layer_cut *cut) {
    size_t n = 0;
    for (size_t i = 0; i < list->n_tensors; i++) {
        list_tensor t = list->tensors[i];
        const char *name = list->tensors[i].name;
        bool is_layer = strncmp(name, "blk.", 4) == 0 && isdigit((unsigned char)name[4]);
        char *end = NULL;
        size_t layer = is_layer ? strtoul(name + 4, &end, 10) : 0; /* too large: ULONG_MAX, no layer */
        if (is_layer && *end == '.') {
            size_t target;
            if (!cut_target(cut, layer, &target)) continue;
            (void)snprintf(t.name, sizeof t.name, "blk.%zu%s", target, end);
        }
        list->tensors[n++] = t;
    }
    list->n_tensors = n;
}

static void cut_arrays(model_list *list, const layer_cut *cut) {
    size_t n_blocks = cut->n_main + cut->n_mtp;
    for (size_t k = 0; k < list->n_kv; k++) {
        gguf_kv *kv = &list->kvs[k];
        bool is_model = kv->key.n_bytes > 10 && memcmp(kv->key.data, "tokenizer.", 10) != 0;
        if (kv->type != GGUF_ARRAY || kv->element_type == GGUF_STRING || !is_model || kv->n_elements != n_blocks)
            continue;
        size_t each = kv->n_bytes / n_blocks;
        uint8_t *data = own_data(kv);
        kv->n_elements = cut->n_kept + cut->n_mtp;
        kv->n_bytes = kv->n_elements * each;
        for (size_t i = 0; i < kv->n_elements; i++) memmove(data + i * each, data + cut_source(cut, i) * each, each);
    }
}

convect_status model_list_cut_layers(model_list *list, size_t n_layers, convect_error *err) {
    size_t n_blocks = model_list_number(list, "block_count", 0);
    size_t n_mtp = model_list_number(list, "nextn_predict_layers", 0);
    if (n_blocks > BLOCKS_MAX)
        return convect_fail(err, CONVECT_DAMAGED, "the list's block_count is %zu; at most %d", n_blocks, BLOCKS_MAX);
    if (n_layers == 0 || n_mtp >= n_blocks || n_layers > n_blocks - n_mtp) {
        return convect_fail(err, CONVECT_USAGE, "--layers %zu: this model has %zu layers", n_layers,
                            n_blocks > n_mtp ? n_blocks - n_mtp : 0);
    }
    layer_cut cut = {n_blocks - n_mtp, n_mtp, n_layers, n_layers - 1};
    size_t interval = model_list_number(list, "full_attention_interval", 0);
    if (n_layers < interval && interval <= cut.n_main) {
        cut.last_source = interval - 1;
        set_number(find_number(list, "full_attention_interval"), n_layers);
    }
    cut_tensors(list, &cut);
    cut_arrays(list, &cut);
    set_number(find_number(list, "block_count"), cut.n_kept + cut.n_mtp);
    return CONVECT_OK;
}

convect_status model_list_cut_vocab(model_list *list, uint64_t n_vocab, convect_error *err) {
    const gguf_kv *tokens = model_list_find(list, "tokenizer.ggml.tokens");
    if (!tokens || n_vocab >= tokens->n_elements) {
        return convect_fail(err, CONVECT_USAGE, "--vocab %llu: this model has %llu tokens", (unsigned long long)n_vocab,
                            (unsigned long long)(tokens ? tokens->n_elements : 0));
    }
    uint64_t n_before = tokens->n_elements;
    for (size_t i = 0; i < list->n_kv; i++) {
        gguf_kv *kv = &list->kvs[i];
        bool is_tokenizer = kv->key.n_bytes > 10 && memcmp(kv->key.data, "tokenizer.", 10) == 0;
        if (kv->type == GGUF_ARRAY && is_tokenizer && kv->n_elements == n_before) kv->n_elements = n_vocab;
    }
    gguf_kv *size = find_number(list, "vocab_size");
    if (size) set_number(size, n_vocab);
    for (size_t i = 0; i < list->n_tensors; i++) {
        if (list->tensors[i].n_dims == 2 && list->tensors[i].ne[1] == n_before) list->tensors[i].ne[1] = n_vocab;
    }
    return CONVECT_OK;
}
