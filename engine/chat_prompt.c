#include "engine/chat_prompt.h"

#include <string.h>

#include <utf8proc.h>

/* Python's str.isspace: White_Space and the separators U+001C..U+001F. */
static bool is_space(utf8proc_int32_t c) {
    if ((c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85) return true;
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

gguf_string chat_prompt_trim(gguf_string text) {
    size_t begin = text.n_bytes, end = 0;
    for (size_t off = 0; off < text.n_bytes;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text.data + off, (utf8proc_ssize_t)(text.n_bytes - off), &c);
        size_t n_char = n > 0 ? (size_t)n : 1;
        if (n <= 0 || !is_space(c)) {
            if (off < begin) begin = off;
            end = off + n_char;
        }
        off += n_char;
    }
    return end == 0 ? (gguf_string){text.data, 0} : (gguf_string){text.data + begin, end - begin};
}

static convect_status push_literal(const tokenizer *t, const char *text, token_list *out, convect_error *err) {
    return tokenizer_encode(t, text, strlen(text), true, out, err);
}

/* One turn up to and including its end token. */
static convect_status push_turn(const tokenizer *t, const char *head, gguf_string content, token_list *out,
                                convect_error *err) {
    content = chat_prompt_trim(content);
    convect_status status = push_literal(t, head, out, err);
    if (status == CONVECT_OK) status = tokenizer_encode(t, content.data, content.n_bytes, false, out, err);
    if (status == CONVECT_OK) status = push_literal(t, "<|im_end|>\n", out, err);
    return status;
}

convect_status chat_prompt_encode(const tokenizer *t, gguf_string system, gguf_string user, token_list *out,
                                  convect_error *err) {
    if (tokenizer_find(t, "<|im_start|>") < 0 || tokenizer_find(t, "<|im_end|>") < 0)
        return convect_fail(err, CONVECT_NOT_SUPPORTED,
                            "the vocabulary has no <|im_start|> and <|im_end|>: this is no chat model (--raw gives it "
                            "the text as it is)");
    convect_status status = CONVECT_OK;
    if (system.data) status = push_turn(t, "<|im_start|>system\n", system, out, err);
    if (status == CONVECT_OK) status = push_turn(t, "<|im_start|>user\n", user, out, err);
    if (status == CONVECT_OK) status = push_literal(t, "<|im_start|>assistant\n<think>\n\n</think>\n\n", out, err);
    return status;
}
