/* What a GGUF file to be made up will hold: metadata and the name, type and shape of every tensor, no data. Made from a
 * preset (tools/preset.h) or read from a JSON tensor list. Caller-owned; start from {0}; one thread.
 *
 * Tensor list: the object that `convect inspect --json` prints, of which these parts are read:
 *
 *   "files": [..]          optional; its length is the number of shards (a shard may hold no tensor)
 *   "metadata": [{"key": K, "type": T, "value": V}, ...]
 *         T: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string array. A string without "value", or cut short ("n_bytes"
 *         larger than it), is made up. An array has "element_type", "n_elements" and "first": the elements to start
 * with; the last of them is repeated up to n_elements. Arrays of the tokenizer are made up, whatever "first" says.
 *   "tensors": [{"name": N, "type": "Q4_K", "shape": [ne0, ne1, ..], "shard": I}, ...]     "shard" may be left out: 0
 *
 * Keys split.* are left out on reading: the writer makes them. */
#ifndef CONVECT_TOOLS_MODEL_LIST_H
#define CONVECT_TOOLS_MODEL_LIST_H

#include "engine/gguf.h"
#include "kernels/format.h"

typedef struct list_tensor {
    char name[64];
    format_id format;
    uint32_t n_dims;
    uint64_t ne[4]; /* missing dims 1 */
    size_t i_shard;
} list_tensor;

typedef struct model_list {
    gguf_kv *kvs; /* owned, with their keys and data */
    size_t n_kv, cap_kv;
    list_tensor *tensors; /* owned */
    size_t n_tensors, cap_tensors;
    size_t n_shards;
} model_list;

/* Errors: NOT_FOUND, DAMAGED (what is wrong with which entry), NO_FIT. *out stays freeable. */
convect_status model_list_read(const char *path, model_list *out, convect_error *err) CONVECT_MUST_CHECK;
void model_list_free(model_list *list);

/* Appends. data: n_bytes of packed little-endian value as in a file; copied. Errors: NO_FIT. */
convect_status model_list_add_kv(model_list *list, const char *key, gguf_type type, gguf_type element_type,
                                 uint64_t n_elements, const void *data, size_t n_bytes,
                                 convect_error *err) CONVECT_MUST_CHECK;
convect_status model_list_add_u32(model_list *list, const char *key, uint32_t v, convect_error *err) CONVECT_MUST_CHECK;
convect_status model_list_add_tensor(model_list *list, const list_tensor *t, convect_error *err) CONVECT_MUST_CHECK;

const gguf_kv *model_list_find(const model_list *list, const char *key);                 /* NULL if absent */
uint64_t model_list_number(const model_list *list, const char *name, uint64_t fallback); /* <architecture>.<name> */
bool list_key_is(const gguf_kv *kv, const char *key);

uint64_t list_tensor_elems(const list_tensor *t);
uint64_t list_tensor_bytes(const list_tensor *t);

/* Keeps n_layers trunk layers and the MTP blocks behind them, renumbered; block_count and per-layer arrays follow.
 * Fewer layers than full_attention_interval would leave no attention at all, so then the last one kept is the first
 * full-attention layer and the interval becomes n_layers. Errors: USAGE (more layers than there are). */
convect_status model_list_cut_layers(model_list *list, size_t n_layers, convect_error *err) CONVECT_MUST_CHECK;

/* Cuts the vocabulary to n_vocab: embedding and head rows and the tokenizer arrays. Errors: USAGE (not fewer than
 * there are). */
convect_status model_list_cut_vocab(model_list *list, uint64_t n_vocab, convect_error *err) CONVECT_MUST_CHECK;

#endif
