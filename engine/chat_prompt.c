#include "engine/chat_prompt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "engine/character.h"
#include "engine/template.h"

/* Contents are trimmed and thinking is switched off as in the templates of Qwen3.5 and Qwen3.6. */
static const char plain_chatml[] =
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}"
    "{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}"
    "{%- endif %}";

struct chat_prompt {
    const tokenizer *t;
    chat_template *template;
    bool is_plain;
};

/* ---- create ---- */

static convect_status find_template(const gguf *g, const tokenizer *t, gguf_string *source, bool *is_plain,
                                    convect_error *err) {
    const gguf_kv *kv = gguf_kv_find(g, "tokenizer.chat_template");
    *is_plain = kv == NULL;
    if (kv && !gguf_read_string(kv, source))
        return convect_fail(err, CONVECT_DAMAGED, "tokenizer.chat_template is no text");
    if (kv) return CONVECT_OK;
    *source = (gguf_string){plain_chatml, sizeof plain_chatml - 1};
    if (tokenizer_find(t, "<|im_start|>") >= 0 && tokenizer_find(t, "<|im_end|>") >= 0) return CONVECT_OK;
    return convect_fail(err, CONVECT_NOT_SUPPORTED,
                        "the file has no chat template, and its vocabulary no <|im_start|> and <|im_end|>: this is no "
                        "chat model (--raw gives it the text as it is)");
}

convect_status chat_prompt_create(const gguf *g, const tokenizer *t, chat_prompt **out, convect_error *err) {
    gguf_string source = {0};
    bool is_plain;
    *out = NULL;
    convect_status status = find_template(g, t, &source, &is_plain, err);
    if (status != CONVECT_OK) return status;
    chat_prompt *p = calloc(1, sizeof *p);
    if (!p) return convect_fail(err, CONVECT_NO_FIT, "no memory for a chat template");
    *p = (chat_prompt){.t = t, .is_plain = is_plain};
    status = template_parse(source.data, source.n_bytes, &p->template, err);
    if (status != CONVECT_OK) {
        chat_prompt_destroy(p);
        return status;
    }
    *out = p;
    return CONVECT_OK;
}

void chat_prompt_destroy(chat_prompt *p) {
    if (!p) return;
    template_destroy(p->template);
    free(p);
}

bool chat_prompt_is_plain(const chat_prompt *p) {
    return p->is_plain;
}

/* ---- media ---- */

/* A part of a content that is no text: templates turn images and videos into tokens that stand for pictures. */
static bool is_media(struct json_object *part) {
    static const char *const keys[] = {"image", "image_url", "video", "audio", "input_audio"};
    const char *type = json_object_get_string(json_object_object_get(part, "type"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((type && strcmp(type, keys[i]) == 0) || json_object_object_get_ex(part, keys[i], NULL)) return true;
    return false;
}

static convect_status refuse_media(struct json_object *variables, convect_error *err) {
    struct json_object *messages = json_object_object_get(variables, "messages");
    const size_t n = json_object_is_type(messages, json_type_array) ? json_object_array_length(messages) : 0;
    for (size_t i = 0; i < n; i++) {
        struct json_object *message = json_object_array_get_idx(messages, i), *content = NULL;
        if (json_object_is_type(message, json_type_object)) content = json_object_object_get(message, "content");
        if (!json_object_is_type(content, json_type_array)) continue;
        for (size_t j = 0; j < json_object_array_length(content); j++) {
            struct json_object *part = json_object_array_get_idx(content, j);
            if (json_object_is_type(part, json_type_object) && is_media(part))
                return convect_fail(err, CONVECT_NOT_SUPPORTED,
                                    "message %zu holds an image, a video or sound: only text is supported yet", i + 1);
        }
    }
    return CONVECT_OK;
}

/* ---- encode ---- */

static convect_status encode_result(const tokenizer *t, const template_result *text, token_list *out,
                                    convect_error *err) {
    tokenizer_range *trusted = malloc((text->n_spans + 1) * sizeof *trusted);
    if (!trusted) return convect_fail(err, CONVECT_NO_FIT, "no memory for %zu parts of a prompt", text->n_spans);
    size_t n = 0;
    for (size_t i = 0; i < text->n_spans; i++)
        if (!text->spans[i].from_user)
            trusted[n++] = (tokenizer_range){text->spans[i].offset, text->spans[i].offset + text->spans[i].n_bytes};
    const convect_status status = tokenizer_encode_mixed(t, text->text, text->n_bytes, trusted, n, out, err);
    free(trusted);
    return status;
}

convect_status chat_prompt_encode_messages(const chat_prompt *p, struct json_object *variables, token_list *out,
                                           convect_error *err) {
    template_result text = {0};
    convect_status status = refuse_media(variables, err);
    if (status == CONVECT_OK) status = template_render(p->template, variables, time(NULL), &text, err);
    if (status == CONVECT_OK) status = encode_result(p->t, &text, out, err);
    template_result_free(&text);
    return status;
}

/* Appends {"role", "content"}; false without memory. */
static bool add_message(struct json_object *messages, const char *role, gguf_string content) {
    struct json_object *message = json_object_new_object();
    struct json_object *text = json_object_new_string_len(content.data, (int)content.n_bytes);
    struct json_object *who = json_object_new_string(role);
    if (message && text && who && json_object_object_add(message, "role", who) == 0) {
        who = NULL;
        if (json_object_object_add(message, "content", text) == 0) {
            text = NULL;
            if (json_object_array_add(messages, message) == 0) return true;
        }
    }
    json_object_put(who);
    json_object_put(text);
    json_object_put(message);
    return false;
}

static bool add_flag(struct json_object *variables, const char *name, bool flag) {
    struct json_object *o = json_object_new_boolean(flag);
    if (o && json_object_object_add(variables, name, o) == 0) return true;
    json_object_put(o);
    return false;
}

convect_status chat_prompt_encode(const chat_prompt *p, gguf_string system, gguf_string user, bool enable_thinking,
                                  token_list *out, convect_error *err) {
    if (system.n_bytes > TEMPLATE_BYTES_MAX || user.n_bytes > TEMPLATE_BYTES_MAX)
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "a message has more than %zu MiB", TEMPLATE_BYTES_MAX >> 20);
    struct json_object *variables = json_object_new_object(), *messages = json_object_new_array();
    bool is_made = variables && messages;
    is_made = is_made && (!system.data || add_message(messages, "system", system));
    is_made = is_made && add_message(messages, "user", (gguf_string){user.data ? user.data : "", user.n_bytes});
    is_made = is_made && add_flag(variables, "add_generation_prompt", true);
    is_made = is_made && add_flag(variables, "enable_thinking", enable_thinking);
    is_made = is_made && json_object_object_add(variables, "messages", messages) == 0;
    if (is_made) messages = NULL; /* it has an owner now */
    const convect_status status = is_made ? chat_prompt_encode_messages(p, variables, out, err)
                                          : convect_fail(err, CONVECT_NO_FIT, "no memory for the messages of a chat");
    json_object_put(messages);
    json_object_put(variables);
    return status;
}

gguf_string chat_prompt_trim(gguf_string text) {
    size_t begin = text.n_bytes, end = 0;
    int32_t code;
    for (size_t off = 0; off < text.n_bytes;) {
        const size_t n = character_read(text.data + off, text.n_bytes - off, &code);
        if (!character_is_space(code)) {
            if (off < begin) begin = off;
            end = off + n;
        }
        off += n;
    }
    return end == 0 ? (gguf_string){text.data, 0} : (gguf_string){text.data + begin, end - begin};
}
