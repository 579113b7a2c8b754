#include "engine/template.h"

#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "engine/template_internal.h"

struct chat_template {
    template_context memory; /* holds what body points to */
    stmt *body;
};

/* ---- parse ---- */

static convect_status parse(chat_template *t, const char *source, size_t n_bytes) {
    template_context *c = &t->memory;
    if (setjmp(c->fault) != 0) return c->status;
    if (n_bytes > TEMPLATE_BYTES_MAX)
        template_fail(c, CONVECT_NOT_SUPPORTED, "it has more than %zu MiB", TEMPLATE_BYTES_MAX >> 20);
    parser p = {.c = c, .at = template_read_tokens(c, source, n_bytes)};
    t->body = parser_read_template(&p);
    return CONVECT_OK;
}

convect_status template_parse(const char *source, size_t n_bytes, chat_template **out, convect_error *err) {
    *out = NULL;
    chat_template *t = calloc(1, sizeof *t);
    if (!t) return convect_fail(err, CONVECT_NO_FIT, "no memory for a chat template");
    t->memory.err = err;
    const convect_status status = parse(t, source, n_bytes);
    t->memory.err = NULL;
    if (status != CONVECT_OK) {
        template_destroy(t);
        return status;
    }
    *out = t;
    return CONVECT_OK;
}

void template_destroy(chat_template *t) {
    if (!t) return;
    template_release(&t->memory);
    free(t);
}

/* ---- render ---- */

/* Pieces to bytes and spans: neighbours of one origin become one span. */
static void take_result(template_context *c, const rope *text, template_result *out) {
    out->text = malloc(text->n_bytes + 1);
    out->spans = malloc((text->n_pieces + 1) * sizeof *out->spans);
    if (!out->text || !out->spans) template_fail(c, CONVECT_NO_FIT, "no memory for %zu bytes of text", text->n_bytes);
    template_span *last = NULL;
    for (size_t i = 0; i < text->n_pieces; i++) {
        const rope_piece *piece = &text->block->pieces[i];
        memcpy(out->text + out->n_bytes, piece->data, piece->n_bytes);
        if (!last || last->from_user != piece->from_user) {
            last = &out->spans[out->n_spans++];
            *last = (template_span){out->n_bytes, 0, piece->from_user};
        }
        last->n_bytes += piece->n_bytes;
        out->n_bytes += piece->n_bytes;
    }
    out->text[out->n_bytes] = 0;
}

static void define_variables(template_context *c, struct json_object *variables) {
    scope_push(c, NULL);
    struct json_object_iter at; /* the form of the macro that is plain C, for clang */
    json_object_object_foreachC(variables, at) {
        scope_set(c, at.key, value_of_json(c, at.val));
    }
    scope_push(c, c->scope);
}

static convect_status render(template_context *c, const stmt *body, struct json_object *variables,
                             template_result *out) {
    if (setjmp(c->fault) != 0) return c->status;
    define_variables(c, variables);
    c->out = rope_new(c);
    (void)stmt_run(c, body);
    take_result(c, c->out, out);
    return CONVECT_OK;
}

convect_status template_render(const chat_template *t, struct json_object *variables, time_t now, template_result *out,
                               convect_error *err) {
    *out = (template_result){0};
    if (!json_object_is_type(variables, json_type_object))
        return convect_fail(err, CONVECT_USAGE, "the variables of a chat template are no JSON object");
    template_context *c = calloc(1, sizeof *c);
    if (!c) return convect_fail(err, CONVECT_NO_FIT, "no memory to render a chat template");
    c->err = err;
    c->now = now;
    const convect_status status = render(c, t->body, variables, out);
    template_release(c);
    free(c);
    if (status != CONVECT_OK) template_result_free(out);
    return status;
}

void template_result_free(template_result *result) {
    free(result->text);
    free(result->spans);
    *result = (template_result){0};
}
