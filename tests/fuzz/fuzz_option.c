/* libFuzzer target: the option parser on any command line. The input is a command word and its arguments, each ended by
 * a zero byte. Every row type and limit form is in the table. */
#include <string.h>

#include "engine/base/check.h"
#include "engine/base/option.h"

#define BYTES_MAX 4096
#define ARGS_MAX  64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static const option_row rows[] = {
    {"flag", 'f', OPTION_FLAG, NULL, NULL, NULL, 3, "a flag"},
    {"flag-two", 'g', OPTION_FLAG, NULL, NULL, NULL, 1, "a flag of one command"},
    {"count", 'n', OPTION_U64, "N", "7", "0..18446744073709551615", 3, "any whole number"},
    {"step", 0, OPTION_U64, "N", "64", "64..65536 step 64", 3, "a multiple"},
    {"ratio", 't', OPTION_F64, "X", "0.5", ">0..1", 3, "a share"},
    {"below", 0, OPTION_F64, "X", "0", "-1e300..<1e300", 3, "a number"},
    {"size", 0, OPTION_SIZE, "SIZE", "1.5GiB", "1B..1024TiB", 3, "bytes"},
    {"text", 's', OPTION_STRING, "TEXT", NULL, NULL, 1, "a text"},
    {"file", 0, OPTION_PATH, "FILE", NULL, NULL, 1, "a file"},
    {"kind", 'k', OPTION_CHOICE, "KIND", "one", "one|two|three", 3, "a word"},
};

static const option_command commands[] = {
    {"run", 1, "FILE [TEXT]", 1, 2, "the first command"},
    {"list", 2, "", 0, 0, "the second command"},
};

static const option_table table = {
    .program = "fuzz",
    .env_prefix = "FUZZ_OPTION_",
    .about = "A table with every kind of row.",
    .rows = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .commands = commands,
    .n_commands = sizeof commands / sizeof commands[0],
};

/* What the parser accepted lies within the limits. */
static void check_values(const option_values *v, const option_command *command) {
    if (v->wants_help) return;
    (void)option_flag(v, 0);
    CONVECT_CHECK(option_is_set(v, 2));
    CONVECT_CHECK(option_u64(v, 3) >= 64 && option_u64(v, 3) <= 65536 && option_u64(v, 3) % 64 == 0);
    CONVECT_CHECK(option_f64(v, 4) > 0 && option_f64(v, 4) <= 1);
    CONVECT_CHECK(option_f64(v, 5) >= -1e300 && option_f64(v, 5) < 1e300);
    CONVECT_CHECK(option_size_bytes(v, 6) >= 1 && option_size_bytes(v, 6) <= UINT64_C(1) << 50);
    CONVECT_CHECK(option_choice(v, 9) < 3);
    if (command->bit != 1) return;
    CONVECT_CHECK(!option_is_set(v, 7) || option_text(v, 7));
    CONVECT_CHECK(!option_is_set(v, 8) || option_text(v, 8)[0]);
}

/* Cuts text into words at its zero bytes. */
static int split(char *text, size_t n_bytes, char *words[ARGS_MAX]) {
    int n = 0;
    for (size_t at = 0; at < n_bytes && n < ARGS_MAX; at += strlen(text + at) + 1) words[n++] = text + at;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char text[BYTES_MAX + 1] = "", *words[ARGS_MAX];
    if (n_bytes > BYTES_MAX) return 0;
    if (n_bytes > 0) memcpy(text, data, n_bytes);
    const int n_words = split(text, n_bytes, words);
    if (n_words == 0) return 0;
    convect_error err = {0};
    const option_command *command = option_command_find(&table, words[0]);
    if (!command) {
        CONVECT_CHECK(option_command_unknown(&table, words[0], &err) == CONVECT_USAGE && err.text[0]);
        convect_error_clear(&err);
        command = &commands[(unsigned char)words[0][0] % 2];
    }
    option_values values;
    int n_args = 0;
    const convect_status status = option_parse(&table, command, n_words - 1, words + 1, &values, &n_args, &err);
    if (status != CONVECT_OK) {
        CONVECT_CHECK(status == CONVECT_USAGE && err.status == status && err.text[0]);
        return 0;
    }
    CONVECT_CHECK(n_args >= 0 && n_args <= n_words - 1);
    CONVECT_CHECK(values.wants_help || (n_args >= command->n_args_min && n_args <= command->n_args_max));
    for (int i = 0; i < n_args; i++) CONVECT_CHECK(words[1 + i] >= text && words[1 + i] <= text + n_bytes);
    check_values(&values, command);
    return 0;
}
