/* Made-up models: sizes of the mixes at 35B-A3B geometry, vocabulary, random blocks, cutting, tensor lists, popularity
 * of experts. Running such files: tests/model/test_like.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/gguf_write.h"
#include "engine/mix.h"
#include "engine/tokenizer.h"
#include "kernels/table.h"
#include "tools/model_list.h"
#include "tools/preset.h"
#include "tools/synth_block.h"
#include "tools/synth_fill.h"
#include "tools/synth_random.h"
#include "tools/synth_router.h"
#include "tools/synth_vocab.h"

/* ---- mixes at real geometry ---- */

/* Everything but the embedding is read for each token, 8 of 256 experts of them. */
static double token_bytes(const list_tensor *t, mix_role role) {
    if (role == MIX_ROLE_EMBEDDING) return 0;
    double n = (double)list_tensor_bytes(t);
    return t->n_dims == 3 ? n * 8 / 256 : n;
}

typedef struct mix_pin {
    mix_id mix;
    double file_gb, token_mb; /* tensor bytes; of one decoded token */
    const char *types[MIX_ROLE_COUNT];
} mix_pin;

/* "A/B": A in the plain layers, B in the important ones. */
static const mix_pin pins[] = {
    {MIX_Q8_0,
     36.892,
     3195.8,
     {"Q8_0", "Q8_0", "F32", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "F32"}},
    {MIX_Q6_K,
     28.503,
     2487.6,
     {"Q6_K", "Q6_K", "F32", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "Q6_K", "F32"}},
    {MIX_Q4_K_M,
     21.172,
     1992.1,
     {"Q4_K", "Q6_K", "F32", "Q5_K", "Q4_K", "Q8_0", "Q5_K", "Q4_K", "Q4_K", "Q4_K/Q6_K", "Q4_K", "Q4_K/Q6_K", "F32"}},
    {MIX_UD_Q4,
     21.334,
     2590.3,
     {"Q8_0", "Q6_K", "F32", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q4_K", "IQ4_NL/Q5_K", "F32"}},
    {MIX_Q2_K,
     12.599,
     1664.4,
     {"Q2_K", "Q6_K", "F32", "Q4_K", "Q4_K", "Q6_K", "Q5_K", "Q4_K", "Q4_K", "Q5_K", "Q2_K", "Q2_K/Q3_K", "F32"}},
};

static void mixes_at_real_geometry(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
        model_list list;
        convect_error err = {0};
        double file = 0;
        double token = 0;
        assert_int_equal(preset_list(preset_at(0), pins[i].mix, false, &list, &err), CONVECT_OK);
        assert_int_equal(list.n_tensors, 733);
        for (size_t t = 0; t < list.n_tensors; t++) {
            const list_tensor *tensor = &list.tensors[t];
            mix_role role = mix_role_of(tensor->name);
            file += (double)list_tensor_bytes(tensor);
            token += token_bytes(tensor, role);
            const char *want = pins[i].types[role];
            const char *got = format_get(tensor->format)->name;
            const char *at = strstr(want, got);
            bool is_whole_word = at && (at[strlen(got)] == 0 || at[strlen(got)] == '/');
            if (!is_whole_word) fail_msg("%s: %s is %s, not %s", mix_name(pins[i].mix), tensor->name, got, want);
        }
        print_message("%-7s %.3f GB, %.1f MB a token\n", mix_name(pins[i].mix), file / 1e9, token / 1e6);
        assert_true(fabs(file / 1e9 - pins[i].file_gb) < 0.001);
        assert_true(fabs(token / 1e6 - pins[i].token_mb) < 0.1);
        model_list_free(&list);
    }
}

/* ---- vocabulary ---- */

static int by_text(const void *a, const void *b) {
    const gguf_string *x = a;
    const gguf_string *y = b;
    size_t n = x->n_bytes < y->n_bytes ? x->n_bytes : y->n_bytes;
    int order = memcmp(x->data, y->data, n);
    return order ? order : (x->n_bytes > y->n_bytes) - (x->n_bytes < y->n_bytes);
}

static void vocabulary_of_any_size(void **state) {
    (void)state;
    static const size_t sizes[] = {512, 1000, 4096, 248320, 400000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        synth_vocab v;
        convect_error err = {0};
        assert_int_equal(synth_vocab_make(sizes[i], &v, &err), CONVECT_OK);
        assert_int_equal(v.n_tokens, sizes[i]);
        if (sizes[i] == 248320) {
            assert_int_equal(v.id_end_of_text, 248044);
            assert_int_equal(v.id_im_end, 248046);
            assert_memory_equal(v.tokens[248068].data, "<think>", 7);
            assert_memory_equal(v.tokens[248077].data, "[PAD248077]", 11);
            assert_int_equal(v.types[248077], 5);
            assert_int_equal(v.types[248076], 3);
        }
        qsort(v.tokens, v.n_tokens, sizeof *v.tokens, by_text);
        for (size_t t = 1; t < v.n_tokens; t++) assert_true(by_text(&v.tokens[t - 1], &v.tokens[t]) < 0); /* unique */
        synth_vocab_free(&v);
    }
    synth_vocab v;
    assert_int_equal(synth_vocab_make(511, &v, NULL), CONVECT_USAGE);
    assert_int_equal(synth_vocab_make(400001, &v, NULL), CONVECT_USAGE);
}

static void write_vocab(const char *path, const synth_vocab *v) {
    gguf_writer *w;
    convect_error err = {0};
    assert_int_equal(gguf_writer_open(path, &w, &err), CONVECT_OK);
    gguf_writer_kv_string(w, "general.architecture", "qwen35moe", 9);
    gguf_writer_kv_string(w, "tokenizer.ggml.model", "gpt2", 4);
    gguf_writer_kv_string(w, "tokenizer.ggml.pre", "qwen35", 6);
    gguf_writer_kv_strings(w, "tokenizer.ggml.tokens", v->tokens, v->n_tokens);
    gguf_writer_kv_i32s(w, "tokenizer.ggml.token_type", v->types, v->n_tokens);
    gguf_writer_kv_strings(w, "tokenizer.ggml.merges", v->merges, v->n_merges);
    assert_int_equal(gguf_writer_begin_data(w, &err), CONVECT_OK);
    assert_int_equal(gguf_writer_commit(w, &err), CONVECT_OK);
}

static void vocabulary_tokenises_any_text(void **state) {
    (void)state;
    static const char text[] = "Hello the w\xc3\xb6rld, \xe6\x97\xa5\xe6\x9c\xac 123\n\t\xff\x00 end<think>";
    synth_vocab v = {0};
    gguf *g = NULL;
    tokenizer *t = NULL;
    token_list ids = {0};
    char path[] = "/tmp/convect-vocab-XXXXXX";
    convect_error err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(synth_vocab_make(2048, &v, &err), CONVECT_OK);
    write_vocab(path, &v);
    if (gguf_open(path, &g, &err) || tokenizer_create(g, &t, &err)) fail_msg("%s", err.text);
    assert_int_equal(tokenizer_n_vocab(t), 2048);
    assert_int_equal(tokenizer_encode(t, text, sizeof text - 1, true, &ids, &err), CONVECT_OK);
    char back[sizeof text] = {0};
    size_t n = 0;
    for (size_t i = 0; i < ids.n; i++) {
        gguf_string piece = tokenizer_piece(t, ids.ids[i]);
        assert_true(n + piece.n_bytes < sizeof text);
        memcpy(back + n, piece.data, piece.n_bytes);
        n += piece.n_bytes;
    }
    assert_int_equal(n, sizeof text - 1);
    assert_memory_equal(back, text, n);
    assert_true(ids.n < n - 6); /* merges work: "the", "ello" are not bytes */
    assert_int_equal(ids.ids[ids.n - 1], tokenizer_find(t, "<think>"));
    token_list_free(&ids);
    tokenizer_destroy(t);
    gguf_close(g);
    synth_vocab_free(&v);
    assert_int_equal(unlink(path), 0);
}

/* ---- blocks ---- */

/* Every format: finite, root mean square as asked, mean near 0; any cut of a tensor gives the same bytes. */
static void blocks_of_every_format(void **state) {
    (void)state;
    enum { N_BLOCKS = 400 };
    static synth_block_maker m;
    static uint8_t bytes[N_BLOCKS * SYNTH_BLOCK_BYTES_MAX];
    static uint8_t again[N_BLOCKS * SYNTH_BLOCK_BYTES_MAX];
    static float x[N_BLOCKS * 256];
    for (int f = 0; f < FORMAT_COUNT; f++) {
        if (!synth_block_has((format_id)f)) continue;
        const format_traits *traits = format_get((format_id)f);
        size_t n = (size_t)N_BLOCKS * traits->block_elems;
        synth_block_init(&m, (format_id)f);
        synth_block_fill(&m, 0.03F, 99, 1000, N_BLOCKS, bytes);
        for (size_t b = 0; b < N_BLOCKS; b += 100) {
            synth_block_fill(&m, 0.03F, 99, 1000 + b, 100, again + b * traits->block_bytes);
        }
        assert_memory_equal(bytes, again, N_BLOCKS * traits->block_bytes);
        kernel_table_get(KERNEL_LEVEL_REF)->dequantize[f](bytes, n, x);
        double sum = 0;
        double square = 0;
        for (size_t i = 0; i < n; i++) {
            assert_true(isfinite(x[i]));
            sum += x[i];
            square += (double)x[i] * x[i];
        }
        double rms = sqrt(square / (double)n);
        double slack =
            f == FORMAT_MXFP4 || f == FORMAT_NVFP4 ? 1.5 : 1.12; /* their scales are powers of two, or 3 bits */
        if (!(rms < 0.03 * slack && rms > 0.03 / slack)) fail_msg("%s: rms %g", traits->name, rms);
        if (fabs(sum / (double)n) > 0.5 * rms) fail_msg("%s: mean %g, rms %g", traits->name, sum / (double)n, rms);
    }
}

/* ---- cutting ---- */

static const list_tensor *find_tensor(const model_list *list, const char *name) {
    for (size_t i = 0; i < list->n_tensors; i++) {
        if (strcmp(list->tensors[i].name, name) == 0) return &list->tensors[i];
    }
    return NULL;
}

static void cuts_layers_and_vocabulary(void **state) {
    (void)state;
    model_list list;
    convect_error err = {0};
    assert_int_equal(preset_list(preset_at(0), MIX_Q4_K_M, true, &list, &err), CONVECT_OK);
    assert_int_equal(list.n_tensors, 753);
    assert_int_equal(model_list_cut_layers(&list, 41, &err), CONVECT_USAGE);
    convect_error_clear(&err);
    assert_int_equal(model_list_cut_layers(&list, 2, &err), CONVECT_OK);
    assert_int_equal(model_list_cut_vocab(&list, 4096, &err), CONVECT_OK);
    assert_int_equal(model_list_number(&list, "block_count", 0), 3);
    assert_int_equal(model_list_number(&list, "full_attention_interval", 0), 2);
    assert_int_equal(model_list_find(&list, "tokenizer.ggml.tokens")->n_elements, 4096);
    assert_non_null(find_tensor(&list, "blk.0.ssm_out.weight"));
    assert_non_null(find_tensor(&list, "blk.1.attn_q.weight"));
    assert_null(find_tensor(&list, "blk.1.ssm_out.weight"));
    assert_non_null(find_tensor(&list, "blk.2.nextn.eh_proj.weight"));
    assert_null(find_tensor(&list, "blk.3.attn_norm.weight"));
    assert_int_equal(find_tensor(&list, "token_embd.weight")->ne[1], 4096);
    assert_int_equal(find_tensor(&list, "output.weight")->ne[1], 4096);
    assert_int_equal(model_list_cut_vocab(&list, 4096, &err), CONVECT_USAGE);
    model_list_free(&list);
}

/* ---- tensor lists ---- */

static convect_status read_text(const char *text, model_list *list, convect_error *err) {
    char path[] = "/tmp/convect-list-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    convect_status status = model_list_read(path, list, err);
    assert_int_equal(unlink(path), 0);
    return status;
}

static void reads_committed_lists(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t n_tensors, n_shards;
    } lists[] = {{"q4_k_m", 733, 1},           {"q4_k_m-mtp", 753, 1},    {"ud-q4_k_m-mtp", 753, 1},
                 {"array-head-count", 735, 1}, {"fused-gate-up", 693, 1}, {"split-empty-first", 733, 3}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char path[512];
        model_list list;
        convect_error err = {0};
        (void)snprintf(path, sizeof path, "%s/like/%s.json", TEST_DATA, lists[i].name);
        if (model_list_read(path, &list, &err)) fail_msg("%s", err.text);
        assert_int_equal(list.n_tensors, lists[i].n_tensors);
        assert_int_equal(list.n_shards, lists[i].n_shards);
        assert_int_equal(model_list_cut_layers(&list, 2, &err), CONVECT_OK);
        const gguf_kv *heads = model_list_find(&list, "qwen35moe.attention.head_count_kv");
        uint64_t v;
        if (heads->type == GGUF_ARRAY) {
            assert_int_equal(heads->n_elements, 2);
            assert_true(gguf_read_u64(heads, 0, &v) && v == 0);
        }
        assert_true(gguf_read_u64(heads, heads->n_elements - 1, &v) && v == 2);
        model_list_free(&list);
    }
}

static void refuses_bad_lists(void **state) {
    (void)state;
    static const struct {
        const char *text, *complaint;
        convect_status status;
    } bad[] = {
        {"{", "", CONVECT_DAMAGED},
        {"{\"tensors\": []}", "\"metadata\"", CONVECT_DAMAGED},
        {"{\"metadata\": []}", "\"tensors\"", CONVECT_DAMAGED},
        {"{\"metadata\": [{\"type\": \"u32\"}], \"tensors\": []}", "without a key", CONVECT_DAMAGED},
        {"{\"metadata\": [{\"key\": \"a\", \"type\": \"x\"}], \"tensors\": []}", "no known type", CONVECT_DAMAGED},
        {"{\"metadata\": [{\"key\": \"a\", \"type\": \"u32\", \"value\": \"x\"}], \"tensors\": []}",
         "no value of its type", CONVECT_DAMAGED},
        {"{\"metadata\": [{\"key\": \"a\", \"type\": \"array\", \"element_type\": \"i32\", \"n_elements\": "
         "99999999999}], "
         "\"tensors\": []}",
         "n_elements", CONVECT_DAMAGED},
        {"{\"metadata\": [], \"tensors\": [{\"name\": \"a\", \"type\": \"Q9_K\", \"shape\": [256]}]}", "Q9_K",
         CONVECT_NOT_SUPPORTED},
        {"{\"metadata\": [], \"tensors\": [{\"name\": \"a\", \"type\": \"Q4_K\", \"shape\": [128]}]}", "no shape",
         CONVECT_DAMAGED},
        {"{\"metadata\": [], \"tensors\": [{\"name\": \"a\", \"type\": \"F32\", \"shape\": [-1]}]}", "no shape",
         CONVECT_DAMAGED},
        {"{\"metadata\": [], \"tensors\": [{\"name\": \"a\", \"type\": \"F32\", \"shape\": [1099511627776, "
         "1099511627776]}]}",
         "no shape", CONVECT_DAMAGED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        model_list list;
        convect_error err = {0};
        assert_int_equal(read_text(bad[i].text, &list, &err), bad[i].status);
        assert_non_null(strstr(err.text, bad[i].complaint));
        model_list_free(&list);
    }
}

/* Counts of another kind, or beyond any model, are faults of the list: no check fails, nothing loops for ages. */
static void cutting_refuses_strange_counts(void **state) {
    (void)state;
    static const char architecture[] = "{\"metadata\": [{\"key\": \"general.architecture\", \"type\": \"string\", "
                                       "\"value\": \"m\"}, {\"key\": \"m.block_count\", \"type\": ";
    static const struct {
        const char *count;
        convect_status status;
    } rows[] = {
        {"\"array\", \"element_type\": \"u32\", \"n_elements\": 1, \"first\": [4]", CONVECT_USAGE},
        {"\"i32\", \"value\": -4", CONVECT_USAGE},
        {"\"u64\", \"value\": 1152921504606846976", CONVECT_DAMAGED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        model_list list;
        convect_error err = {0};
        (void)snprintf(text, sizeof text, "%s%s}], \"tensors\": []}", architecture, rows[i].count);
        assert_int_equal(read_text(text, &list, &err), CONVECT_OK);
        assert_int_equal(model_list_cut_layers(&list, 1, &err), rows[i].status);
        model_list_free(&list);
    }
}

/* ---- popularity ---- */

enum { N_EXPERTS = 256, TOP_K = 8, N_EMBD = 512, N_HIDDEN = 4000 };

static int falling(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Indices of the eight largest logits into chosen. */
static void route(const float *rows, const float *h, size_t *chosen) {
    double logits[N_EXPERTS];
    double sorted[N_EXPERTS];
    for (size_t e = 0; e < N_EXPERTS; e++) {
        float sum = 0;
        for (size_t i = 0; i < N_EMBD; i++) sum += rows[e * N_EMBD + i] * h[i];
        logits[e] = sorted[e] = (double)sum;
    }
    qsort(sorted, N_EXPERTS, sizeof *sorted, falling);
    size_t n = 0;
    for (size_t e = 0; e < N_EXPERTS && n < TOP_K; e++) {
        if (logits[e] >= sorted[TOP_K - 1]) chosen[n++] = e;
    }
}

/* Routes random hidden states that keep a share `keep` of the one before; popularity by expert, and the mean number of
 * experts shared by neighbours. */
static double measure(const float *rows, double keep, double *popularity) {
    float h[N_EMBD] = {0};
    size_t before[TOP_K] = {0};
    size_t n_shared = 0;
    memset(popularity, 0, N_EXPERTS * sizeof *popularity);
    for (uint64_t t = 0; t < N_HIDDEN; t++) {
        size_t chosen[TOP_K] = {0};
        for (size_t i = 0; i < N_EMBD; i++) {
            float fresh = random_normal(12345, t * N_EMBD + i);
            h[i] = t ? (float)keep * h[i] + (float)sqrt(1 - keep * keep) * fresh : fresh;
        }
        route(rows, h, chosen);
        for (size_t a = 0; a < TOP_K; a++) popularity[chosen[a]] += 1.0 / N_HIDDEN;
        for (size_t a = 0; t && a < TOP_K; a++) {
            for (size_t b = 0; b < TOP_K; b++) n_shared += chosen[a] == before[b];
        }
        memcpy(before, chosen, sizeof before);
    }
    return (double)n_shared / (N_HIDDEN - 1);
}

/* The router tensor as synth writes it, with this skew. */
static float *router_rows(double skew, uint64_t *key) {
    static synth_source source;
    static synth_block_maker makers[FORMAT_COUNT];
    const synth_style style = {.skew = skew, .n_experts = N_EXPERTS, .n_experts_used = TOP_K};
    const list_tensor t = {"blk.3.ffn_gate_inp.weight", FORMAT_F32, 2, {N_EMBD, N_EXPERTS, 1, 1}, 0};
    float *rows = malloc((size_t)N_EMBD * N_EXPERTS * sizeof *rows);
    float *scratch = malloc((size_t)N_EMBD * N_EXPERTS * sizeof *scratch);
    assert_true(rows && scratch);
    synth_source_init(&source, &t, &style, makers);
    synth_source_fill(&source, 0, (size_t)N_EMBD * N_EXPERTS, scratch, (uint8_t *)rows);
    free(scratch);
    *key = source.key;
    return rows;
}

/* The measured curve follows the law of synth_popularity within a third, rank by rank in groups of eight; without skew
 * it is flat. Neighbours share more experts where the hidden state moves slowly. */
static void popularity_follows_zipf(void **state) {
    (void)state;
    static const double skews[] = {0, 0.6, 1.0};
    for (size_t s = 0; s < sizeof skews / sizeof *skews; s++) {
        uint64_t key;
        float sigma[N_EXPERTS];
        size_t rank[N_EXPERTS];
        double popularity[N_EXPERTS];
        double by_rank[N_EXPERTS];
        double want[N_EXPERTS];
        float *rows = router_rows(skews[s], &key);
        synth_router_sigma(N_EXPERTS, TOP_K, skews[s], key, sigma, rank);
        synth_popularity(N_EXPERTS, TOP_K, skews[s], want);
        double apart = measure(rows, 0, popularity);
        for (size_t e = 0; e < N_EXPERTS; e++) by_rank[rank[e]] = popularity[e];
        for (size_t g = 0; g < N_EXPERTS; g += 8) {
            double got = 0;
            double law = 0;
            for (size_t r = g; r < g + 8; r++) {
                got += by_rank[r];
                law += want[r];
            }
            if (g % 64 == 0) print_message("skew %.1f ranks %3zu..: %.4f, law %.4f\n", skews[s], g, got / 8, law / 8);
            assert_true(got > law * 0.67 && got < law * 1.5);
        }
        double near = measure(rows, 0.9, popularity);
        print_message("skew %.1f: neighbours share %.2f of 8 experts, %.2f when the state keeps 0.9\n", skews[s], apart,
                      near);
        assert_true(near > 2 * apart || near > 3);
        free(rows);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixes_at_real_geometry),
        cmocka_unit_test(vocabulary_of_any_size),
        cmocka_unit_test(vocabulary_tokenises_any_text),
        cmocka_unit_test(blocks_of_every_format),
        cmocka_unit_test(cuts_layers_and_vocabulary),
        cmocka_unit_test(reads_committed_lists),
        cmocka_unit_test(refuses_bad_lists),
        cmocka_unit_test(cutting_refuses_strange_counts),
        cmocka_unit_test(popularity_follows_zipf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
