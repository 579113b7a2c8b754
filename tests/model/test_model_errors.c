/* Files that cannot run: each damaged or odd model gives one sentence that names the key or tensor, and none crashes.
 * Variants are made from one tiny file by changing bytes of metadata and names in place. */
#include "tests/model/session_fixture.h"

typedef struct image {
    uint8_t *data;
    size_t n;
} image;

static image load(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    image im = {.n = (size_t)ftell(f)};
    rewind(f);
    im.data = malloc(im.n);
    assert_non_null(im.data);
    assert_int_equal(fread(im.data, 1, im.n, f), im.n);
    (void)fclose(f);
    return im;
}

/* The only place of text in the file's head. */
static uint8_t *find_text(image im, const char *text) {
    uint8_t *at = memmem(im.data, im.n, text, strlen(text));
    assert_non_null(at);
    return at;
}

/* Opens the bytes as a file; returns the status and the message. */
static convect_status try_open(image im, convect_error *err) {
    char path[32] = "/tmp/convect-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, im.data, im.n), (ssize_t)im.n);
    (void)close(fd);
    const convect_model_options options = {.n_threads = 1};
    convect_model *model = NULL;
    *err = (convect_error){0};
    const convect_status status = convect_model_open(path, &options, &model, err);
    (void)unlink(path);
    if (status != CONVECT_OK) assert_null(model);
    convect_model_close(model);
    return status;
}

static void expect(image im, convect_status want, const char *part) {
    convect_error err;
    const convect_status status = try_open(im, &err);
    if (status != want || (part && !strstr(err.text, part)))
        fail_msg("status %s, message '%s'; expected %s and '%s'", convect_status_name(status), err.text,
                 convect_status_name(want), part ? part : "");
}

static image write_image(const tiny_config *config, bool is_mixed) {
    char path[32];
    fixture_write(config, is_mixed, path);
    image im = load(path);
    (void)unlink(path);
    return im;
}

/* Value of a u32 key: after the key's text come the type (4 bytes) and the value. */
static void with_u32(image im, const char *key, uint32_t value, convect_status want, const char *part) {
    char full[96];
    (void)snprintf(full, sizeof full, "qwen35moe.%s", key);
    uint8_t *at = find_text(im, full) + strlen(full) + 4, old[4];
    memcpy(old, at, 4);
    memcpy(at, &value, 4);
    expect(im, want, part);
    memcpy(at, old, 4);
}

static void bad_numbers(void **state) {
    (void)state;
    image im = write_image(&config_plain, false);
    expect(im, CONVECT_OK, NULL);
    static const struct {
        const char *key;
        uint32_t value;
        convect_status want;
        const char *part;
    } cases[] = {{"block_count", 0, CONVECT_DAMAGED, "block_count"},
                 {"block_count", 4, CONVECT_DAMAGED, "blk.3."},
                 {"block_count", 0xffffffffu, CONVECT_DAMAGED, "block_count"},
                 {"embedding_length", 96, CONVECT_DAMAGED, "[64, 160]; the metadata asks for [96, 160]"},
                 {"embedding_length", 65, CONVECT_NOT_SUPPORTED, "multiple of 32"},
                 {"embedding_length", 0xffffffe0u, CONVECT_DAMAGED, "embedding_length"},
                 {"context_length", 0, CONVECT_DAMAGED, "context_length"},
                 {"attention.head_count", 7, CONVECT_NOT_SUPPORTED, "multiple of attention.head_count_kv"},
                 {"attention.head_count", 16, CONVECT_DAMAGED, "attn_q.weight"},
                 {"attention.key_length", 1024, CONVECT_DAMAGED, "key_length"},
                 {"attention.value_length", 128, CONVECT_NOT_SUPPORTED, "value_length"},
                 {"rope.freq_base", 0x3f000000u, CONVECT_DAMAGED, "rope.freq_base is 0.5"}, /* a fuzzer's find */
                 {"rope.dimension_count", 31, CONVECT_NOT_SUPPORTED, "even"},
                 {"rope.dimension_count", 66, CONVECT_DAMAGED, "rope.dimension_count"},
                 {"rope.dimension_count", 30, CONVECT_NOT_SUPPORTED, "dimension_sections"},
                 {"expert_count", 0, CONVECT_DAMAGED, "expert_count"},
                 {"expert_count", 8, CONVECT_DAMAGED, "ffn_gate_inp.weight"},
                 {"expert_used_count", 8, CONVECT_DAMAGED, "expert_used_count is 8; expected 1 to 7"},
                 {"expert_feed_forward_length", 32, CONVECT_DAMAGED, "ffn_down_exps.weight has shape [64, 64, 7]"},
                 {"expert_feed_forward_length", 48, CONVECT_NOT_SUPPORTED, "multiple of 32"},
                 {"expert_shared_feed_forward_length", 64, CONVECT_DAMAGED, "shexp"},
                 {"ssm.conv_kernel", 5, CONVECT_DAMAGED, "ssm_conv1d.weight"},
                 {"ssm.conv_kernel", 1, CONVECT_DAMAGED, "conv_kernel"},
                 {"ssm.state_size", 32, CONVECT_NOT_SUPPORTED, "inner_size"},
                 {"ssm.group_count", 0, CONVECT_DAMAGED, "group_count"},
                 {"ssm.time_step_rank", 3, CONVECT_NOT_SUPPORTED, "multiple of ssm.group_count"},
                 {"ssm.inner_size", 96, CONVECT_NOT_SUPPORTED, "inner_size"},
                 {"full_attention_interval", 0, CONVECT_DAMAGED, "full_attention_interval"},
                 {"full_attention_interval", 1, CONVECT_DAMAGED, "blk.0."}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        with_u32(im, cases[i].key, cases[i].value, cases[i].want, cases[i].part);
    free(im.data);
}

/* Renames a key or tensor, which makes it missing. */
static void without(image im, const char *name, const char *part) {
    uint8_t *last = find_text(im, name) + strlen(name) - 1;
    const uint8_t old = *last;
    *last = '~';
    expect(im, CONVECT_DAMAGED, part ? part : name);
    *last = old;
}

static void missing_parts(void **state) {
    (void)state;
    image im = write_image(&config_plain, false);
    static const char *const names[] = {"qwen35moe.block_count",
                                        "qwen35moe.embedding_length",
                                        "qwen35moe.attention.layer_norm_rms_epsilon",
                                        "qwen35moe.rope.freq_base",
                                        "qwen35moe.expert_used_count",
                                        "qwen35moe.ssm.group_count",
                                        "token_embd.weight",
                                        "output_norm.weight",
                                        "blk.0.attn_norm.weight",
                                        "blk.0.ssm_a",
                                        "blk.0.ssm_dt.bias",
                                        "blk.1.ssm_conv1d.weight",
                                        "blk.2.attn_q.weight",
                                        "blk.2.attn_k_norm.weight",
                                        "blk.1.ffn_gate_inp.weight",
                                        "blk.1.ffn_up_exps.weight",
                                        "blk.2.ffn_down_shexp.weight",
                                        "blk.2.ffn_gate_inp_shexp.weight",
                                        "general.architecture"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) without(im, names[i], NULL);
    uint8_t *family = find_text(im, "general.architecture") + strlen("general.architecture") + 4 + 8;
    family[0] = 'Q';
    expect(im, CONVECT_NOT_SUPPORTED, "architecture 'Qwen35moe' is not supported; Convect ");
    expect(im, CONVECT_NOT_SUPPORTED, "runs qwen35moe, a newer version may run more");
    free(im.data);
}

/* Without all of its MTP tensors a file runs; with some of them it is damaged. */
static void mtp_blocks(void **state) {
    (void)state;
    image im = write_image(&config_mixed, true);
    expect(im, CONVECT_OK, NULL);
    without(im, "blk.2.nextn.hnorm.weight", "nextn.hnorm");
    without(im, "blk.2.attn_v.weight", "blk.2.attn_v.weight");
    uint8_t *name = find_text(im, "blk.2.nextn.eh_proj.weight");
    name[6] = 'N';
    expect(im, CONVECT_OK, NULL);
    free(im.data);
    tiny_config whole = config_mixed; /* an MTP block only: the trunk's tensors carry other names */
    whole.n_layers = 1, whole.interval = 1;
    im = write_image(&whole, false);
    find_text(im, "blk.0.attn_norm.weight")[4] = '7';
    expect(im, CONVECT_NOT_SUPPORTED, "MTP");
    free(im.data);
}

static void wrong_type(void **state) {
    (void)state;
    image im = write_image(&config_plain, false);
    uint8_t *at = find_text(im, "blk.2.attn_k.weight") + strlen("blk.2.attn_k.weight") + 4 + 2 * 8;
    at[0] = 26; /* ggml's I32: as large as F32, so the container is valid */
    expect(im, CONVECT_NOT_SUPPORTED, "blk.2.attn_k.weight has ggml type 26");
    free(im.data);
}

/* An infinity in a small tensor ended in plausible, wrong sums ("47 + 85" was 3) with exit 0. */
static void not_finite(void **state) {
    (void)state;
    const char *const names[] = {"blk.0.ssm_alpha.weight", "blk.0.ssm_dt.bias", "blk.1.ffn_gate_inp_shexp.weight",
                                 "output_norm.weight"};
    image im = write_image(&config_plain, false);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gguf *g = NULL;
        convect_error err = {0};
        assert_int_equal(gguf_open_memory(im.data, im.n, &g, &err), CONVECT_OK);
        const gguf_tensor *t = gguf_tensor_find(g, names[i]);
        assert_non_null(t);
        uint8_t *at = im.data + t->file_off + t->n_bytes - 4;
        gguf_close(g);
        const float keep = ((const float *)(const void *)at)[0];
        memcpy(at, &(float){INFINITY}, sizeof keep);
        expect(im, CONVECT_DAMAGED, names[i]);
        memcpy(at, &keep, sizeof keep);
    }
    expect(im, CONVECT_OK, NULL);
    free(im.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bad_numbers), cmocka_unit_test(missing_parts),
                                       cmocka_unit_test(mtp_blocks), cmocka_unit_test(wrong_type),
                                       cmocka_unit_test(not_finite)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
