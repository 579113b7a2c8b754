/* A working vocabulary of any size for made-up models: the 256 bytes, merges of lower-case letters (pairs, triples,
 * fours, with and without a leading space) to fill, the special tokens of Qwen3.5 in their order, padding. Any text can
 * be tokenised with it; lower-case words give pieces of two to four letters. */
#ifndef CONVECT_TOOLS_SYNTH_VOCAB_H
#define CONVECT_TOOLS_SYNTH_VOCAB_H

#include "engine/gguf.h"

#define SYNTH_VOCAB_MIN 512
#define SYNTH_VOCAB_MAX 400000

typedef struct synth_vocab {
    size_t n_tokens, n_merges;
    gguf_string *tokens; /* [n_tokens], owned, texts in `text` */
    int32_t *types;      /* [n_tokens]: 1 normal, 3 control, 4 user-defined, 5 unused */
    gguf_string *merges; /* [n_merges] */
    char *text;
    size_t n_text_bytes;
    uint32_t id_end_of_text, id_im_end;
} synth_vocab;

/* n_tokens in [SYNTH_VOCAB_MIN, SYNTH_VOCAB_MAX] (USAGE otherwise). 248320 gives the ids of the real models: special
 * tokens from 248044 on, padding from 248077 on. Errors: NO_FIT. *out stays freeable. */
convect_status synth_vocab_make(size_t n_tokens, synth_vocab *out, convect_error *err) CONVECT_MUST_CHECK;
void synth_vocab_free(synth_vocab *v);

/* The chat template of made-up models: ChatML with the generation prompt of the family. Static storage. */
extern const char synth_chat_template[];

#endif
