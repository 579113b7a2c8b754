#include "tools/synth_metadata.h"

#include <string.h>

#include "tools/synth_vocab.h"

static bool ends_with(const gguf_kv *kv, const char *tail) {
    size_t n = strlen(tail);
    return kv->key.n_bytes >= n && memcmp(kv->key.data + kv->key.n_bytes - n, tail, n) == 0;
}

static bool begins_with(const gguf_kv *kv, const char *head) {
    size_t n = strlen(head);
    return kv->key.n_bytes >= n && memcmp(kv->key.data, head, n) == 0;
}

/* tokens, token_type and merges; other tables of the tokenizer (scores) say nothing for BPE and are left out. */
static void write_table(const gguf_kv *kv, const synth_vocab *v, gguf_writer *w) {
    if (list_key_is(kv, "tokenizer.ggml.tokens")) gguf_writer_kv_strings(w, kv->key.data, v->tokens, v->n_tokens);
    if (list_key_is(kv, "tokenizer.ggml.token_type")) gguf_writer_kv_i32s(w, kv->key.data, v->types, v->n_tokens);
    if (list_key_is(kv, "tokenizer.ggml.merges")) gguf_writer_kv_strings(w, kv->key.data, v->merges, v->n_merges);
}

static void write_kv(const gguf_kv *kv, const synth_vocab *v, gguf_writer *w) {
    bool is_tokenizer = begins_with(kv, "tokenizer.");
    if (kv->type == GGUF_ARRAY && is_tokenizer) {
        write_table(kv, v, w);
    } else if (v->n_tokens > 0 && begins_with(kv, "tokenizer.ggml.") && ends_with(kv, "_token_id")) {
        bool is_end = ends_with(kv, ".eos_token_id") || ends_with(kv, ".eot_token_id");
        gguf_writer_kv_u32(w, kv->key.data, is_end ? v->id_im_end : v->id_end_of_text);
    } else if (kv->type == GGUF_STRING && kv->n_bytes == 0) {
        const char *text = is_tokenizer ? synth_chat_template : "made up";
        gguf_writer_kv_string(w, kv->key.data, text, strlen(text));
    } else {
        gguf_writer_kv_copy(w, kv);
    }
}

convect_status synth_metadata_write(const model_list *list, gguf_writer *w, convect_error *err) {
    synth_vocab vocab = {0};
    const gguf_kv *tokens = model_list_find(list, "tokenizer.ggml.tokens");
    convect_status status = tokens ? synth_vocab_make(tokens->n_elements, &vocab, err) : CONVECT_OK;
    for (size_t i = 0; i < list->n_kv && !status; i++) write_kv(&list->kvs[i], &vocab, w);
    synth_vocab_free(&vocab);
    return status;
}

static void write_u16(gguf_writer *w, const char *key, uint16_t v) {
    const uint8_t data[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    gguf_kv kv = {{key, strlen(key)}, GGUF_U16, GGUF_U16, 1, data, sizeof data};
    gguf_writer_kv_copy(w, &kv);
}

void synth_metadata_split(gguf_writer *w, size_t i_shard, size_t n_shards, size_t n_tensors) {
    write_u16(w, "split.no", (uint16_t)i_shard);
    write_u16(w, "split.count", (uint16_t)n_shards);
    gguf_writer_kv_i32(w, "split.tensors.count", (int32_t)n_tensors);
}
