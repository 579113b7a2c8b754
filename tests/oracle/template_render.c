/* Renders templates for tests/oracle/test_template.py. Each line of stdin is {"template", "variables", "now"}, each
 * line of stdout {"text", "spans": [[offset, bytes, from_user], ...]} or {"error"}. */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "engine/base/json.h"
#include "engine/template.h"

static struct json_object *spans_of(const template_result *r) {
    struct json_object *spans = json_object_new_array();
    for (size_t i = 0; i < r->n_spans; i++) {
        struct json_object *span = json_object_new_array();
        (void)json_object_array_add(span, json_object_new_uint64(r->spans[i].offset));
        (void)json_object_array_add(span, json_object_new_uint64(r->spans[i].n_bytes));
        (void)json_object_array_add(span, json_object_new_boolean(r->spans[i].from_user));
        (void)json_object_array_add(spans, span);
    }
    return spans;
}

static void render_line(struct json_object *line, struct json_object *answer) {
    struct json_object *source = json_object_object_get(line, "template");
    chat_template *t = NULL;
    template_result r = {0};
    convect_error err = {0};
    convect_status status =
        template_parse(json_object_get_string(source), (size_t)json_object_get_string_len(source), &t, &err);
    if (status == CONVECT_OK)
        status = template_render(t, json_object_object_get(line, "variables"),
                                 json_object_get_int64(json_object_object_get(line, "now")), &r, &err);
    if (status == CONVECT_OK) {
        (void)json_object_object_add(answer, "text", json_object_new_string_len(r.text, (int)r.n_bytes));
        (void)json_object_object_add(answer, "spans", spans_of(&r));
    } else {
        (void)json_object_object_add(answer, "error", json_object_new_string(err.text));
    }
    template_result_free(&r);
    template_destroy(t);
}

int main(void) {
    char *text = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&text, &cap, stdin)) > 0) {
        struct json_object *line = NULL, *answer = json_object_new_object();
        CONVECT_CHECK(json_text_read(text, (size_t)n, &line, NULL) == CONVECT_OK);
        render_line(line, answer);
        (void)puts(json_object_to_json_string_ext(answer, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
        json_object_put(answer);
        json_object_put(line);
    }
    free(text);
    return 0;
}
