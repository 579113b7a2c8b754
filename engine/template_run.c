/* Runs a parsed template: scopes, expressions, calls. */
#include <string.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): template_enter bounds it */

/* ---- scopes ---- */

void scope_push(template_context *c, scope *parent) {
    scope *s = template_take(c, sizeof *s);
    s->parent = parent;
    c->scope = s;
}

void scope_set(template_context *c, const char *name, value v) {
    for (variable *p = c->scope->variables; p; p = p->next) {
        if (strcmp(p->name, name) != 0) continue;
        p->v = v;
        return;
    }
    variable *fresh = template_take(c, sizeof *fresh);
    *fresh = (variable){name, v, c->scope->variables};
    c->scope->variables = fresh;
}

static value scope_find(template_context *c, const char *name) {
    for (const scope *s = c->scope; s; s = s->parent)
        for (const variable *p = s->variables; p; p = p->next)
            if (strcmp(p->name, name) == 0) return p->v;
    const builtin *function = function_find(name);
    template_step(c, 0);
    return function ? (value){.kind = VALUE_FUNCTION, .function = function} : value_undefined(name);
}

static void assign_tuple(template_context *c, const expr *target, value v) {
    const list *items = value_iterate(c, v);
    size_t i = 0;
    for (const expr_link *link = target->links; link; link = link->next, i++) {
        if (i == items->n) template_fail(c, CONVECT_DAMAGED, "there are only %zu values to unpack", items->n);
        scope_assign(c, link->operand[0], items->items[i]);
    }
    if (i < items->n) template_fail(c, CONVECT_DAMAGED, "there are %zu values to unpack into %zu", items->n, i);
}

void scope_assign(template_context *c, const expr *target, value v) {
    if (target->kind == EXPR_TUPLE) {
        template_enter(c);
        assign_tuple(c, target, v);
        template_leave(c);
    } else if (target->kind == EXPR_CHAIN) {
        const value space = scope_find(c, target->name);
        const char *name = target->links->name;
        if (space.kind != VALUE_NAMESPACE) template_fail(c, CONVECT_DAMAGED, "'%s' is no namespace", target->name);
        dict_set(c, space.dict, value_literal(c, name), v);
    } else {
        scope_set(c, target->name, v);
    }
}

/* ---- expressions ---- */

static call_arguments run_arguments(template_context *c, const expr_link *first) {
    size_t n = 0;
    for (const expr_link *link = first; link; link = link->next) n++;
    call_arguments a = {.items = template_take(c, (n + 1) * sizeof *a.items),
                        .named = template_take(c, (n + 1) * sizeof *a.named)};
    for (const expr_link *link = first; link; link = link->next) {
        const value v = expr_run(c, link->operand[0]);
        if (link->name)
            a.named[a.n_named++] = (named_value){link->name, v};
        else
            a.items[a.n++] = v;
    }
    return a;
}

static value run_slice(template_context *c, const expr_link *link, value v) {
    value bounds[3];
    for (int i = 0; i < 3; i++) bounds[i] = link->operand[i] ? expr_run(c, link->operand[i]) : value_none();
    return value_slice(c, v, bounds);
}

value expr_run_filter(template_context *c, const expr_link *link, value v) {
    const call_arguments arguments = run_arguments(c, link->arguments);
    c->line = link->line;
    return filter_run(c, link->name, v, &arguments);
}

static value run_link(template_context *c, const expr_link *link, value v) {
    call_arguments arguments;
    switch (link->op) {
    case LINK_ATTRIBUTE: return value_attribute(c, v, link->name);
    case LINK_ITEM: return value_item(c, v, expr_run(c, link->operand[0]));
    case LINK_SLICE: return run_slice(c, link, v);
    case LINK_FILTER: return expr_run_filter(c, link, v);
    case LINK_CALL:
        arguments = run_arguments(c, link->arguments);
        c->line = link->line;
        return value_call(c, v, &arguments);
    case LINK_TEST:
    case LINK_TEST_NOT:
        arguments = run_arguments(c, link->arguments);
        c->line = link->line;
        return value_bool(test_run(c, link->name, v, &arguments) == (link->op == LINK_TEST));
    default: return value_operate(c, link->op, v, expr_run(c, link->operand[0]));
    }
}

static value run_comparison(template_context *c, const expr *e) {
    value a = expr_run(c, e->first);
    for (const expr_link *link = e->links; link; link = link->next) {
        const value b = expr_run(c, link->operand[0]);
        if (!value_compare(c, link->op, a, b)) return value_bool(false);
        a = b;
    }
    return value_bool(true);
}

static value run_logic(template_context *c, const expr *e) {
    value v = expr_run(c, e->first);
    for (const expr_link *link = e->links; link && value_truth(v) == (e->kind == EXPR_AND); link = link->next)
        v = expr_run(c, link->operand[0]);
    return v;
}

static value run_list(template_context *c, const expr *e) {
    list *l = list_new(c, e->kind == EXPR_TUPLE ? LIST_TUPLE : LIST_PLAIN);
    for (const expr_link *link = e->links; link; link = link->next) list_push(c, l, expr_run(c, link->operand[0]));
    return value_list(l);
}

static value run_dict(template_context *c, const expr *e) {
    dict *d = dict_new(c);
    for (const expr_link *link = e->links; link; link = link->next) {
        const value key = expr_run(c, link->operand[0]);
        dict_set(c, d, key, expr_run(c, link->operand[1]));
    }
    return value_dict(d);
}

static value run_sign(template_context *c, const expr *e) {
    const value v = expr_run(c, e->first);
    if (v.kind == VALUE_FLOAT) return value_float(e->kind == EXPR_NEGATE ? -v.f : v.f);
    return e->kind == EXPR_NEGATE ? value_operate(c, LINK_SUBTRACT, value_int(0), v)
                                  : value_operate(c, LINK_ADD, value_int(0), v);
}

static value run_choice(template_context *c, const expr *e) {
    while (e->kind == EXPR_IF) { /* a chain of them costs no depth */
        template_step(c, 0);
        const bool is_chosen = value_truth(expr_run(c, e->links->operand[0]));
        const expr *next = is_chosen ? e->first : e->links->operand[1];
        if (!next) return value_undefined("the else of an inline if");
        e = next;
    }
    return expr_run(c, e);
}

static value run_chain(template_context *c, const expr *e) {
    value v = expr_run(c, e->first);
    for (const expr_link *link = e->links; link; link = link->next) {
        c->line = link->line;
        v = run_link(c, link, v);
    }
    return v;
}

static value run_kind(template_context *c, const expr *e) {
    switch (e->kind) {
    case EXPR_CONSTANT: return e->constant;
    case EXPR_NAME: return scope_find(c, e->name);
    case EXPR_LIST:
    case EXPR_TUPLE: return run_list(c, e);
    case EXPR_DICT: return run_dict(c, e);
    case EXPR_IF: return run_choice(c, e);
    case EXPR_NOT: return value_bool(!value_truth(expr_run(c, e->first)));
    case EXPR_NEGATE:
    case EXPR_PLUS: return run_sign(c, e);
    case EXPR_CHAIN: return run_chain(c, e);
    case EXPR_COMPARE: return run_comparison(c, e);
    default: return run_logic(c, e);
    }
}

value expr_run(template_context *c, const expr *e) {
    template_enter(c);
    template_step(c, 0);
    c->line = e->line;
    const value v = run_kind(c, e);
    template_leave(c);
    return v;
}

/* ---- calls ---- */

static const named_value *find_named(const call_arguments *arguments, const char *name) {
    for (size_t i = 0; i < arguments->n_named; i++)
        if (strcmp(arguments->named[i].name, name) == 0) return &arguments->named[i];
    return NULL;
}

/* Binds arguments to the parameters of m in the scope that has just begun. */
static void bind_parameters(template_context *c, const macro *m, const call_arguments *arguments) {
    const char *name = m->definition->data;
    size_t i = 0, n_found = 0;
    for (const expr_link *p = m->definition->links; p; p = p->next, i++) {
        const named_value *named = find_named(arguments, p->name);
        if (i < arguments->n && named) template_fail(c, CONVECT_DAMAGED, "the macro %s gets '%s' twice", name, p->name);
        n_found += named != NULL;
        const bool is_given = i < arguments->n || named;
        value v = i < arguments->n ? arguments->items[i] : named ? named->v : value_undefined(p->name);
        if (!is_given && p->operand[0]) v = expr_run(c, p->operand[0]);
        scope_set(c, p->name, v);
    }
    if (arguments->n > i || arguments->n_named > n_found)
        template_fail(c, CONVECT_DAMAGED, "the macro %s gets arguments that it does not take", name);
}

value macro_call(template_context *c, const macro *m, const call_arguments *arguments) {
    scope *const caller = c->scope;
    rope *const out = c->out;
    if (c->n_calls == TEMPLATE_NESTING_MAX)
        template_fail(c, CONVECT_NOT_SUPPORTED, "more than %d macros in each other", TEMPLATE_NESTING_MAX);
    c->n_calls++;
    template_enter(c);
    scope_push(c, m->scope);
    bind_parameters(c, m, arguments);
    c->out = rope_new(c);
    (void)stmt_run(c, m->definition->body);
    const value v = value_text(c->out);
    template_leave(c);
    c->n_calls--;
    c->out = out;
    c->scope = caller;
    return v;
}

value value_call(template_context *c, value v, const call_arguments *arguments) {
    switch (v.kind) {
    case VALUE_MACRO: return macro_call(c, v.macro, arguments);
    case VALUE_FUNCTION: return builtin_call(c, v.function, value_none(), arguments);
    case VALUE_METHOD: return method_call(c, v.method, arguments);
    case VALUE_UNDEFINED: template_fail(c, CONVECT_DAMAGED, "'%s' is undefined", v.name ? v.name : "a value");
    case VALUE_LOOP: template_fail(c, CONVECT_NOT_SUPPORTED, "recursive loops are not supported");
    default: template_fail(c, CONVECT_DAMAGED, "a %s cannot be called", value_type_name(v));
    }
}
/* NOLINTEND(misc-no-recursion) */

/* ---- built-ins ---- */

const builtin *builtin_find(const builtin *table, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0) return &table[i];
    return NULL;
}

/* Index of name in "a,b,c", -1 if it is not there. */
static int find_parameter(const char *params, const char *name) {
    const size_t n = strlen(name);
    for (int i = 0; *params; i++) {
        const size_t n_param = strcspn(params, ",");
        if (n_param == n && memcmp(params, name, n) == 0) return i;
        params += n_param + (params[n_param] == ',');
    }
    return -1;
}

static size_t count_parameters(const char *params) {
    size_t n = *params != 0;
    for (; *params; params++) n += *params == ',';
    return n;
}

value builtin_call(template_context *c, const builtin *b, value self, const call_arguments *arguments) {
    value argv[BUILTIN_PARAMS_MAX] = {0};
    template_step(c, 0);
    if (!b->params) return b->run(c, self, argv, arguments);
    if (arguments->n > count_parameters(b->params))
        template_fail(c, CONVECT_DAMAGED, "%s takes no %zu arguments", b->name, arguments->n);
    for (size_t i = 0; i < arguments->n; i++) argv[i] = arguments->items[i];
    for (size_t i = 0; i < arguments->n_named; i++) {
        const int at = find_parameter(b->params, arguments->named[i].name);
        if (at < 0 || argv[at].kind != VALUE_ABSENT)
            template_fail(c, CONVECT_DAMAGED, "%s takes no argument '%s'", b->name, arguments->named[i].name);
        argv[at] = arguments->named[i].v;
    }
    return b->run(c, self, argv, arguments);
}
