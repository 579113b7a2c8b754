/* Qwen3's real vocabulary: golden ids on which two independent tokenizers agree, and round trips. The GGUF is made at
 * test time by tools/tokenizer2gguf.py; without python3 the test is skipped (exit 77). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "engine/nfc.h"
#include "engine/tokenizer.h"
#include "tests/process.h"

#define N_VOCAB_PADDED "151936"

static tokenizer *qwen3;

static bool make_vocab(const char *folder, char path[static 256]) {
    (void)snprintf(path, 256, "%s/vocab.gguf", folder);
    static const char *const script = TEST_SOURCE "/tools/tokenizer2gguf.py";
    static const char *const source = TEST_DATA "/tokenizer/qwen3-tokenizer.json.gz";
    const char *const argv[] = {"python3", script, source, path, "--n-vocab", N_VOCAB_PADDED, NULL};
    return process_run(argv, NULL, NULL) == 0;
}

static int set_up(void **state) {
    (void)state;
    char folder[] = "/tmp/convect-test-XXXXXX", path[256];
    if (!mkdtemp(folder)) return -1;
    convect_error err = {0};
    gguf *g = NULL;
    bool ok = make_vocab(folder, path) && gguf_open(path, &g, &err) == CONVECT_OK &&
              tokenizer_create(g, &qwen3, &err) == CONVECT_OK;
    if (!ok) (void)fprintf(stderr, "%s\n", err.text);
    gguf_close(g);
    (void)unlink(path);
    (void)rmdir(folder);
    return ok ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tokenizer_destroy(qwen3);
    return 0;
}

static void check_line(const char *line) {
    struct json_object *o = json_tokener_parse(line), *text = NULL, *ids = NULL;
    assert_true(json_object_object_get_ex(o, "text", &text) && json_object_object_get_ex(o, "ids", &ids));
    token_list list = {0};
    assert_int_equal(tokenizer_encode(qwen3, json_object_get_string(text), (size_t)json_object_get_string_len(text),
                                      true, &list, NULL),
                     CONVECT_OK);
    if (list.n != json_object_array_length(ids)) fail_msg("%zu tokens for %s", list.n, line);
    for (size_t i = 0; i < list.n; i++)
        if (list.ids[i] != json_object_get_int(json_object_array_get_idx(ids, i)))
            fail_msg("token %zu is %d for %s", i, list.ids[i], line);
    token_list_free(&list);
    json_object_put(o);
}

static void golden_ids(void **state) {
    (void)state;
    FILE *f = fopen(TEST_DATA "/tokenizer/qwen3-golden.jsonl", "r");
    assert_non_null(f);
    char *line = NULL;
    size_t cap = 0, n_lines = 0;
    for (; getline(&line, &cap, f) > 0; n_lines++) check_line(line);
    assert_int_equal(n_lines, 257);
    free(line);
    (void)fclose(f);
}

static void ids_have_kinds(void **state) {
    (void)state;
    assert_int_equal(tokenizer_n_vocab(qwen3), 151936);
    assert_int_equal(tokenizer_n_real(qwen3), 151669);
    assert_true(tokenizer_is_unused(qwen3, 151669));
    assert_int_equal(tokenizer_find(qwen3, "<|im_end|>"), 151645);
    assert_true(tokenizer_is_stop(qwen3, 151645) && tokenizer_is_control(qwen3, 151645));
    assert_true(tokenizer_is_stop(qwen3, 151643));
    assert_true(tokenizer_is_control(qwen3, 151659));  /* <|fim_prefix|>: by its look */
    assert_false(tokenizer_is_control(qwen3, 151657)); /* <tool_call> */
    assert_false(tokenizer_is_stop(qwen3, 151657));
}

/* The pieces of the ids spell NFC(text) for any bytes. */
static void check_round_trip(const char *text, size_t n_bytes) {
    nfc_text nfc;
    token_list list = {0};
    assert_int_equal(nfc_normalize(text, n_bytes, &nfc, NULL), CONVECT_OK);
    assert_int_equal(tokenizer_encode(qwen3, text, n_bytes, false, &list, NULL), CONVECT_OK);
    size_t off = 0;
    for (size_t i = 0; i < list.n; i++) {
        gguf_string piece = tokenizer_piece(qwen3, list.ids[i]);
        assert_true(piece.n_bytes <= nfc.n_bytes - off);
        assert_memory_equal(nfc.data + off, piece.data, piece.n_bytes);
        off += piece.n_bytes;
    }
    assert_int_equal(off, nfc.n_bytes);
    token_list_free(&list);
    nfc_free(&nfc);
}

static void round_trips(void **state) {
    (void)state;
    uint64_t rng = 99;
    for (int i = 0; i < 20000; i++) {
        char text[128];
        for (size_t j = 0; j < sizeof text; j++) {
            rng = rng * 6364136223846793005u + 1442695040888963407u;
            uint32_t r = (uint32_t)(rng >> 33);
            bool is_any = i % 2 == 0 || r % 8 == 0;
            text[j] = is_any ? (char)(r >> 8) : "etaoin \n'1.<|>"[(r >> 8) % 14];
        }
        check_round_trip(text, 1 + (size_t)i % sizeof text);
    }
}

int main(void) {
    const char *const python[] = {"python3", "-c", "pass", NULL};
    if (access(TEST_SOURCE "/tools/tokenizer2gguf.py", R_OK) != 0 || process_run(python, NULL, NULL) != 0) {
        (void)fprintf(stderr, "skipped: no python3 or no tools/tokenizer2gguf.py to make the vocabulary's GGUF\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_ids),
        cmocka_unit_test(ids_have_kinds),
        cmocka_unit_test(round_trips),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
