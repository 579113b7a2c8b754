/* Builds small vocabulary-only GGUF files in memory: the 256 byte tokens (id = byte), then the given tokens. */
#ifndef CONVECT_TESTS_VOCAB_BUILDER_H
#define CONVECT_TESTS_VOCAB_BUILDER_H

#include "tests/unit/gguf_builder.h"

typedef struct vocab_token {
    const char *text; /* normal tokens: in the byte alphabet */
    int32_t type;     /* tokenizer.ggml.token_type */
} vocab_token;

typedef struct vocab_spec {
    const char *model, *pre;   /* NULL: the key is absent */
    const vocab_token *tokens; /* ids from 256 on */
    size_t n_tokens;
    const char *const *merges;
    size_t n_merges;
    size_t n_types_missing; /* so many entries fewer than tokens */
    int lacks_byte;         /* this byte's token becomes unused; -1: none */
    int64_t eos;            /* -1: absent */
    bool adds_bos;
    const char *chat_template; /* NULL: the key is absent */
} vocab_spec;

static inline void vb_byte_text(unsigned b, char out[static 3]) {
    bool is_printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    unsigned c = is_printable ? b : b <= 0x20 ? 256 + b : b <= 0xA0 ? 256 + 33 + b - 0x7F : 323;
    out[0] = (char)(c < 0x80 ? c : 0xC0 | c >> 6);
    out[1] = (char)(c < 0x80 ? 0 : 0x80 | (c & 0x3F));
    out[2] = 0;
}

static inline void vb_tokens(gguf_builder *b, const vocab_spec *s) {
    gb_kv_array(b, "tokenizer.ggml.tokens", GGUF_STRING, 256 + s->n_tokens);
    for (unsigned i = 0; i < 256; i++) {
        char text[3];
        vb_byte_text(i, text);
        gb_string(b, text);
    }
    for (size_t i = 0; i < s->n_tokens; i++) gb_string(b, s->tokens[i].text);
    size_t n_types = 256 + s->n_tokens - s->n_types_missing;
    gb_kv_array(b, "tokenizer.ggml.token_type", GGUF_I32, n_types);
    for (size_t i = 0; i < n_types; i++)
        gb_u32(b, (uint32_t)(i >= 256 ? s->tokens[i - 256].type : (int)i == s->lacks_byte ? 5 : 1));
}

/* The bytes belong to the builder: gb_free. */
static inline gguf_builder vb_build(const vocab_spec *s) {
    gguf_builder b = {0};
    gb_header(&b, 3, 0,
              4u + (s->model != NULL) + (s->pre != NULL) + (s->eos >= 0) + s->adds_bos + (s->chat_template != NULL));
    gb_kv_string(&b, "general.architecture", "qwen35moe");
    if (s->model) gb_kv_string(&b, "tokenizer.ggml.model", s->model);
    if (s->pre) gb_kv_string(&b, "tokenizer.ggml.pre", s->pre);
    if (s->chat_template) gb_kv_string(&b, "tokenizer.chat_template", s->chat_template);
    vb_tokens(&b, s);
    gb_kv_array(&b, "tokenizer.ggml.merges", GGUF_STRING, s->n_merges);
    for (size_t i = 0; i < s->n_merges; i++) gb_string(&b, s->merges[i]);
    if (s->eos >= 0) gb_kv_u32(&b, "tokenizer.ggml.eos_token_id", (uint32_t)s->eos);
    if (s->adds_bos) {
        gb_key(&b, "tokenizer.ggml.add_bos_token", GGUF_BOOL);
        gb_u8(&b, 1);
    }
    return b;
}

#endif
