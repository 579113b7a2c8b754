/* The template renderer: golden prompts of the Qwen templates, jinja2's answers for pieces of the language, origins of
 * bytes, sentences with lines, bounds. tests/oracle/test_template.py compares more, where jinja2 is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "engine/base/json.h"
#include "engine/template.h"

/* ---- helpers ---- */

static struct json_object *json(const char *text) {
    struct json_object *o = NULL;
    char *copy = strdup(text);
    assert_non_null(copy);
    assert_int_equal(json_text_read(copy, strlen(copy), &o, NULL), CONVECT_OK);
    free(copy);
    return o;
}

static convect_status render(const char *source, const char *variables, template_result *out, convect_error *err) {
    struct json_object *o = json(variables);
    chat_template *t = NULL;
    *out = (template_result){0};
    convect_status status = template_parse(source, strlen(source), &t, err);
    if (status == CONVECT_OK) status = template_render(t, o, 0, out, err);
    template_destroy(t);
    json_object_put(o);
    return status;
}

static void check(const char *source, const char *variables, const char *want) {
    template_result r;
    convect_error err = {0};
    const convect_status status = render(source, variables, &r, &err);
    if (status != CONVECT_OK) fail_msg("%s: %s", source, err.text);
    assert_string_equal(r.text, want);
    template_result_free(&r);
}

static void check_fails(const char *source, const char *variables, convect_status want, const char *sentence) {
    template_result r;
    convect_error err = {0};
    assert_int_equal(render(source, variables, &r, &err), want);
    if (!strstr(err.text, sentence)) fail_msg("'%s' lacks '%s'", err.text, sentence);
    assert_null(r.text);
}

/* NULL where the file is not there. */
static char *read_file(const char *path) {
    FILE *f = fopen(path, "re");
    if (!f) return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* ---- golden prompts ---- */

/* FNV-1a 64. */
static unsigned long long hash_of(const char *text, size_t n_bytes) {
    unsigned long long h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_bytes; i++) h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h;
}

#define TOOL                                                                                                           \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Weather <now> & "      \
    "\\\"here\\\"\",\"parameters\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},"              \
    "\"required\":[\"city\"]}}}],"

typedef struct golden {
    const char *name, *variables;
    size_t n_bytes[2]; /* Qwen3.5, Qwen3; 0: no such case */
    unsigned long long hash[2];
} golden;

static const golden goldens[] = {
    {"A",
     "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"add_generation_prompt\":true}",
     {60, 52},
     {0x3e025e111ac18a17, 0x9a24d27ad2b228f3}},
    {"B",
     "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"enable_thinking\":false,\"add_generation_prompt\":true}",
     {71, 71},
     {0xcbd9b0c39d1c6c34, 0xcbd9b0c39d1c6c34}},
    {"C",
     "{\"messages\":[{\"role\":\"system\",\"content\":\"  Be brief. \\n\"},{\"role\":\"user\",\"content\":\"\\n Hi "
     "\\n\"}],\"add_generation_prompt\":true}",
     {99, 99},
     {0x5210e2c358afb1fa, 0x268a7796a338a7ec}},
    {"D",
     "{" TOOL "\"messages\":[{\"role\":\"user\",\"content\":\"Weather in Paris?\"}],\"add_generation_prompt\":true}",
     {1193, 669},
     {0x41ff028f33ccaf7c, 0x1bbacad157f96da6}},
    {"E",
     "{" TOOL "\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Weather "
     "in Paris?\"}],\"add_generation_prompt\":true}",
     {1204, 680},
     {0xfa5415ac7d541ea5, 0xf8a2baed885a4c5d}},
    {"F",
     "{" TOOL "\"messages\":[{\"role\":\"user\",\"content\":\"Weather in "
     "Paris?\"},{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":\"need "
     "tool\",\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":{"
     "\"city\":\"Paris\"}}},{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":{"
     "\"city\":\"Lyon\",\"n\":3,\"f\":true,\"o\":{\"a\":[1,\"x\"]}}}}]},{\"role\":\"tool\",\"content\":\"{"
     "\\\"t\\\": 20}\"},{\"role\":\"tool\",\"content\":\"{\\\"t\\\": 22}\"}],\"add_generation_prompt\":true}",
     {1661, 1044},
     {0x7ea5a737b274cfcf, 0xe9dcf30be9b69c01}},
    {"G",
     "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"<think>\\nabc\\n</"
     "think>\\n\\nHello\"},{\"role\":\"user\",\"content\":\"Bye\"}],\"add_generation_prompt\":true}",
     {129, 121},
     {0xf9a7e9c576b1e80a, 0xea692f7f044d0d96}},
    {"H",
     "{" TOOL "\"messages\":[{\"role\":\"user\",\"content\":\"W?\"},{\"role\":\"assistant\",\"content\":\"Let me "
     "look.\",\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"arguments\":{"
     "\"city\":\"Paris\"}}}]},{\"role\":\"tool\",\"content\":\"ok\"},{\"role\":\"user\",\"content\":"
     "\"thanks\"}],\"add_generation_prompt\":true}",
     {1417, 877},
     {0x198da9e3173e62d4, 0x7d58c9b4173ff5df}},
    {"I",
     "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"What?\"}]}],"
     "\"add_generation_prompt\":true}",
     {106, 0},
     {0xc19dcc0bbf2046d9, 0}},
    {"J",
     "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\"},{\"type\":\"video\"},{\"type\":\"text\","
     "\"text\":\"What?\"}]}],\"add_vision_id\":true,\"add_generation_prompt\":true}",
     {169, 0},
     {0xdee0862423a7e91c, 0}},
};

static void check_golden(const char *source, size_t which) {
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        template_result r;
        convect_error err = {0};
        if (goldens[i].n_bytes[which] == 0) continue;
        if (render(source, goldens[i].variables, &r, &err) != CONVECT_OK) fail_msg("%s: %s", goldens[i].name, err.text);
        if (r.n_bytes != goldens[i].n_bytes[which] || hash_of(r.text, r.n_bytes) != goldens[i].hash[which])
            fail_msg("case %s of template %zu: %zu bytes\n%s", goldens[i].name, which, r.n_bytes, r.text);
        template_result_free(&r);
    }
}

static void golden_qwen3(void **state) {
    (void)state;
    char *source = read_file(TEST_DATA "/template/qwen3-chat-template.jinja");
    assert_non_null(source);
    check_golden(source, 1);
    free(source);
}

/* The template's licence notice is not ours to carry, so it is read from beside the tree. */
static void golden_qwen35(void **state) {
    (void)state;
    char *source = read_file(TEST_SOURCE "/../shared/data/qwen3.5-chat-template.jinja");
    if (!source) skip();
    check_golden(source, 0);
    free(source);
}

/* ---- language ---- */

static void language(void **state) {
    (void)state;
    FILE *f = fopen(TEST_DATA "/template/language.jsonl", "re");
    char *line = NULL;
    size_t cap = 0, n_cases = 0;
    ssize_t n;
    struct json_object *variables = NULL;
    assert_non_null(f);
    while ((n = getline(&line, &cap, f)) > 0) {
        struct json_object *o = NULL, *text;
        assert_int_equal(json_text_read(line, (size_t)n, &o, NULL), CONVECT_OK);
        if (!variables) { /* the first line */
            variables = o;
            continue;
        }
        const char *source = json_object_get_string(json_object_object_get(o, "template"));
        assert_true(json_object_object_get_ex(o, "text", &text));
        const char *shared = json_object_to_json_string(json_object_object_get(variables, "variables"));
        if (text)
            check(source, shared, json_object_get_string(text));
        else {
            template_result r;
            if (render(source, shared, &r, NULL) == CONVECT_OK) fail_msg("jinja2 refuses %s", source);
        }
        json_object_put(o);
        n_cases++;
    }
    assert_true(n_cases > 190);
    json_object_put(variables);
    free(line);
    assert_int_equal(fclose(f), 0);
}

static void date(void **state) {
    (void)state;
    chat_template *t = NULL;
    template_result r;
    struct json_object *o = json("{}");
    const char *source = "{{ strftime_now('%Y %%') }}";
    assert_int_equal(template_parse(source, strlen(source), &t, NULL), CONVECT_OK);
    assert_int_equal(template_render(t, o, 15000000, &r, NULL), CONVECT_OK); /* June 1970, everywhere */
    assert_string_equal(r.text, "1970 %");
    template_result_free(&r);
    template_destroy(t);
    json_object_put(o);
}

/* ---- origins ---- */

/* Text with what came from the variables in braces. */
static void check_origins(const char *source, const char *variables, const char *want) {
    template_result r;
    convect_error err = {0};
    char shown[1024];
    size_t n = 0, end = 0;
    if (render(source, variables, &r, &err) != CONVECT_OK) fail_msg("%s", err.text);
    for (size_t i = 0; i < r.n_spans; i++) {
        const template_span *s = &r.spans[i];
        assert_int_equal(s->offset, end);
        assert_true(i == 0 || s[-1].from_user != s->from_user);
        n += (size_t)snprintf(shown + n, sizeof shown - n, s->from_user ? "{%.*s}" : "%.*s", (int)s->n_bytes,
                              r.text + s->offset);
        end += s->n_bytes;
    }
    assert_int_equal(end, r.n_bytes);
    if (r.n_spans == 0) shown[0] = 0;
    assert_string_equal(shown, want);
    template_result_free(&r);
}

static void origins(void **state) {
    (void)state;
    const char *const variables =
        "{\"u\":\" Ab<|im_end|> \",\"n\":5,\"f\":0.5,\"b\":true,\"l\":[\"x\",1],\"d\":{\"k\\n\":\"v\"}}";
    check_origins("a{{ u }}b", variables, "a{ Ab<|im_end|> }b");
    check_origins("{{ '<' + u|trim + '>' }}", variables, "<{Ab<|im_end|>}>");
    check_origins("{{ u|upper|replace('IM', 'x') }}", variables, "{ AB<|}x{_END|> }");
    check_origins("{{ ('[' ~ u ~ ']')[1:4] }}{{ ('[' ~ u.strip() ~ ']')[::-1] }}", variables, "{ Ab}]{>|dne_mi|<bA}[");
    check_origins("{{ u.split('b')[1] }}{{ u.split()|join('-') }}", variables, "{<|im_end|> Ab<|im_end|>}");
    check_origins("{{ n }}{{ n + 1 }}{{ 1 }}{{ f }}{{ b }}{{ n ~ 'x' }}", variables, "{56}1{0.5True5}x");
    check_origins("{{ l }}|{{ [u] }}|{{ [1, n] }}", variables, "{['x', 1]}|[{' Ab<|im_end|> '}]|[1, {5}]");
    check_origins("{{ d|tojson }}|{{ {'q': u}|tojson }}", variables,
                  "{{\"k\\n\": \"v\"}}|{\"q\": {\" Ab<|im_end|> \"}}");
    check_origins("{{ d|tojson(indent=1) }}", variables, "{{\n \"k\\n\": \"v\"\n}}");
    check_origins("{% set x %}<{{ u }}>{% endset %}{{ x|title }}", variables, "<{ Ab<|im_end|> }>");
    check_origins("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(l[0]) }}{{ m('t') }}", variables, "<{x}><t>");
    check_origins("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}", variables, "{k\n}={v}");
    check_origins("{% for c in u %}{{ c }}-{% endfor %}", "{\"u\":\"ab\"}", "{a}-{b}-");
    check_origins("{{ 'a\nb'|indent }}{{ u|indent }}", "{\"u\":\"a\\nb\"}", "a\n    b{a}\n    {b}");
    check_origins("{{ '' }}", "{}", "");
}

/* ---- failures ---- */

static void sentences(void **state) {
    (void)state;
    check_fails("a\n{{ 1 +\n }}", "{}", CONVECT_DAMAGED, "chat template, line 3: unexpected '}}'");
    check_fails("{% if a %}\n\n{{ 'x", "{}", CONVECT_DAMAGED, "line 3: a text has no end");
    check_fails("\n{% if a %}", "{}", CONVECT_DAMAGED, "line 2: the template ends where 'elif' should be");
    check_fails("\n\n{% bogus %}", "{}", CONVECT_DAMAGED, "line 3: unknown or misplaced tag 'bogus'");
    check_fails("{% include 'x' %}", "{}", CONVECT_NOT_SUPPORTED, "{% include %} is not supported");
    check_fails("{% for x in y recursive %}{% endfor %}", "{}", CONVECT_NOT_SUPPORTED, "recursive");
    check_fails("{{ f(*x) }}", "{}", CONVECT_NOT_SUPPORTED, "* and **");
    check_fails("{{ '%d' % 3 }}", "{}", CONVECT_NOT_SUPPORTED, "%");
    check_fails("\n{{ messages[0].x.y }}", "{\"messages\":[{}]}", CONVECT_DAMAGED, "line 2: 'x' is undefined");
    check_fails("{% if x %}\n{{ raise_exception('No user query.') }}{% endif %}", "{\"x\":1}", CONVECT_USAGE,
                "chat template, line 2: No user query.");
    check_fails("{{ x|nonsense }}", "{}", CONVECT_NOT_SUPPORTED, "the filter 'nonsense' is not known");
    check_fails("{{ 9223372036854775807 + 1 }}", "{}", CONVECT_NOT_SUPPORTED, "64 bits");
    check_fails("{{ x }}", "{\"x\":18446744073709551615}", CONVECT_NOT_SUPPORTED, "2^63");
    check_fails("{{ 'abc'.format(1) }}", "{}", CONVECT_NOT_SUPPORTED, "method format of a str");
    template_result r;
    convect_error err = {0};
    chat_template *t = NULL;
    assert_int_equal(template_parse("x", 1, &t, &err), CONVECT_OK);
    assert_int_equal(template_render(t, NULL, 0, &r, &err), CONVECT_USAGE);
    template_destroy(t);
}

static char *repeat(const char *begin, const char *middle, const char *end, size_t n) {
    char *text = calloc(1, n * (strlen(begin) + strlen(end)) + strlen(middle) + 1), *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < n; i++) at = stpcpy(at, begin);
    at = stpcpy(at, middle);
    for (size_t i = 0; i < n; i++) at = stpcpy(at, end);
    return text;
}

static void check_nesting(const char *begin, const char *middle, const char *end) {
    char *deep = repeat(begin, middle, end, 5000), *flat = repeat(begin, middle, end, 12);
    template_result r;
    check_fails(deep, "{\"x\":[1]}", CONVECT_NOT_SUPPORTED, "nesting");
    assert_int_equal(render(flat, "{\"x\":[1]}", &r, NULL), CONVECT_OK);
    template_result_free(&r);
    free(deep);
    free(flat);
}

static void bounds(void **state) {
    (void)state;
    check_nesting("{% if x %}", "", "{% endif %}");
    check_nesting("{% for y in x %}", "", "{% endfor %}");
    char *brackets = repeat("[", "1", "]", 5000), *source = calloc(1, 100100);
    assert_non_null(source);
    (void)snprintf(source, 100100, "{{ %s }}", brackets);
    check_fails(source, "{}", CONVECT_NOT_SUPPORTED, "nesting");
    char *signs = repeat("-", "1", "", 5000), *nots = repeat("not ", "1", "", 5000);
    (void)snprintf(source, 100100, "{{ %s }}", signs);
    check_fails(source, "{}", CONVECT_NOT_SUPPORTED, "nesting");
    (void)snprintf(source, 100100, "{{ %s }}", nots);
    check_fails(source, "{}", CONVECT_NOT_SUPPORTED, "nesting");
    free(brackets);
    free(signs);
    free(nots);
    /* long but flat is fine */
    char *sum = repeat("1+", "1", "", 20000);
    (void)snprintf(source, 100100, "{{ %s }}", sum);
    check(source, "{}", "20001");
    free(sum);
    char *choices = repeat("1 == 2 or ", "1", "", 2000);
    (void)snprintf(source, 100100, "{%% for i in range(999) %%}{%% if %s %%}{%% endif %%}{%% endfor %%}", choices);
    check_fails(source, "{}", CONVECT_NOT_SUPPORTED, "steps");
    free(choices);
    free(source);
    check_fails("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}", "{}",
                CONVECT_NOT_SUPPORTED, "it ");
    check_fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{}", CONVECT_NOT_SUPPORTED, "macros in each other");
    check_fails("{{ ('abcdefgh' * 9999)|upper * 9999 }}", "{}", CONVECT_NOT_SUPPORTED, "MiB");
    check_fails("{{ 'abcdefgh' * 99999999 }}", "{}", CONVECT_NOT_SUPPORTED, "it runs");
    check_fails("{% set n = namespace(x='ab') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "{}",
                CONVECT_NOT_SUPPORTED, "MiB");
    check_fails("{% set n = namespace(x=[1]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}", "{}",
                CONVECT_NOT_SUPPORTED, "MiB");
    check_fails("{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
                "{}", CONVECT_NOT_SUPPORTED, "nested");
    check_fails("{% set n = namespace(x='') %}{% for i in range(99999) %}{% set n.x = n.x ~ 'a' %}"
                "{% if 'b' in n.x %}{% endif %}{% endfor %}",
                "{}", CONVECT_NOT_SUPPORTED, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_qwen3), cmocka_unit_test(golden_qwen35), cmocka_unit_test(language),
        cmocka_unit_test(date),         cmocka_unit_test(origins),       cmocka_unit_test(sentences),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
