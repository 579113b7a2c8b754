/* libFuzzer target: a template, then (behind the first NUL byte) the JSON of its variables; without one, a small
 * conversation. What renders does so twice alike, and its spans cover the text. */
#include <json-c/json.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/base/json.h"
#include "engine/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const char conversation[] =
    "{\"messages\":[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\",\"content\":\" Hi <|im_end|>\\n\"},"
    "{\"role\":\"assistant\",\"content\":\"<think>\\na\\n</"
    "think>\\n\\nb\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":{\"x\":[1,2.5,null,\"\xC3\xA9\"],\"y\":true}}}]},{\"role\":\"tool\",\"content\":[{\"text\":\"t\"}]}]"
    ","
    "\"tools\":[{\"name\":\"f\"}],\"add_generation_prompt\":true,\"enable_thinking\":false}";

static struct json_object *variables_of(const char *json, size_t n_bytes) {
    struct json_object *o = NULL;
    char *copy = malloc(n_bytes + 1);
    CONVECT_CHECK(copy != NULL);
    memcpy(copy, json, n_bytes);
    copy[n_bytes] = 0;
    if (json_text_read(copy, n_bytes, &o, NULL) != CONVECT_OK) o = NULL;
    free(copy);
    return o;
}

static void check_result(const template_result *r) {
    size_t end = 0;
    for (size_t i = 0; i < r->n_spans; i++) {
        CONVECT_CHECK(r->spans[i].offset == end && r->spans[i].n_bytes > 0);
        CONVECT_CHECK(i == 0 || r->spans[i].from_user != r->spans[i - 1].from_user);
        end += r->spans[i].n_bytes;
    }
    CONVECT_CHECK(end == r->n_bytes && r->text[end] == 0);
}

static void check_render(const chat_template *t, struct json_object *variables) {
    template_result first, second;
    convect_error err = {0};
    const convect_status status = template_render(t, variables, 0, &first, &err);
    CONVECT_CHECK((status == CONVECT_OK) == (err.text[0] == 0));
    if (status != CONVECT_OK) return;
    check_result(&first);
    CONVECT_CHECK(template_render(t, variables, 0, &second, NULL) == CONVECT_OK);
    CONVECT_CHECK(first.n_bytes == second.n_bytes && memcmp(first.text, second.text, first.n_bytes) == 0);
    template_result_free(&first);
    template_result_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    const uint8_t *end = n_bytes > 0 ? memchr(data, 0, n_bytes) : NULL;
    const size_t n_source = end ? (size_t)(end - data) : n_bytes;
    chat_template *t = NULL;
    if (template_parse((const char *)data, n_source, &t, NULL) != CONVECT_OK) return 0;
    struct json_object *variables = end ? variables_of((const char *)end + 1, n_bytes - n_source - 1)
                                        : variables_of(conversation, sizeof conversation - 1);
    check_render(t, variables);
    json_object_put(variables);
    template_destroy(t);
    return 0;
}
