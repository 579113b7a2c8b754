/* The fixed ChatML prompt of Qwen3.5 and Qwen3.6 with thinking off: one user message, an optional system message and
 * the generation prompt. (The file's own template is not read yet.) Pure functions of an immutable tokenizer; any
 * thread. */
#ifndef CONVECT_ENGINE_CHAT_PROMPT_H
#define CONVECT_ENGINE_CHAT_PROMPT_H

#include "engine/tokenizer.h"

/* Appends the ids of
 *
 *   <|im_start|>system\n{system}<|im_end|>\n          (only if system.data is not NULL)
 *   <|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n
 *
 * Contents are trimmed on both sides as the templates do (Python's white space). They cannot form control tokens: only
 * the literals are read with special parsing, which changes nothing for ordinary text, because no piece of a
 * pre-tokenizer reaches from a literal into a content or back. Errors: NOT_SUPPORTED (a vocabulary without the two
 * ChatML tokens), USAGE, NO_FIT. */
convect_status chat_prompt_encode(const tokenizer *t, gguf_string system, gguf_string user, token_list *out,
                                  convect_error *err) CONVECT_MUST_CHECK;

/* The part of text without white space at either end. */
gguf_string chat_prompt_trim(gguf_string text);

#endif
