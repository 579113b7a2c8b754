/* From a conversation to tokens: the model file's own chat template, or plain ChatML for a file without one, which runs
 * through the same renderer. The tokens are those of the whole text, except that control tokens match in the
 * template's bytes only: what users and tools write, or how they name things, cannot form one.
 *
 * A chat_prompt is immutable after create; any thread. */
#ifndef CONVECT_ENGINE_CHAT_PROMPT_H
#define CONVECT_ENGINE_CHAT_PROMPT_H

#include "engine/tokenizer.h"

struct json_object;
typedef struct chat_prompt chat_prompt;

/* Reads tokenizer.chat_template; copies what it needs of g and borrows t. Errors: DAMAGED and NOT_SUPPORTED (a template
 * that cannot be read, with its line; no template and a vocabulary without <|im_start|> and <|im_end|>), NO_FIT. */
convect_status chat_prompt_create(const gguf *g, const tokenizer *t, chat_prompt **out,
                                  convect_error *err) CONVECT_MUST_CHECK;
void chat_prompt_destroy(chat_prompt *p); /* NULL is fine */

/* Whether the file has no template of its own, so that plain ChatML stands in for it. */
bool chat_prompt_is_plain(const chat_prompt *p);

/* Appends the ids of one user message, an optional system message (system.data NULL: none) and the generation prompt.
 * enable_thinking is handed to the template. Any bytes. Errors: as below. */
convect_status chat_prompt_encode(const chat_prompt *p, gguf_string system, gguf_string user, bool enable_thinking,
                                  token_list *out, convect_error *err) CONVECT_MUST_CHECK;

/* The same for whole conversations: variables holds what templates read (messages, tools, add_generation_prompt,
 * enable_thinking, ...). Errors: USAGE (the template refuses the conversation), NOT_SUPPORTED (images and videos, what
 * template.h leaves out, its bounds), DAMAGED (the template fails), NO_FIT; all but NO_FIT leave *out as it was. */
convect_status chat_prompt_encode_messages(const chat_prompt *p, struct json_object *variables, token_list *out,
                                           convect_error *err) CONVECT_MUST_CHECK;

/* The part of text without white space at either end (Python's white space). */
gguf_string chat_prompt_trim(gguf_string text);

#endif
