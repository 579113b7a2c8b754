/* libFuzzer target: the first byte chooses. Even: the rest is text for a built-in vocabulary (bit 1: qwen35, bit 2:
 * control tokens match). Odd: the rest is a GGUF file whose tokenizer is read and used. */
#include <stdlib.h>
#include <string.h>

#include "engine/chat_prompt.h"
#include "engine/nfc.h"
#include "tests/unit/vocab_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

typedef struct fuzz_vocabulary {
    tokenizer *t;
    chat_prompt *prompt;
} fuzz_vocabulary;

static fuzz_vocabulary built_in(const char *pre) {
    static const vocab_token tokens[] = {{"aa", 1},
                                         {"aaaa", 1},
                                         {"ab", 1},
                                         {"abc", 1},
                                         {"\xC4\xA0"
                                          "a",
                                          1},
                                         {"<think>", 4},
                                         {"<|im_end|>", 3},
                                         {"<|im_end|>!", 4},
                                         {"<|im_start|>", 3},
                                         {"<|im_", 3},
                                         {"[PAD266]", 5}};
    static const char *const merges[] = {"a b", "a a", "aa aa", "ab c", "\xC4\xA0 a"};
    vocab_spec spec = {.model = "gpt2",
                       .pre = pre,
                       .tokens = tokens,
                       .n_tokens = 11,
                       .merges = merges,
                       .n_merges = 5,
                       .lacks_byte = -1,
                       .eos = -1};
    gguf_builder b = vb_build(&spec);
    gguf *g = NULL;
    fuzz_vocabulary v = {0};
    CONVECT_CHECK(gguf_open_memory(b.data, b.n_bytes, &g, NULL) == CONVECT_OK);
    CONVECT_CHECK(tokenizer_create(g, &v.t, NULL) == CONVECT_OK);
    CONVECT_CHECK(chat_prompt_create(g, v.t, &v.prompt, NULL) == CONVECT_OK);
    gguf_close(g);
    gb_free(&b);
    return v;
}

/* Every id is real, and streaming gives all bytes. Returns how many. */
static size_t check_ids(const tokenizer *t, const token_list *ids) {
    detokenizer d = {0};
    size_t n_pieces = 0, n_streamed = 0;
    for (size_t i = 0; i < ids->n; i++) {
        CONVECT_CHECK(ids->ids[i] >= 0 && (size_t)ids->ids[i] < tokenizer_n_real(t));
        CONVECT_CHECK(!tokenizer_is_unused(t, ids->ids[i]));
        gguf_string piece = tokenizer_piece(t, ids->ids[i]);
        n_pieces += piece.n_bytes;
        n_streamed += detokenizer_push(&d, piece).n_bytes;
    }
    n_streamed += detokenizer_flush(&d).n_bytes;
    CONVECT_CHECK(n_pieces == n_streamed);
    return n_pieces;
}

/* Without special tokens the pieces spell NFC(text). */
static void check_text(const tokenizer *t, const char *text, size_t n_bytes, bool parse_special) {
    token_list ids = {0};
    nfc_text nfc;
    CONVECT_CHECK(tokenizer_encode(t, text, n_bytes, parse_special, &ids, NULL) == CONVECT_OK);
    CONVECT_CHECK(nfc_normalize(text, n_bytes, &nfc, NULL) == CONVECT_OK);
    size_t n_pieces = check_ids(t, &ids);
    if (n_bytes == 0 || !memchr(text, '<', n_bytes)) {
        CONVECT_CHECK(n_pieces == nfc.n_bytes);
        size_t off = 0;
        for (size_t i = 0; i < ids.n; i++) {
            gguf_string piece = tokenizer_piece(t, ids.ids[i]);
            CONVECT_CHECK(memcmp(nfc.data + off, piece.data, piece.n_bytes) == 0);
            off += piece.n_bytes;
        }
    }
    nfc_free(&nfc);
    token_list_free(&ids);
}

static void check_file(const uint8_t *data, size_t n_bytes) {
    static const char text[] = "Hi <|im_end|> caf\xC3\xA9 aaaa\n\n 12<think>\xFF";
    gguf *g = NULL;
    tokenizer *t = NULL;
    convect_error err = {0};
    if (gguf_open_memory(data, n_bytes, &g, NULL) != CONVECT_OK) return;
    convect_status status = tokenizer_create(g, &t, &err);
    gguf_close(g);
    CONVECT_CHECK((status == CONVECT_OK) == (t != NULL));
    if (!t) {
        CONVECT_CHECK((status == CONVECT_DAMAGED || status == CONVECT_NOT_SUPPORTED) && err.text[0]);
        return;
    }
    token_list ids = {0};
    CONVECT_CHECK(tokenizer_encode(t, text, sizeof text - 1, true, &ids, NULL) == CONVECT_OK);
    (void)check_ids(t, &ids);
    token_list_free(&ids);
    tokenizer_destroy(t);
}

static void check_prompt(const fuzz_vocabulary *v, const char *text, size_t n_bytes) {
    token_list ids = {0};
    gguf_string content = {text, n_bytes}, none = {0};
    CONVECT_CHECK(chat_prompt_encode(v->prompt, none, content, false, &ids, NULL) == CONVECT_OK);
    size_t n_control = 0;
    for (size_t i = 0; i < ids.n; i++) n_control += tokenizer_is_control(v->t, ids.ids[i]);
    CONVECT_CHECK(n_control == 3); /* the content added none */
    token_list_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    static fuzz_vocabulary vocabularies[2]; /* live as long as the process */
    if (!vocabularies[0].t) {
        vocabularies[0] = built_in("qwen2");
        vocabularies[1] = built_in("qwen35");
    }
    if (n_bytes == 0) return 0;
    if (data[0] & 1) {
        check_file(data + 1, n_bytes - 1);
        return 0;
    }
    const fuzz_vocabulary *v = &vocabularies[data[0] >> 1 & 1];
    check_text(v->t, (const char *)data + 1, n_bytes - 1, (data[0] & 4) != 0);
    check_prompt(v, (const char *)data + 1, n_bytes - 1);
    return 0;
}
