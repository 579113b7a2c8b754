#include "tools/synth_vocab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/byte_alphabet.h"

#define TEXT_BYTES_PER_TOKEN 24 /* a token of at most 12 bytes and its merge of at most 8, or a special token */
#define PADDING_MAX          243

enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_USER = 4, TOKEN_UNUSED = 5 };

/* Texts and types of the tokens that Qwen3.5 adds to its 248,044 base tokens, in the order of their ids. */
static const struct {
    const char *text;
    int32_t type;
} specials[] = {
    {"<|endoftext|>", TOKEN_CONTROL},
    {"<|im_start|>", TOKEN_CONTROL},
    {"<|im_end|>", TOKEN_CONTROL},
    {"<|object_ref_start|>", TOKEN_CONTROL},
    {"<|object_ref_end|>", TOKEN_CONTROL},
    {"<|box_start|>", TOKEN_CONTROL},
    {"<|box_end|>", TOKEN_CONTROL},
    {"<|quad_start|>", TOKEN_CONTROL},
    {"<|quad_end|>", TOKEN_CONTROL},
    {"<|vision_start|>", TOKEN_CONTROL},
    {"<|vision_end|>", TOKEN_CONTROL},
    {"<|vision_pad|>", TOKEN_CONTROL},
    {"<|image_pad|>", TOKEN_CONTROL},
    {"<|video_pad|>", TOKEN_CONTROL},
    {"<tool_call>", TOKEN_USER},
    {"</tool_call>", TOKEN_USER},
    {"<|fim_prefix|>", TOKEN_USER},
    {"<|fim_middle|>", TOKEN_USER},
    {"<|fim_suffix|>", TOKEN_USER},
    {"<|fim_pad|>", TOKEN_USER},
    {"<|repo_name|>", TOKEN_USER},
    {"<|file_sep|>", TOKEN_USER},
    {"<tool_response>", TOKEN_USER},
    {"</tool_response>", TOKEN_USER},
    {"<think>", TOKEN_USER},
    {"</think>", TOKEN_USER},
    {"<|audio_start|>", TOKEN_CONTROL},
    {"<|audio_end|>", TOKEN_CONTROL},
    {"<tts_pad>", TOKEN_CONTROL},
    {"<tts_text_bos>", TOKEN_CONTROL},
    {"<tts_text_eod>", TOKEN_CONTROL},
    {"<tts_text_bos_single>", TOKEN_CONTROL},
    {"<|audio_pad|>", TOKEN_CONTROL},
};
enum { N_SPECIALS = sizeof specials / sizeof *specials };

const char synth_chat_template[] = "{%- for message in messages -%}\n"
                                   "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' -}}\n"
                                   "{%- endfor -%}\n"
                                   "{%- if add_generation_prompt -%}\n"
                                   "{{- '<|im_start|>assistant\\n' -}}\n"
                                   "{%- if enable_thinking is defined and enable_thinking is false -%}\n"
                                   "{{- '<think>\\n\\n</think>\\n\\n' -}}\n"
                                   "{%- else -%}\n"
                                   "{{- '<think>\\n' -}}\n"
                                   "{%- endif -%}\n"
                                   "{%- endif -%}\n";

void synth_vocab_free(synth_vocab *v) {
    free(v->tokens);
    free(v->types);
    free(v->merges);
    free(v->text);
    *v = (synth_vocab){0};
}

static gguf_string keep(synth_vocab *v, const char *a, const char *between, const char *b) {
    char *begin = v->text + v->n_text_bytes;
    char *at = begin;
    const char *pieces[3] = {a, between, b};
    for (size_t i = 0; i < 3; i++) {
        size_t n = strlen(pieces[i]);
        memcpy(at, pieces[i], n);
        at += n;
    }
    v->n_text_bytes += (size_t)(at - begin);
    return (gguf_string){begin, (size_t)(at - begin)};
}

static void add_token(synth_vocab *v, const char *text, int32_t type) {
    v->types[v->n_tokens] = type;
    v->tokens[v->n_tokens++] = keep(v, text, "", "");
}

static void add_bytes(synth_vocab *v) {
    byte_alphabet alphabet;
    byte_alphabet_init(&alphabet);
    for (int c = 0; c < BYTE_ALPHABET_POINTS; c++) {
        if (alphabet.byte_of[c] < 0) continue;
        char text[3] = {(char)c, 0, 0};
        if (c >= 0x80) { /* two bytes of UTF-8 */
            text[0] = (char)(0xc0 | c >> 6);
            text[1] = (char)(0x80 | (c & 0x3f));
        }
        add_token(v, text, TOKEN_NORMAL);
    }
}

/* left + right becomes a token while there is room below n_base. */
static void add_merge(synth_vocab *v, size_t n_base, const char *left, const char *right) {
    if (v->n_tokens >= n_base) return;
    v->merges[v->n_merges++] = keep(v, left, " ", right);
    v->types[v->n_tokens] = TOKEN_NORMAL;
    v->tokens[v->n_tokens++] = keep(v, left, "", right);
}

/* All strings of n letters: the i-th. */
static void letters(size_t i, size_t n, char *out) {
    out[n] = 0;
    for (size_t j = n; j-- > 0; i /= 26) out[j] = (char)('a' + i % 26);
}

static void add_merges(synth_vocab *v, size_t n_base) {
    static const char space[] = "\xc4\xa0"; /* U+0120: byte 0x20 */
    enum { N1 = 26, N2 = N1 * 26, N3 = N2 * 26, N4 = N3 * 26 };
    char left[8];
    char right[8];
    for (size_t i = 0; i < N1; i++) {
        letters(i, 1, right);
        add_merge(v, n_base, space, right);
    }
    for (size_t i = 0; i < N2; i++) {
        letters(i / 26, 1, left);
        letters(i % 26, 1, right);
        add_merge(v, n_base, left, right);
    }
    for (size_t i = 0; i < N3; i++) {
        memcpy(left, space, 2);
        letters(i / N2, 1, left + 2);
        letters(i % N2, 2, right);
        add_merge(v, n_base, left, right);
    }
    for (size_t i = 0; i < N3; i++) {
        letters(i / 26, 2, left);
        letters(i % 26, 1, right);
        add_merge(v, n_base, left, right);
    }
    for (size_t i = 0; i < N4; i++) {
        letters(i / N2, 2, left);
        letters(i % N2, 2, right);
        add_merge(v, n_base, left, right);
    }
}

convect_status synth_vocab_make(size_t n_tokens, synth_vocab *out, convect_error *err) {
    *out = (synth_vocab){0};
    if (n_tokens < SYNTH_VOCAB_MIN || n_tokens > SYNTH_VOCAB_MAX) {
        return convect_fail(err, CONVECT_USAGE, "a made-up vocabulary has %d to %d tokens, not %zu", SYNTH_VOCAB_MIN,
                            SYNTH_VOCAB_MAX, n_tokens);
    }
    out->tokens = calloc(n_tokens, sizeof *out->tokens);
    out->types = calloc(n_tokens, sizeof *out->types);
    out->merges = calloc(n_tokens, sizeof *out->merges);
    out->text = malloc(n_tokens * TEXT_BYTES_PER_TOKEN);
    if (!out->tokens || !out->types || !out->merges || !out->text) {
        return convect_fail(err, CONVECT_NO_FIT, "out of memory for a vocabulary of %zu tokens", n_tokens);
    }
    size_t n_padding = n_tokens / 64 < PADDING_MAX ? n_tokens / 64 : PADDING_MAX;
    size_t n_base = n_tokens - n_padding - N_SPECIALS;
    add_bytes(out);
    add_merges(out, n_base);
    CONVECT_CHECK(out->n_tokens == n_base);
    out->id_end_of_text = (uint32_t)n_base;
    out->id_im_end = (uint32_t)n_base + 2;
    for (size_t i = 0; i < N_SPECIALS; i++) add_token(out, specials[i].text, specials[i].type);
    for (size_t i = out->n_tokens; i < n_tokens; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "[PAD%zu]", i);
        add_token(out, text, TOKEN_UNUSED);
    }
    CONVECT_CHECK(out->n_text_bytes <= n_tokens * TEXT_BYTES_PER_TOKEN);
    return CONVECT_OK;
}
