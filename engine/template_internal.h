/* What the files of the template interpreter share. A failure unwinds with longjmp to template_parse or
 * template_render: everything made on the way lives in the context's memory, so nothing is left behind, and no
 * function below has an error to pass on.
 *
 * Depth: recursion follows the nesting of the source (TEMPLATE_NESTING_MAX), of macro calls and of values, and counts
 * itself with template_enter, so that the C stack stays below about 512 frames of a few hundred bytes. */
#ifndef CONVECT_ENGINE_TEMPLATE_INTERNAL_H
#define CONVECT_ENGINE_TEMPLATE_INTERNAL_H

#include <setjmp.h>
#include <stdint.h>

#include "engine/character.h"
#include "engine/template.h"

#define TEMPLATE_DEPTH_MAX 512

typedef struct rope rope;
typedef struct scope scope;

typedef struct template_context {
    struct memory_chunk *chunks; /* newest first */
    char *free_begin, *free_end; /* rest of the newest */
    size_t n_memory_bytes;
    convect_error *err;
    convect_status status; /* after a failure */
    jmp_buf fault;
    uint32_t line; /* what is being read or run */
    /* while rendering */
    uint32_t n_steps, depth, n_calls;
    time_t now;
    rope *out;    /* where statements write */
    scope *scope; /* innermost */
} template_context;

/* Records "chat template, line N: ..." and unwinds. */
__attribute__((noreturn))
CONVECT_PRINTF(3, 4) void template_fail(template_context *c, convect_status status, const char *fmt, ...);
void *template_take(template_context *c, size_t n_bytes); /* zeroed, aligned to 16, until template_release */
void template_release(template_context *c);
void template_step(template_context *c, size_t n_bytes); /* one step, and one per KiB that it handles */
void template_enter(template_context *c);
void template_leave(template_context *c);

/* ---- text: pieces with an origin ---- */

typedef struct rope_piece {
    const char *data;
    size_t n_bytes;
    bool from_user;
} rope_piece;

/* Pieces of one rope, or of several that begin alike: who holds all n_used of them may append in place. */
typedef struct rope_block {
    size_t n_used, cap;
    rope_piece pieces[];
} rope_block;

struct rope {
    rope_block *block; /* NULL while empty */
    size_t n_pieces, n_bytes;
    const char *flat; /* the bytes in one place, once somebody asked; NULL before */
};

rope *rope_new(template_context *c);
rope *rope_of(template_context *c, const char *data, size_t n_bytes, bool from_user);           /* borrows data */
void rope_push(template_context *c, rope *r, const char *data, size_t n_bytes, bool from_user); /* borrows data */
void rope_push_copy(template_context *c, rope *r, const char *data, size_t n_bytes, bool from_user);
void rope_push_text(template_context *c, rope *r, const char *literal); /* static storage, from the template */
void rope_push_rope(template_context *c, rope *r, const rope *tail);
rope *rope_concat(template_context *c, const rope *a, const rope *b);
rope *rope_slice(template_context *c, const rope *r, size_t begin, size_t n_bytes);
const char *rope_flat(template_context *c, rope *r); /* [n_bytes], no NUL */
void rope_seal(template_context *c, rope *r);        /* from now on using r changes nothing in it */
bool rope_is(template_context *c, rope *r, const char *text);
int rope_compare(template_context *c, rope *a, rope *b); /* by bytes, which is by code points */
/* First occurrence of needle at or after begin, SIZE_MAX if none. */
size_t rope_find(template_context *c, rope *r, rope *needle, size_t begin);

size_t rope_n_characters(template_context *c, rope *r);

/* ---- values ---- */

typedef enum value_kind {
    VALUE_ABSENT, /* an argument that was not given */
    VALUE_UNDEFINED,
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_DICT,
    VALUE_NAMESPACE,
    VALUE_LOOP,
    VALUE_MACRO,
    VALUE_FUNCTION,
    VALUE_METHOD
} value_kind;

typedef struct list list;
typedef struct dict dict;
typedef struct loop loop;
typedef struct macro macro;
typedef struct method method;
struct builtin;

typedef struct value {
    value_kind kind;
    bool from_user; /* scalars: where their text will come from; lists and dicts: the brackets that print them */
    union {
        bool b;
        int64_t i;
        double f;
        rope *text;
        list *list;
        dict *dict; /* namespaces too */
        loop *loop;
        macro *macro;
        method *method;
        const struct builtin *function;
        const char *name; /* of what is undefined */
    };
} value;

typedef enum list_form {
    LIST_PLAIN,
    LIST_TUPLE,
    LIST_VIEW, /* dict.items() and its like: has a length, no index */
    LIST_LAZY  /* a generator: no length, can be walked once, is always true */
} list_form;

struct list {
    value *items;
    size_t n, cap;
    list_form form;
    bool is_spent;
};

typedef struct dict_entry {
    value key, item;
} dict_entry;

struct dict {
    dict_entry *entries; /* in the order of insertion */
    size_t n, cap;
};

struct method {
    value self;
    const char *name;
};

value value_undefined(const char *name);
value value_none(void);
value value_bool(bool b);
value value_int(int64_t i);
value value_float(double f);
value value_text(rope *text);
value value_literal(template_context *c, const char *text);
value value_list(list *l);
value value_dict(dict *d);

list *list_new(template_context *c, list_form form);
void list_push(template_context *c, list *l, value v);
dict *dict_new(template_context *c);
const value *dict_find(template_context *c, const dict *d, value key); /* NULL: not there */
const value *dict_find_text(template_context *c, const dict *d, const char *key);
void dict_set(template_context *c, dict *d, value key, value item);

value value_of_json(template_context *c, struct json_object *o); /* everything in it is from the user */
const char *value_type_name(value v);                            /* as Python says */
bool value_is_number(value v);                                   /* booleans are numbers */
double value_number(value v);
int64_t value_integer(template_context *c, value v, const char *what); /* fails for what is no integer */
bool value_truth(value v);
bool value_equal(template_context *c, value a, value b);
int value_order(template_context *c, value a, value b); /* fails for what has no order */
bool value_contains(template_context *c, value container, value item);
size_t value_length(template_context *c, value v);
list *value_iterate(template_context *c, value v); /* what a loop over v sees; fails for what is no sequence */
rope *value_to_text(template_context *c, value v); /* str(v) */
void value_push_repr(template_context *c, rope *out, value v);
size_t value_float_text(double f, char out[40]); /* repr of a float */

typedef struct json_style {
    rope *item_separator, *key_separator, *indent; /* indent: of one level, NULL for one line */
    bool ascii, sorts_keys;
} json_style;
void value_push_json(template_context *c, rope *out, value v, const json_style *style);

/* ---- the parsed template ---- */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_DATA,
    TOKEN_PRINT_BEGIN,
    TOKEN_PRINT_END,
    TOKEN_BLOCK_BEGIN,
    TOKEN_BLOCK_END,
    TOKEN_NAME,
    TOKEN_TEXT,
    TOKEN_INT,
    TOKEN_FLOAT,
    TOKEN_OPERATOR
} token_kind;

typedef struct token {
    token_kind kind;
    uint32_t line;
    const char *text; /* names and operators with a NUL */
    size_t n_bytes;
    int64_t i;
    double f;
} token;

/* All tokens of the source, the last one TOKEN_END. */
token *template_read_tokens(template_context *c, const char *source, size_t n_bytes);

typedef enum expr_kind {
    EXPR_CONSTANT,
    EXPR_NAME,
    EXPR_LIST,  /* links: items */
    EXPR_TUPLE, /* links: items */
    EXPR_DICT,  /* links: key, item */
    EXPR_IF,    /* first if links->operand[0] else links->operand[1] (or undefined) */
    EXPR_NOT,
    EXPR_NEGATE,
    EXPR_PLUS,
    EXPR_CHAIN,   /* first, then each link applied to what came before it */
    EXPR_COMPARE, /* first, links: comparisons */
    EXPR_AND,
    EXPR_OR
} expr_kind;

typedef enum link_op {
    LINK_ADD,
    LINK_SUBTRACT,
    LINK_JOIN, /* ~ */
    LINK_MULTIPLY,
    LINK_DIVIDE,
    LINK_FLOOR_DIVIDE,
    LINK_MODULO,
    LINK_POWER,
    LINK_EQUAL,
    LINK_NOT_EQUAL,
    LINK_LESS,
    LINK_LESS_EQUAL,
    LINK_GREATER,
    LINK_GREATER_EQUAL,
    LINK_IN,
    LINK_NOT_IN,
    LINK_ATTRIBUTE, /* .name */
    LINK_ITEM,      /* [operand[0]] */
    LINK_SLICE,     /* [operand[0]:operand[1]:operand[2]], each may be NULL */
    LINK_CALL,
    LINK_FILTER,
    LINK_TEST,
    LINK_TEST_NOT
} link_op;

typedef struct expr expr;
typedef struct expr_link expr_link;

struct expr_link {
    link_op op;
    uint32_t line;
    const char *name; /* attribute, filter, test, named argument, parameter */
    expr *operand[3];
    expr_link *arguments; /* operand[0], name of a named one */
    expr_link *next;
};

struct expr {
    expr_kind kind;
    uint32_t line;
    value constant;
    const char *name;
    expr *first;
    expr_link *links;
};

typedef enum stmt_kind {
    STMT_DATA,
    STMT_PRINT,
    STMT_IF,
    STMT_FOR,
    STMT_SET,
    STMT_SET_BLOCK,
    STMT_MACRO,
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_FILTER,
    STMT_WITH
} stmt_kind;

typedef struct stmt stmt;
struct stmt {
    stmt_kind kind;
    uint32_t line;
    const char *data; /* STMT_DATA; name of a macro */
    size_t n_bytes;
    expr *target;     /* of for, set, set block */
    expr *value;      /* printed, assigned, iterated; condition; chain of filters on constant "" */
    expr *condition;  /* of for */
    expr_link *links; /* parameters with defaults; assignments of with (name, operand[0]) */
    stmt *body, *other;
    bool other_is_elif; /* other is not the body of an else but the next STMT_IF */
    stmt *next;
};

typedef struct parser {
    template_context *c;
    const token *at;
    uint32_t nesting, n_loops;
} parser;

stmt *parser_read_template(parser *p);
expr *parser_read_expression(parser *p, bool with_if);
expr *parser_read_tuple(parser *p, bool with_if); /* an expression, or several with commas */
expr *parser_read_target(parser *p, bool with_namespace);
expr *parser_read_filters(parser *p, expr *first); /* | filter ... after first */
expr_link *parser_read_filter(parser *p);          /* name and arguments */
expr *parser_new_expr(parser *p, expr_kind kind);
expr_link *parser_new_link(parser *p, link_op op);
bool parser_is(const parser *p, const char *text); /* a name or an operator */
bool parser_skip(parser *p, const char *text);
void parser_expect(parser *p, const char *text);
const char *parser_read_name(parser *p);
void parser_enter(parser *p);
void parser_leave(parser *p);

/* ---- running ---- */

typedef struct variable {
    const char *name;
    value v;
    struct variable *next;
} variable;

struct scope {
    scope *parent; /* the enclosing one in the source */
    variable *variables;
};

struct macro {
    const stmt *definition;
    scope *scope; /* it was defined in */
};

typedef struct named_value {
    const char *name;
    value v;
} named_value;

typedef struct call_arguments {
    value *items;
    size_t n;
    named_value *named;
    size_t n_named;
} call_arguments;

struct loop {
    const list *items;
    size_t i;
    const call_arguments *last_change; /* of the last changed() */
};

/* A function, filter, test or method that is built in. params: names with commas, which bind puts in order into argv
 * (VALUE_ABSENT where not given); NULL: it reads `all` itself. */
#define BUILTIN_PARAMS_MAX 5
typedef struct builtin {
    const char *name;
    value (*run)(template_context *c, value self, const value *argv, const call_arguments *all);
    const char *params;
} builtin;

value builtin_call(template_context *c, const builtin *b, value self, const call_arguments *arguments);
const builtin *builtin_find(const builtin *table, size_t n, const char *name);

void scope_push(template_context *c, scope *parent);
void scope_set(template_context *c, const char *name, value v);
void scope_assign(template_context *c, const expr *target, value v);
value expr_run(template_context *c, const expr *e);
/* Applies a filter link (name, arguments) to v. */
value expr_run_filter(template_context *c, const expr_link *link, value v);
typedef enum stmt_flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE } stmt_flow;
stmt_flow stmt_run(template_context *c, const stmt *first);
value macro_call(template_context *c, const macro *m, const call_arguments *arguments);

value value_attribute(template_context *c, value v, const char *name);
value value_item(template_context *c, value v, value key);
value value_slice(template_context *c, value v, const value bounds[3]);
value value_call(template_context *c, value v, const call_arguments *arguments);
value value_operate(template_context *c, link_op op, value a, value b);
bool value_compare(template_context *c, link_op op, value a, value b);
value value_path(template_context *c, value v, rope *path); /* "a.b.0" as the attribute= of filters */

const builtin *function_find(const char *name);
bool method_exists(value self, const char *name);
value method_call(template_context *c, const method *m, const call_arguments *arguments);
value filter_run(template_context *c, const char *name, value v, const call_arguments *arguments);
bool test_run(template_context *c, const char *name, value v, const call_arguments *arguments);
extern const builtin sequence_filters[];
extern const size_t n_sequence_filters;

rope *rope_strip(template_context *c, rope *r, value chars, bool at_left, bool at_right);
rope *rope_replace(template_context *c, rope *r, rope *old, rope *fresh, int64_t n_max);
rope *rope_change_case(template_context *c, const rope *r, bool to_upper);
rope *rope_title(template_context *c, rope *r, bool words_only); /* words_only: as the filter does */
rope *rope_capitalize(template_context *c, rope *r);
list *rope_lines(template_context *c, rope *r);

#endif
