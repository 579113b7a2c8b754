/* Statements of a template. */
#include <string.h>

#include "engine/template_internal.h"

/* NOLINTBEGIN(misc-no-recursion): parser_enter bounds it by TEMPLATE_NESTING_MAX blocks */

static stmt *read_body(parser *p, const char *const *ends);

static stmt *new_stmt(parser *p, stmt_kind kind) {
    stmt *s = template_take(p->c, sizeof *s);
    s->kind = kind;
    s->line = p->at->line;
    return s;
}

static void end_block(parser *p) {
    p->c->line = p->at->line;
    if (p->at->kind != TOKEN_BLOCK_END)
        template_fail(p->c, CONVECT_DAMAGED, "expected the end of the tag before '%.*s'", (int)p->at->n_bytes,
                      p->at->text);
    p->at++;
}

/* The word of a tag; `if` is one, so no word is refused here. */
static const char *read_word(parser *p) {
    if (p->at->kind != TOKEN_NAME)
        template_fail(p->c, CONVECT_DAMAGED, "expected the name of a tag before '%.*s'", (int)p->at->n_bytes,
                      p->at->text);
    return (p->at++)->text;
}

/* The body of a block up to one of the tags in ends (NULL at the end of the list), of which the word is next. */
static stmt *read_block(parser *p, const char *const *ends) {
    end_block(p);
    parser_enter(p);
    stmt *body = read_body(p, ends);
    parser_leave(p);
    return body;
}

static stmt *read_simple_block(parser *p, const char *end) {
    const char *const ends[] = {end, NULL};
    stmt *body = read_block(p, ends);
    p->at++;
    return body;
}

static stmt *read_if(parser *p) {
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    stmt *first = new_stmt(p, STMT_IF), *s = first;
    s->value = parser_read_tuple(p, false);
    s->body = read_block(p, ends);
    while (parser_is(p, "elif")) {
        s->other_is_elif = true;
        s = s->other = new_stmt(p, STMT_IF);
        p->at++;
        s->value = parser_read_tuple(p, false);
        s->body = read_block(p, ends);
    }
    if (parser_skip(p, "else")) s->other = read_block(p, last);
    parser_expect(p, "endif");
    return first;
}

expr *parser_read_target(parser *p, bool with_namespace) {
    expr *first = NULL, *tuple = NULL;
    for (expr_link **tail = NULL;; tail = &(*tail)->next) {
        const bool has_parenthesis = parser_skip(p, "(");
        parser_enter(p);
        expr *e;
        if (has_parenthesis) {
            e = parser_read_target(p, with_namespace);
            parser_expect(p, ")");
        } else {
            e = parser_new_expr(p, EXPR_NAME);
            e->name = parser_read_name(p);
            if (with_namespace && parser_skip(p, ".")) {
                e->kind = EXPR_CHAIN;
                e->links = parser_new_link(p, LINK_ATTRIBUTE);
                e->links->name = parser_read_name(p);
            }
        }
        parser_leave(p);
        if (!first) {
            first = e;
            if (!parser_skip(p, ",")) return first;
            tuple = parser_new_expr(p, EXPR_TUPLE);
            tail = &tuple->links;
        }
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->operand[0] = e;
        if (e != first && !parser_skip(p, ",")) return tuple;
        if (parser_is(p, "in") || parser_is(p, "=") || parser_is(p, ")") || p->at->kind == TOKEN_BLOCK_END)
            return tuple;
    }
}

static stmt *read_for(parser *p) {
    static const char *const ends[] = {"else", "endfor", NULL}, *const last[] = {"endfor", NULL};
    stmt *s = new_stmt(p, STMT_FOR);
    s->target = parser_read_target(p, false);
    parser_expect(p, "in");
    s->value = parser_read_tuple(p, false);
    if (parser_skip(p, "if")) s->condition = parser_read_expression(p, true);
    if (parser_is(p, "recursive")) template_fail(p->c, CONVECT_NOT_SUPPORTED, "recursive loops are not supported");
    p->n_loops++;
    s->body = read_block(p, ends);
    p->n_loops--;
    if (parser_skip(p, "else")) s->other = read_block(p, last);
    parser_expect(p, "endfor");
    return s;
}

static stmt *read_set(parser *p) {
    stmt *s = new_stmt(p, STMT_SET);
    s->target = parser_read_target(p, true);
    if (parser_skip(p, "=")) {
        s->value = parser_read_tuple(p, true);
        return s;
    }
    s->kind = STMT_SET_BLOCK;
    if (parser_is(p, "|")) s->value = parser_read_filters(p, parser_new_expr(p, EXPR_CONSTANT));
    s->body = read_simple_block(p, "endset");
    return s;
}

/* A macro's body is no part of the loop around it. */
static stmt *read_macro(parser *p) {
    stmt *s = new_stmt(p, STMT_MACRO);
    const uint32_t n_loops = p->n_loops;
    s->data = parser_read_name(p);
    parser_expect(p, "(");
    bool has_default = false;
    for (expr_link **tail = &s->links; !parser_skip(p, ")"); tail = &(*tail)->next) {
        if (tail != &s->links) {
            parser_expect(p, ",");
            if (parser_skip(p, ")")) break;
        }
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->name = parser_read_name(p);
        if (parser_skip(p, "=")) {
            has_default = true;
            (*tail)->operand[0] = parser_read_expression(p, true);
        } else if (has_default) {
            template_fail(p->c, CONVECT_DAMAGED, "a parameter without a default follows one with");
        }
    }
    p->n_loops = 0;
    s->body = read_simple_block(p, "endmacro");
    p->n_loops = n_loops;
    return s;
}

static stmt *read_with(parser *p) {
    stmt *s = new_stmt(p, STMT_WITH);
    for (expr_link **tail = &s->links; p->at->kind != TOKEN_BLOCK_END; tail = &(*tail)->next) {
        if (tail != &s->links) parser_expect(p, ",");
        *tail = parser_new_link(p, LINK_ITEM);
        (*tail)->name = parser_read_name(p);
        parser_expect(p, "=");
        (*tail)->operand[0] = parser_read_expression(p, true);
    }
    s->body = read_simple_block(p, "endwith");
    return s;
}

static stmt *read_jump(parser *p, stmt_kind kind) {
    if (p->n_loops == 0) template_fail(p->c, CONVECT_DAMAGED, "break and continue belong into a loop");
    return new_stmt(p, kind);
}

/* Behind the word of a statement. */
static stmt *read_statement(parser *p, const char *word) {
    if (strcmp(word, "if") == 0) return read_if(p);
    if (strcmp(word, "for") == 0) return read_for(p);
    if (strcmp(word, "set") == 0) return read_set(p);
    if (strcmp(word, "macro") == 0) return read_macro(p);
    if (strcmp(word, "with") == 0) return read_with(p);
    if (strcmp(word, "break") == 0) return read_jump(p, STMT_BREAK);
    if (strcmp(word, "continue") == 0) return read_jump(p, STMT_CONTINUE);
    if (strcmp(word, "filter") == 0) {
        stmt *s = new_stmt(p, STMT_FILTER);
        s->value = parser_new_expr(p, EXPR_CHAIN);
        s->value->first = parser_new_expr(p, EXPR_CONSTANT);
        s->value->links = parser_read_filter(p);
        s->value = parser_read_filters(p, s->value);
        s->body = read_simple_block(p, "endfilter");
        return s;
    }
    if (strcmp(word, "generation") == 0) { /* marks the answer for training; a scope of its own */
        stmt *s = new_stmt(p, STMT_WITH);
        s->body = read_simple_block(p, "endgeneration");
        return s;
    }
    static const char *const known[] = {"call", "block", "extends", "include", "import", "from", "autoescape", "do"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i]) == 0)
            template_fail(p->c, CONVECT_NOT_SUPPORTED, "{%% %s %%} is not supported", word);
    template_fail(p->c, CONVECT_DAMAGED, "unknown or misplaced tag '%s'", word);
}

static stmt *read_print(parser *p) {
    stmt *s = new_stmt(p, STMT_PRINT);
    s->value = parser_read_tuple(p, true);
    p->c->line = p->at->line;
    if (p->at->kind != TOKEN_PRINT_END)
        template_fail(p->c, CONVECT_DAMAGED, "expected '}}' before '%.*s'", (int)p->at->n_bytes, p->at->text);
    p->at++;
    return s;
}

static bool is_end(const parser *p, const char *const *ends) {
    if (p->at->kind != TOKEN_BLOCK_BEGIN || p->at[1].kind != TOKEN_NAME) return false;
    for (; *ends; ends++)
        if (strcmp(p->at[1].text, *ends) == 0) return true;
    return false;
}

static stmt *read_data(parser *p) {
    stmt *s = new_stmt(p, STMT_DATA);
    s->data = p->at->text;
    s->n_bytes = p->at->n_bytes;
    p->at++;
    return s;
}

static stmt *read_body(parser *p, const char *const *ends) {
    stmt *first = NULL;
    for (stmt **tail = &first; !is_end(p, ends); tail = &(*tail)->next) {
        p->c->line = p->at->line;
        const token_kind kind = p->at->kind;
        if (kind == TOKEN_END) {
            if (!*ends) return first;
            template_fail(p->c, CONVECT_DAMAGED, "the template ends where '%s' should be", *ends);
        }
        if (kind == TOKEN_DATA) {
            *tail = read_data(p);
            continue;
        }
        p->at++;
        if (kind == TOKEN_PRINT_BEGIN) {
            *tail = read_print(p);
            continue;
        }
        *tail = read_statement(p, read_word(p));
        end_block(p);
    }
    p->at++; /* the begin of the tag: its word is next */
    return first;
}

stmt *parser_read_template(parser *p) {
    static const char *const none[] = {NULL};
    return read_body(p, none);
}
/* NOLINTEND(misc-no-recursion) */
