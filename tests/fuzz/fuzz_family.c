/* libFuzzer target: a valid tiny model with bytes changed, opened and, if it opens, run for a few tokens. Each 4 bytes
 * of input are one change: 16 bits of place, the new byte, and whether the place counts in the head (metadata and
 * tensor list) or in the whole file. Needs no corpus: the model is made here. */
#include <sys/mman.h>
#include <unistd.h>

#include "engine/convect.h"
#include "kernels/quantize.h"
#include "tests/model/tiny_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static uint8_t *base; /* the unchanged file */
static size_t base_bytes, head_bytes;

static const tiny_config config = {.n_embd = 32,
                                   .n_layers = 2,
                                   .interval = 2,
                                   .n_mtp = 1,
                                   .n_head = 2,
                                   .n_head_kv = 1,
                                   .head_dim = 32,
                                   .rope_dims = 16,
                                   .n_k_heads = 1,
                                   .n_v_heads = 2,
                                   .state_dim = 32,
                                   .conv = 4,
                                   .n_experts = 3,
                                   .top_k = 2,
                                   .expert_width = 32,
                                   .shared_width = 32,
                                   .n_vocab = 32,
                                   .n_ctx = 128,
                                   .rope_theta = 10000,
                                   .eps = 1e-6F};

static uint32_t to_q8_0(void *user, const char *name, const float *x, size_t n_rows, size_t k, void *out,
                        size_t *n_bytes) {
    (void)user, (void)name;
    const size_t row_bytes = format_row_bytes(FORMAT_Q8_0, k);
    for (size_t r = 0; r < n_rows; r++)
        CONVECT_CHECK(quantize_row(FORMAT_Q8_0, x + r * k, k, (uint8_t *)out + r * row_bytes));
    *n_bytes = n_rows * row_bytes;
    return format_get(FORMAT_Q8_0)->ggml_type;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    char path[] = "/tmp/convect-fuzz-XXXXXX";
    const int fd = mkstemp(path);
    CONVECT_CHECK(fd >= 0);
    (void)close(fd);
    tiny_model_write(path, &config, to_q8_0, NULL);
    gguf *g = NULL;
    CONVECT_CHECK(gguf_open(path, &g, NULL) == CONVECT_OK);
    base_bytes = (size_t)gguf_file_bytes(g);
    head_bytes = (size_t)gguf_tensor_at(g, 0)->file_off;
    gguf_close(g);
    FILE *f = fopen(path, "rb");
    base = malloc(base_bytes);
    CONVECT_CHECK(f && base && fread(base, 1, base_bytes, f) == base_bytes);
    (void)fclose(f);
    (void)unlink(path);
    return 0;
}

/* A few prompt tokens, a step of two rows, half of it kept. */
static void run(convect_model *model) {
    const int32_t tokens[5] = {0, 0, 0, 0, 0};
    convect_session *s = NULL;
    const convect_session_options options = {.n_ctx_tokens = 8, .prefill_chunk_tokens = 64, .kv_type = CONVECT_KV_INT8};
    convect_error err = {0};
    if (convect_session_create(model, &options, &s, &err) == CONVECT_OK) {
        CONVECT_CHECK(convect_session_sync(s, tokens, 3, NULL, NULL, &err) == CONVECT_OK);
        CONVECT_CHECK(convect_session_step(s, tokens, 2, &err) == CONVECT_OK);
        CONVECT_CHECK(convect_session_accept(s, 1, &err) == CONVECT_OK);
    } else {
        CONVECT_CHECK(err.text[0] && (err.status == CONVECT_NO_FIT || err.status == CONVECT_USAGE));
    }
    convect_session_destroy(s);
}

static void write_changed(int fd, const uint8_t *data, size_t n_bytes) {
    CONVECT_CHECK(pwrite(fd, base, base_bytes, 0) == (ssize_t)base_bytes);
    for (size_t i = 0; i + 4 <= n_bytes; i += 4) {
        const size_t place = data[i] | (size_t)data[i + 1] << 8;
        const size_t off = data[i + 3] & 1 ? place * base_bytes >> 16 : place % head_bytes;
        CONVECT_CHECK(pwrite(fd, data + i + 2, 1, (off_t)off) == 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    const int fd = memfd_create("convect-fuzz", MFD_CLOEXEC);
    CONVECT_CHECK(fd >= 0);
    write_changed(fd, data, n_bytes < 256 ? n_bytes : 256);
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const convect_model_options options = {.n_threads = 1};
    convect_model *model = NULL;
    convect_error err = {0};
    const convect_status status = convect_model_open(path, &options, &model, &err);
    if (status == CONVECT_OK)
        run(model);
    else
        CONVECT_CHECK(!model && err.status == status && err.text[0]);
    convect_model_close(model);
    (void)close(fd);
    return 0;
}
