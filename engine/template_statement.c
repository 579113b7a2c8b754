/* Statements of a template. */
#include <string.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): template_enter bounds it */

static stmt_flow run_body(template_context *c, const stmt *body) {
    template_enter(c);
    const stmt_flow flow = stmt_run(c, body);
    template_leave(c);
    return flow;
}

/* In a scope of its own. */
static stmt_flow run_scoped(template_context *c, const stmt *body) {
    scope *const outer = c->scope;
    scope_push(c, outer);
    const stmt_flow flow = run_body(c, body);
    c->scope = outer;
    return flow;
}

static stmt_flow run_if(template_context *c, const stmt *s) {
    for (;; s = s->other) {
        template_step(c, 0);
        if (value_truth(expr_run(c, s->value))) return run_body(c, s->body);
        if (!s->other_is_elif) return run_body(c, s->other);
    }
}

/* The items that pass the loop's condition. */
static const list *filter_items(template_context *c, const stmt *s, const list *items) {
    scope *const outer = c->scope;
    list *kept = list_new(c, LIST_PLAIN);
    for (size_t i = 0; i < items->n; i++) {
        scope_push(c, outer);
        scope_assign(c, s->target, items->items[i]);
        if (value_truth(expr_run(c, s->condition))) list_push(c, kept, items->items[i]);
    }
    c->scope = outer;
    return kept;
}

static stmt_flow run_for(template_context *c, const stmt *s) {
    scope *const outer = c->scope;
    const list *items = value_iterate(c, expr_run(c, s->value));
    if (s->condition) items = filter_items(c, s, items);
    if (items->n == 0) return s->other ? run_scoped(c, s->other) : FLOW_NEXT;
    loop *l = template_take(c, sizeof *l);
    l->items = items;
    stmt_flow flow = FLOW_NEXT;
    for (; l->i < items->n && flow != FLOW_BREAK; l->i++) {
        template_step(c, 0);
        scope_push(c, outer);
        scope_set(c, "loop", (value){.kind = VALUE_LOOP, .loop = l});
        scope_assign(c, s->target, items->items[l->i]);
        flow = run_body(c, s->body);
    }
    c->scope = outer;
    return FLOW_NEXT;
}

/* What the body writes. */
static rope *capture(template_context *c, const stmt *body) {
    rope *const out = c->out;
    rope *text = c->out = rope_new(c);
    (void)run_scoped(c, body);
    c->out = out;
    return text;
}

/* Filters of a block: links of a chain on a constant that the captured text stands in for. */
static value run_filters(template_context *c, const expr *filters, rope *text) {
    value v = value_text(text);
    if (!filters || filters->kind != EXPR_CHAIN) return v;
    for (const expr_link *link = filters->links; link; link = link->next) {
        c->line = link->line;
        if (link->op != LINK_FILTER) template_fail(c, CONVECT_DAMAGED, "only filters go with a block");
        v = expr_run_filter(c, link, v);
    }
    return v;
}

static void define_macro(template_context *c, const stmt *s) {
    macro *m = template_take(c, sizeof *m);
    *m = (macro){s, c->scope};
    scope_set(c, s->data, (value){.kind = VALUE_MACRO, .macro = m});
}

static stmt_flow run_with(template_context *c, const stmt *s) {
    scope *const outer = c->scope;
    scope *fresh = template_take(c, sizeof *fresh);
    fresh->parent = outer;
    for (const expr_link *link = s->links; link; link = link->next) { /* values are computed outside */
        const value v = expr_run(c, link->operand[0]);
        c->scope = fresh;
        scope_set(c, link->name, v);
        c->scope = outer;
    }
    c->scope = fresh;
    const stmt_flow flow = run_body(c, s->body);
    c->scope = outer;
    return flow;
}

static stmt_flow run_statement(template_context *c, const stmt *s) {
    switch (s->kind) {
    case STMT_DATA: rope_push(c, c->out, s->data, s->n_bytes, false); break;
    case STMT_PRINT: rope_push_rope(c, c->out, value_to_text(c, expr_run(c, s->value))); break;
    case STMT_IF: return run_if(c, s);
    case STMT_FOR: return run_for(c, s);
    case STMT_SET: scope_assign(c, s->target, expr_run(c, s->value)); break;
    case STMT_SET_BLOCK: scope_assign(c, s->target, run_filters(c, s->value, capture(c, s->body))); break;
    case STMT_MACRO: define_macro(c, s); break;
    case STMT_BREAK: return FLOW_BREAK;
    case STMT_CONTINUE: return FLOW_CONTINUE;
    case STMT_FILTER: rope_push_rope(c, c->out, value_to_text(c, run_filters(c, s->value, capture(c, s->body)))); break;
    case STMT_WITH: return run_with(c, s);
    }
    return FLOW_NEXT;
}

stmt_flow stmt_run(template_context *c, const stmt *first) {
    stmt_flow flow = FLOW_NEXT;
    for (const stmt *s = first; s && flow == FLOW_NEXT; s = s->next) {
        c->line = s->line;
        template_step(c, 0);
        flow = run_statement(c, s);
    }
    return flow;
}
/* NOLINTEND(misc-no-recursion) */
