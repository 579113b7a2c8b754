#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/option.h"

enum { VERBOSE, COUNT, RATE, SHARE, CACHE, NOTE, OUT, KIND, OTHER_KIND, ROW_COUNT };

static const option_row rows[ROW_COUNT] = {
    [VERBOSE] = {"verbose", 'v', OPTION_FLAG, NULL, NULL, NULL, 3, "say more"},
    [COUNT] = {"count", 'n', OPTION_U64, "N", "64", "64..1024 step 64", 3, "how many"},
    [RATE] = {"rate", 0, OPTION_F64, "R", "0.5", ">0..1", 1, "how fast"},
    [SHARE] = {"share", 0, OPTION_F64, "S", NULL, "0..<1", 1, "how much"},
    [CACHE] = {"cache-size", 0, OPTION_SIZE, "SIZE", NULL, "1KiB..16TiB", 1, "how large"},
    [NOTE] = {"note", 0, OPTION_STRING, "TEXT", "", NULL, 1, "what to write"},
    [OUT] = {"out", 'o', OPTION_PATH, "FILE", NULL, NULL, 1, "where to write"},
    [KIND] = {"kind", 0, OPTION_CHOICE, "KIND", "f16", "f16|int8", 1, "which kind"},
    [OTHER_KIND] = {"kind", 0, OPTION_CHOICE, "KIND", "b", "a|b|c", 2, "which kind, in the other command"},
};
static const option_command commands[] = {{"first", 1, "[WORD]...", 0, 3, "does one thing"},
                                          {"second", 2, "FILE", 1, 1, "does the other"}};
static const option_table table = {.program = "prog",
                                   .env_prefix = "PROGTEST_",
                                   .about = "Tests.",
                                   .rows = rows,
                                   .n_rows = ROW_COUNT,
                                   .commands = commands,
                                   .n_commands = 2};

typedef struct parsed {
    option_values v;
    convect_error err;
    convect_status status;
    int n_args;
    char *argv[16];
    char words[256];
} parsed;

/* Parses blank-separated words for a command. */
static parsed *parse(parsed *p, int i_command, const char *line) {
    memset(p, 0, sizeof *p);
    int argc = 0;
    strncpy(p->words, line, sizeof p->words - 1);
    char *save = NULL;
    for (char *w = strtok_r(p->words, " ", &save); w; w = strtok_r(NULL, " ", &save)) p->argv[argc++] = w;
    p->status = option_parse(&table, &commands[i_command], argc, p->argv, &p->v, &p->n_args, &p->err);
    return p;
}

static void expect_usage(const char *line, const char *part) {
    parsed p;
    (void)parse(&p, 0, line);
    if (p.status != CONVECT_USAGE || !strstr(p.err.text, part))
        fail_msg("%s: status %d, \"%s\" lacks \"%s\"", line, (int)p.status, p.err.text, part);
}

static void table_is_well_formed(void **state) {
    (void)state;
    const char *fault = option_table_fault(&table);
    if (fault) fail_msg("%s", fault);
}

static void table_faults_are_found(void **state) {
    (void)state;
    static const option_row bad[] = {
        {"", 0, OPTION_FLAG, NULL, NULL, NULL, 1, "x"},     {"a", 'h', OPTION_FLAG, NULL, NULL, NULL, 1, "x"},
        {"help", 0, OPTION_FLAG, NULL, NULL, NULL, 1, "x"}, {"a", 0, OPTION_U64, NULL, "1", "0..2", 1, "x"},
        {"a", 0, OPTION_U64, "N", "3", "0..2", 1, "x"},     {"a", 0, OPTION_U64, "N", "1", "0-2", 1, "x"},
        {"a", 0, OPTION_CHOICE, "N", "c", "a|b", 1, "x"},   {"a", 0, OPTION_CHOICE, "N", NULL, NULL, 1, "x"},
        {"a", 0, OPTION_FLAG, NULL, NULL, NULL, 0, "x"},    {"a", 0, OPTION_FLAG, NULL, NULL, NULL, 1, ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        option_table t = table;
        t.rows = &bad[i];
        t.n_rows = 1;
        if (!option_table_fault(&t)) fail_msg("row %zu passes", i);
    }
    option_row twice[] = {rows[COUNT], rows[COUNT]};
    option_table t = {.env_prefix = "X_", .rows = twice, .n_rows = 2};
    assert_non_null(option_table_fault(&t));
    twice[1].name = "other"; /* the letter is still the same */
    assert_non_null(option_table_fault(&t));
    twice[1].commands = 4;
    assert_null(option_table_fault(&t));
    option_command pair[] = {commands[0], commands[0]};
    t.commands = pair;
    t.n_commands = 2;
    assert_non_null(option_table_fault(&t));
    pair[1].bit = 6;
    assert_non_null(option_table_fault(&t));
    pair[1].bit = 2;
    assert_null(option_table_fault(&t));
}

static void defaults(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(parse(&p, 0, "")->status, CONVECT_OK);
    assert_false(option_flag(&p.v, VERBOSE));
    assert_int_equal(option_u64(&p.v, COUNT), 64);
    assert_float_equal(option_f64(&p.v, RATE), 0.5, 0);
    assert_false(option_is_set(&p.v, SHARE));
    assert_false(option_is_explicit(&p.v, COUNT));
    assert_string_equal(option_text(&p.v, NOTE), "");
    assert_null(option_text(&p.v, OUT));
    assert_int_equal(option_choice(&p.v, KIND), 0);
    assert_int_equal(p.n_args, 0);
}

static void every_type_and_form(void **state) {
    (void)state;
    parsed p;
    (void)parse(&p, 0, "-v --count=128 --rate 1 --share=0.25 --cache-size 1.5GiB --note=a=b -oout.txt --kind int8");
    assert_int_equal(p.status, CONVECT_OK);
    assert_true(option_flag(&p.v, VERBOSE));
    assert_int_equal(option_u64(&p.v, COUNT), 128);
    assert_true(option_is_explicit(&p.v, COUNT));
    assert_float_equal(option_f64(&p.v, RATE), 1, 0);
    assert_float_equal(option_f64(&p.v, SHARE), 0.25, 0);
    assert_int_equal(option_size_bytes(&p.v, CACHE), UINT64_C(3) << 29);
    assert_string_equal(option_text(&p.v, NOTE), "a=b");
    assert_string_equal(option_text(&p.v, OUT), "out.txt");
    assert_int_equal(option_choice(&p.v, KIND), 1);
    assert_string_equal(option_text(&p.v, KIND), "int8");
    (void)parse(&p, 0, "-vn 192 --cache-size 4096");
    assert_int_equal(p.status, CONVECT_OK);
    assert_int_equal(option_u64(&p.v, COUNT), 192);
    assert_int_equal(option_size_bytes(&p.v, CACHE), 4096);
}

static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t n_bytes;
    } good[] = {{"2048B", 2048},     {"1KiB", 1024}, {"3MiB", UINT64_C(3) << 20},  {"16TiB", UINT64_C(1) << 44},
                {"0.5MiB", 1 << 19}, {"1024", 1024}, {"12GiB", UINT64_C(12) << 30}};
    static const char *const bad[] = {"1GB",  "1G",    "GiB", "1 GiB", "-1KiB", "1.5B", "1..5KiB", "99999999999TiB",
                                      "1023", "17TiB", ""};
    parsed p;
    char line[64];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(line, sizeof line, "--cache-size=%s", good[i].text);
        assert_int_equal(parse(&p, 0, line)->status, CONVECT_OK);
        assert_int_equal(option_size_bytes(&p.v, CACHE), good[i].n_bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(line, sizeof line, "--cache-size=%s", bad[i]);
        expect_usage(line, "--cache-size must be a size in bytes or with KiB, MiB, GiB or TiB in 1KiB..16TiB");
    }
}

static void bad_values_name_option_and_limits(void **state) {
    (void)state;
    static const char *const bad_counts[] = {"-1", "+64", "65", "0", "1088", "64x", "0x40", "18446744073709551680",
                                             "",   "6 4"};
    char line[64];
    for (size_t i = 0; i < sizeof bad_counts / sizeof bad_counts[0]; i++) {
        (void)snprintf(line, sizeof line, "--count=%s", bad_counts[i]);
        expect_usage(line, "--count must be a whole number in 64..1024 step 64, not \"");
    }
    static const char *const bad_rates[] = {"0", "1.1", "nan", "inf", "-0.5", "0x1p-1", "1e999", "", "0.5x", "."};
    for (size_t i = 0; i < sizeof bad_rates / sizeof bad_rates[0]; i++) {
        (void)snprintf(line, sizeof line, "--rate=%s", bad_rates[i]);
        expect_usage(line, "--rate must be a number in >0..1, not \"");
    }
    expect_usage("--share=1", "--share must be a number in 0..<1, not \"1\"");
    expect_usage("--kind=f1", "--kind must be one of f16|int8, not \"f1\"");
    expect_usage("--kind=", "--kind must be one of f16|int8, not \"\"");
    expect_usage("--out=", "--out must be a file name");
    expect_usage("--verbose=maybe", "--verbose must be on or off, not \"maybe\"");
    expect_usage("--count", "--count needs a value: N");
    expect_usage("-n", "--count needs a value: N");
}

static void unknown_options(void **state) {
    (void)state;
    expect_usage("--cuont 3", "\"prog first\" has no option --cuont; did you mean --count?");
    expect_usage("--cache=3", "has no option --cache; did you mean --cache-size?");
    expect_usage("--zzzzzzzz", "has no option --zzzzzzzz; \"prog first --help\" lists them");
    expect_usage("-x", "has no option -x");
    expect_usage("-vx", "has no option -x");
    expect_usage("--=3", "has no option --");
    char line[200];
    memset(line, 'a', sizeof line - 1);
    line[0] = line[1] = '-';
    line[sizeof line - 1] = 0;
    expect_usage(line, "has no option --aaaa"); /* long names are cut */
    parsed p;
    assert_int_equal(parse(&p, 1, "f --rate 1")->status, CONVECT_USAGE); /* of the other command */
}

static void last_one_wins(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(parse(&p, 0, "--count 128 -n 256 --verbose --verbose=off")->status, CONVECT_OK);
    assert_int_equal(option_u64(&p.v, COUNT), 256);
    assert_false(option_flag(&p.v, VERBOSE));
}

static void operands(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(parse(&p, 0, "a --verbose - -- --count")->status, CONVECT_OK);
    assert_int_equal(p.n_args, 3);
    assert_string_equal(p.argv[0], "a");
    assert_string_equal(p.argv[1], "-");
    assert_string_equal(p.argv[2], "--count");
    expect_usage("a b c d", "does not know what to do with \"d\"");
    assert_int_equal(parse(&p, 1, "")->status, CONVECT_USAGE);
    assert_non_null(strstr(p.err.text, "\"prog second\" needs more: FILE"));
}

static void command_line_over_environment_over_default(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(setenv("PROGTEST_COUNT", "256", 1), 0);
    assert_int_equal(setenv("PROGTEST_CACHE_SIZE", "2MiB", 1), 0);
    assert_int_equal(setenv("PROGTEST_VERBOSE", "yes", 1), 0);
    assert_int_equal(parse(&p, 0, "")->status, CONVECT_OK);
    assert_int_equal(option_u64(&p.v, COUNT), 256);
    assert_true(option_is_explicit(&p.v, COUNT));
    assert_int_equal(option_size_bytes(&p.v, CACHE), 2 << 20);
    assert_true(option_flag(&p.v, VERBOSE));
    assert_int_equal(parse(&p, 0, "--count 128 --verbose=off")->status, CONVECT_OK);
    assert_int_equal(option_u64(&p.v, COUNT), 128);
    assert_false(option_flag(&p.v, VERBOSE));
    assert_int_equal(setenv("PROGTEST_COUNT", "", 1), 0); /* empty is unset */
    assert_int_equal(parse(&p, 0, "")->status, CONVECT_OK);
    assert_int_equal(option_u64(&p.v, COUNT), 64);
    assert_int_equal(setenv("PROGTEST_COUNT", "7", 1), 0);
    expect_usage("", "PROGTEST_COUNT must be a whole number in 64..1024 step 64, not \"7\"");
    expect_usage("--count 128", "PROGTEST_COUNT must be"); /* a wrong variable is never passed over */
    (void)unsetenv("PROGTEST_COUNT");
    (void)unsetenv("PROGTEST_CACHE_SIZE");
    (void)unsetenv("PROGTEST_VERBOSE");
}

static void one_name_in_two_commands(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(parse(&p, 1, "f")->status, CONVECT_OK);
    assert_int_equal(option_choice(&p.v, OTHER_KIND), 1);
    assert_int_equal(parse(&p, 1, "f --kind c")->status, CONVECT_OK);
    assert_int_equal(option_choice(&p.v, OTHER_KIND), 2);
}

static void help_beside_faults(void **state) {
    (void)state;
    parsed p;
    assert_int_equal(parse(&p, 1, "--help")->status, CONVECT_OK); /* operand missing */
    assert_true(p.v.wants_help);
    assert_int_equal(parse(&p, 0, "-h --zzz")->status, CONVECT_OK);
    assert_true(p.v.wants_help);
    assert_int_equal(p.err.status, CONVECT_OK);
}

static void unknown_commands(void **state) {
    (void)state;
    convect_error err = {0};
    assert_ptr_equal(option_command_find(&table, "second"), &commands[1]);
    assert_null(option_command_find(&table, "secon"));
    assert_int_equal(option_command_unknown(&table, "secnd", &err), CONVECT_USAGE);
    assert_string_equal(err.text, "there is no command \"secnd\"; did you mean \"second\"?");
    convect_error_clear(&err);
    (void)option_command_unknown(&table, "", &err);
    assert_string_equal(err.text, "there is no command \"\"; \"prog --help\" lists them");
}

static void texts_show_every_row(void **state) {
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        assert_non_null(out);
        static const char *const shells[] = {"bash", "zsh", "fish"};
        if (kind < 3) assert_true(option_print_completion(&table, shells[kind], out));
        if (kind == 3) option_print_man(&table, "1", out);
        if (kind == 4) option_print_help(&table, &commands[0], out);
        assert_int_equal(fclose(out), 0);
        for (size_t i = 0; i < ROW_COUNT; i++) {
            char name[40];
            (void)snprintf(name, sizeof name, "%s", kind == 3 && i == CACHE ? "cache\\-size" : rows[i].name);
            if (!strstr(text, name)) fail_msg("text %d lacks %s", kind, name);
        }
        free(text);
    }
    assert_false(option_print_completion(&table, "tcsh", stdout));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_well_formed),
        cmocka_unit_test(table_faults_are_found),
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_type_and_form),
        cmocka_unit_test(sizes),
        cmocka_unit_test(bad_values_name_option_and_limits),
        cmocka_unit_test(unknown_options),
        cmocka_unit_test(last_one_wins),
        cmocka_unit_test(operands),
        cmocka_unit_test(command_line_over_environment_over_default),
        cmocka_unit_test(one_name_in_two_commands),
        cmocka_unit_test(help_beside_faults),
        cmocka_unit_test(unknown_commands),
        cmocka_unit_test(texts_show_every_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
