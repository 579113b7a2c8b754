/* Expressions of a template, by recursive descent with jinja2's precedence:
 *
 *   x if y else z  <  or  <  and  <  not  <  == != < <= > >= in  <  + -  <  ~  <  * / // %  <  **  <  unary, postfix
 *
 * Chains of one level (a + b - c, a.b[0] | f) are one node with links, so that their length costs no depth. */
#include <string.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): parser_enter bounds it by TEMPLATE_NESTING_MAX brackets, signs and blocks */

void parser_enter(parser *p) {
    if (p->nesting == TEMPLATE_NESTING_MAX)
        template_fail(p->c, CONVECT_NOT_SUPPORTED, "more than %d levels of nesting", TEMPLATE_NESTING_MAX);
    p->nesting++;
}

void parser_leave(parser *p) {
    p->nesting--;
}

expr *parser_new_expr(parser *p, expr_kind kind) {
    expr *e = template_take(p->c, sizeof *e);
    e->kind = kind;
    e->line = p->at->line;
    return e;
}

expr_link *parser_new_link(parser *p, link_op op) {
    expr_link *link = template_take(p->c, sizeof *link);
    link->op = op;
    link->line = p->at->line;
    return link;
}

bool parser_is(const parser *p, const char *text) {
    return (p->at->kind == TOKEN_NAME || p->at->kind == TOKEN_OPERATOR) && strcmp(p->at->text, text) == 0;
}

bool parser_skip(parser *p, const char *text) {
    if (!parser_is(p, text)) return false;
    p->at++;
    return true;
}

void parser_expect(parser *p, const char *text) {
    p->c->line = p->at->line;
    if (!parser_skip(p, text))
        template_fail(p->c, CONVECT_DAMAGED, "expected '%s' before '%.*s'", text, (int)p->at->n_bytes, p->at->text);
}

static bool is_keyword(const char *name) {
    static const char *const keywords[] = {"in", "is", "if", "else", "elif", "and", "or", "not"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(name, keywords[i]) == 0) return true;
    return false;
}

const char *parser_read_name(parser *p) {
    p->c->line = p->at->line;
    if (p->at->kind != TOKEN_NAME || is_keyword(p->at->text))
        template_fail(p->c, CONVECT_DAMAGED, "expected a name before '%.*s'", (int)p->at->n_bytes, p->at->text);
    return (p->at++)->text;
}

/* ---- operands ---- */

static value read_text(parser *p) { /* texts side by side are one */
    rope *text = rope_new(p->c);
    for (; p->at->kind == TOKEN_TEXT; p->at++) rope_push(p->c, text, p->at->text, p->at->n_bytes, false);
    rope_seal(p->c, text);
    return value_text(text);
}

static expr *read_list(parser *p, expr_kind kind, const char *end) {
    expr *e = parser_new_expr(p, kind);
    for (expr_link **tail = &e->links; !parser_skip(p, end); tail = &(*tail)->next) {
        if (tail != &e->links) {
            parser_expect(p, ",");
            if (parser_skip(p, end)) break;
        }
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->operand[0] = parser_read_expression(p, true);
        if (kind != EXPR_DICT) continue;
        parser_expect(p, ":");
        (*tail)->operand[1] = parser_read_expression(p, true);
    }
    return e;
}

static bool name_constant(const char *name, value *out) {
    if (strcmp(name, "true") == 0 || strcmp(name, "True") == 0)
        *out = value_bool(true);
    else if (strcmp(name, "false") == 0 || strcmp(name, "False") == 0)
        *out = value_bool(false);
    else if (strcmp(name, "none") == 0 || strcmp(name, "None") == 0)
        *out = value_none();
    else
        return false;
    return true;
}

static expr *read_parenthesis(parser *p) {
    expr *e;
    if (parser_is(p, ")"))
        e = parser_new_expr(p, EXPR_TUPLE);
    else
        e = parser_read_tuple(p, true);
    parser_expect(p, ")");
    return e;
}

static expr *read_primary(parser *p) {
    expr *e = parser_new_expr(p, EXPR_CONSTANT);
    p->c->line = p->at->line;
    switch (p->at->kind) {
    case TOKEN_NAME:
        e->name = parser_read_name(p);
        if (!name_constant(e->name, &e->constant)) e->kind = EXPR_NAME;
        return e;
    case TOKEN_TEXT: e->constant = read_text(p); return e;
    case TOKEN_INT: e->constant = value_int((p->at++)->i); return e;
    case TOKEN_FLOAT: e->constant = value_float((p->at++)->f); return e;
    default: break;
    }
    if (parser_skip(p, "(")) return read_parenthesis(p);
    if (parser_skip(p, "[")) return read_list(p, EXPR_LIST, "]");
    if (parser_skip(p, "{")) return read_list(p, EXPR_DICT, "}");
    template_fail(p->c, CONVECT_DAMAGED, "unexpected '%.*s'", (int)p->at->n_bytes, p->at->text);
}

/* Behind an opening parenthesis. */
static expr_link *read_arguments(parser *p) {
    expr_link *first = NULL;
    for (expr_link **tail = &first; !parser_skip(p, ")"); tail = &(*tail)->next) {
        if (tail != &first) {
            parser_expect(p, ",");
            if (parser_skip(p, ")")) break;
        }
        p->c->line = p->at->line;
        if (parser_is(p, "*") || parser_is(p, "**"))
            template_fail(p->c, CONVECT_NOT_SUPPORTED, "* and ** in arguments are not supported");
        *tail = parser_new_link(p, LINK_ITEM);
        if (p->at->kind == TOKEN_NAME && p->at[1].kind == TOKEN_OPERATOR && strcmp(p->at[1].text, "=") == 0) {
            (*tail)->name = parser_read_name(p);
            p->at++;
        }
        (*tail)->operand[0] = parser_read_expression(p, true);
    }
    return first;
}

/* Behind an opening bracket. */
static expr_link *read_subscript(parser *p) {
    expr_link *link = parser_new_link(p, LINK_ITEM);
    for (int i = 0; i < 3; i++) {
        if (!parser_is(p, ":") && !parser_is(p, "]")) link->operand[i] = parser_read_expression(p, true);
        if (!parser_skip(p, ":")) break;
        link->op = LINK_SLICE;
    }
    if (link->op == LINK_ITEM && !link->operand[0])
        template_fail(p->c, CONVECT_DAMAGED, "there is nothing between [ and ]");
    parser_expect(p, "]");
    return link;
}

/* .name, [item], (arguments); NULL if none follows. */
static expr_link *read_postfix(parser *p) {
    expr_link *link;
    if (parser_skip(p, ".")) {
        if (p->at->kind == TOKEN_INT) {
            link = parser_new_link(p, LINK_ITEM);
            link->operand[0] = read_primary(p);
            return link;
        }
        link = parser_new_link(p, LINK_ATTRIBUTE);
        p->c->line = p->at->line;
        if (p->at->kind != TOKEN_NAME)
            template_fail(p->c, CONVECT_DAMAGED, "expected a name before '%.*s'", (int)p->at->n_bytes, p->at->text);
        link->name = (p->at++)->text;
        return link;
    }
    if (parser_skip(p, "[")) return read_subscript(p);
    if (!parser_is(p, "(")) return NULL;
    link = parser_new_link(p, LINK_CALL);
    p->at++;
    link->arguments = read_arguments(p);
    return link;
}

expr_link *parser_read_filter(parser *p) {
    expr_link *link = parser_new_link(p, LINK_FILTER);
    link->name = parser_read_name(p);
    if (parser_skip(p, "(")) link->arguments = read_arguments(p);
    return link;
}

static expr *chain_of(parser *p, expr *first) {
    if (first->kind == EXPR_CHAIN) return first;
    expr *e = parser_new_expr(p, EXPR_CHAIN);
    e->line = first->line;
    e->first = first;
    return e;
}

/* The end of a list of links. */
static expr_link **end_of(expr_link **links) {
    while (*links) links = &(*links)->next;
    return links;
}

static expr *read_postfixes(parser *p, expr *e) {
    expr_link *link = read_postfix(p);
    if (!link) return e;
    e = chain_of(p, e);
    for (expr_link **tail = end_of(&e->links); link; link = read_postfix(p)) {
        *tail = link;
        tail = &link->next;
    }
    return e;
}

/* Whether an operand of a test without parentheses begins here: is divisibleby 3. */
static bool begins_operand(const parser *p) {
    if (p->at->kind == TOKEN_NAME)
        return !parser_is(p, "else") && !parser_is(p, "or") && !parser_is(p, "and") && !parser_is(p, "if") &&
               !parser_is(p, "in") && !parser_is(p, "not") && !parser_is(p, "is");
    return p->at->kind == TOKEN_TEXT || p->at->kind == TOKEN_INT || p->at->kind == TOKEN_FLOAT || parser_is(p, "[") ||
           parser_is(p, "{");
}

static expr_link *read_test(parser *p) {
    expr_link *link = parser_new_link(p, parser_skip(p, "not") ? LINK_TEST_NOT : LINK_TEST);
    p->c->line = p->at->line;
    if (p->at->kind != TOKEN_NAME)
        template_fail(p->c, CONVECT_DAMAGED, "expected a test before '%.*s'", (int)p->at->n_bytes, p->at->text);
    link->name = (p->at++)->text; /* `in` is a test too */
    if (parser_skip(p, "(")) {
        link->arguments = read_arguments(p);
    } else if (begins_operand(p)) {
        link->arguments = parser_new_link(p, LINK_ITEM);
        link->arguments->operand[0] = read_postfixes(p, read_primary(p));
    }
    return link;
}

expr *parser_read_filters(parser *p, expr *first) {
    expr *e = first;
    for (;;) {
        expr_link *link;
        if (parser_skip(p, "|"))
            link = parser_read_filter(p);
        else if (parser_skip(p, "is"))
            link = read_test(p);
        else if (e->kind == EXPR_CHAIN && parser_is(p, "("))
            link = read_postfix(p);
        else
            return e;
        e = chain_of(p, e);
        *end_of(&e->links) = link;
    }
}

/* ---- operators ---- */

static expr *read_unary(parser *p, bool with_filters) {
    expr *e;
    parser_enter(p);
    if (parser_is(p, "-") || parser_is(p, "+")) {
        e = parser_new_expr(p, parser_is(p, "-") ? EXPR_NEGATE : EXPR_PLUS);
        p->at++;
        e->first = read_unary(p, false);
    } else {
        e = read_primary(p);
    }
    e = read_postfixes(p, e);
    if (with_filters) e = parser_read_filters(p, e);
    parser_leave(p);
    return e;
}

typedef struct operator_name {
    const char *text;
    int level; /* 0 binds least */
    link_op op;
} operator_name;

#define N_LEVELS 4

static const operator_name *find_operator(const parser *p, int level) {
    static const operator_name operators[] = {
        {"+", 0, LINK_ADD},     {"-", 0, LINK_SUBTRACT},      {"~", 1, LINK_JOIN},   {"*", 2, LINK_MULTIPLY},
        {"/", 2, LINK_DIVIDE},  {"//", 2, LINK_FLOOR_DIVIDE}, {"%", 2, LINK_MODULO}, {"**", 3, LINK_POWER},
        {"==", 4, LINK_EQUAL},  {"!=", 4, LINK_NOT_EQUAL},    {"<", 4, LINK_LESS},   {"<=", 4, LINK_LESS_EQUAL},
        {">", 4, LINK_GREATER}, {">=", 4, LINK_GREATER_EQUAL}};
    if (p->at->kind != TOKEN_OPERATOR) return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].level == level && strcmp(operators[i].text, p->at->text) == 0) return &operators[i];
    return NULL;
}

static expr *read_binary(parser *p, int level) {
    expr *first = level == N_LEVELS ? read_unary(p, true) : read_binary(p, level + 1);
    const operator_name *o = level == N_LEVELS ? NULL : find_operator(p, level);
    if (!o) return first;
    expr *e = parser_new_expr(p, EXPR_CHAIN); /* of its own: first may be a chain of another level */
    e->first = first;
    for (expr_link **tail = &e->links; o; o = find_operator(p, level), tail = &(*tail)->next) {
        *tail = parser_new_link(p, o->op);
        p->at++;
        (*tail)->operand[0] = read_binary(p, level + 1);
    }
    return e;
}

static bool take_comparison(parser *p, link_op *op) {
    const operator_name *o = find_operator(p, N_LEVELS);
    if (o) {
        *op = o->op;
        p->at++;
        return true;
    }
    if (parser_is(p, "not") && p->at[1].kind == TOKEN_NAME && strcmp(p->at[1].text, "in") == 0) {
        *op = LINK_NOT_IN;
        p->at += 2;
        return true;
    }
    *op = LINK_IN;
    return parser_skip(p, "in");
}

static expr *read_comparison(parser *p) {
    expr *first = read_binary(p, 0), *e = NULL;
    expr_link **tail = NULL;
    for (link_op op; take_comparison(p, &op); tail = &(*tail)->next) {
        if (!e) {
            e = parser_new_expr(p, EXPR_COMPARE);
            e->first = first;
            tail = &e->links;
        }
        *tail = parser_new_link(p, op);
        (*tail)->operand[0] = read_binary(p, 0);
    }
    return e ? e : first;
}

static expr *read_not(parser *p) {
    if (!parser_is(p, "not")) return read_comparison(p);
    parser_enter(p);
    expr *e = parser_new_expr(p, EXPR_NOT);
    p->at++;
    e->first = read_not(p);
    parser_leave(p);
    return e;
}

static expr *read_logic(parser *p, expr_kind kind) {
    const char *word = kind == EXPR_OR ? "or" : "and";
    expr *first = kind == EXPR_OR ? read_logic(p, EXPR_AND) : read_not(p);
    if (!parser_is(p, word)) return first;
    expr *e = parser_new_expr(p, kind);
    e->first = first;
    for (expr_link **tail = &e->links; parser_skip(p, word); tail = &(*tail)->next) {
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->operand[0] = kind == EXPR_OR ? read_logic(p, EXPR_AND) : read_not(p);
    }
    return e;
}

expr *parser_read_expression(parser *p, bool with_if) {
    parser_enter(p);
    expr *e = read_logic(p, EXPR_OR), **slot = &e;
    while (with_if && parser_is(p, "if")) { /* x if a else y if b else z hangs the second from the first's else */
        expr *choice = parser_new_expr(p, EXPR_IF);
        p->at++;
        choice->first = *slot;
        choice->links = parser_new_link(p, LINK_ITEM);
        choice->links->operand[0] = read_logic(p, EXPR_OR);
        *slot = choice;
        if (!parser_skip(p, "else")) continue; /* x if a if b is (x if a) if b */
        slot = &choice->links->operand[1];
        *slot = read_logic(p, EXPR_OR);
    }
    parser_leave(p);
    return e;
}

expr *parser_read_tuple(parser *p, bool with_if) {
    expr *first = parser_read_expression(p, with_if);
    if (!parser_is(p, ",")) return first;
    expr *e = parser_new_expr(p, EXPR_TUPLE);
    e->links = parser_new_link(p, LINK_ITEM);
    e->links->operand[0] = first;
    for (expr_link **tail = &e->links->next; parser_skip(p, ","); tail = &(*tail)->next) {
        if (p->at->kind == TOKEN_BLOCK_END || p->at->kind == TOKEN_PRINT_END || parser_is(p, ")") || parser_is(p, "="))
            break;
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->operand[0] = parser_read_expression(p, with_if);
    }
    return e;
}
/* NOLINTEND(misc-no-recursion) */
