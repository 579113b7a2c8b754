/* libFuzzer target: the GGUF reader on any bytes, then everything that reads what it accepted. */
#include <stdlib.h>

#include "engine/base/check.h"
#include "engine/gguf_summary.h"
#include "engine/text_escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Every element of every value; the sum keeps the reads. */
static uint64_t read_kv(const gguf_kv *kv) {
    uint64_t sum = 0, u;
    int64_t s;
    double f;
    gguf_string text;
    char shown[64];
    if (gguf_read_string(kv, &text)) sum += text_escape(shown, sizeof shown, text.data, text.n_bytes);
    for (uint64_t i = 0; i < kv->n_elements; i++) {
        bool is_u64 = gguf_read_u64(kv, i, &u), is_i64 = gguf_read_i64(kv, i, &s);
        CONVECT_CHECK(!(is_u64 && is_i64) || u == (uint64_t)s);
        sum += (is_u64 ? u : 0) + (gguf_read_f64(kv, i, &f) ? 1 : 0);
    }
    if (kv->type == GGUF_ARRAY && kv->element_type == GGUF_STRING) {
        gguf_string *strings = calloc(kv->n_elements + 1, sizeof *strings);
        CONVECT_CHECK(strings && gguf_read_strings(kv, strings));
        for (uint64_t i = 0; i < kv->n_elements; i++)
            sum += text_escape(shown, sizeof shown, strings[i].data, strings[i].n_bytes);
        free(strings);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    gguf *g = NULL;
    convect_error err = {0};
    convect_status status = gguf_open_memory(data, n_bytes, &g, &err);
    if (status != CONVECT_OK) {
        CONVECT_CHECK(!g && err.status == status && err.text[0]);
        CONVECT_CHECK(status == CONVECT_DAMAGED || status == CONVECT_NOT_SUPPORTED);
        return 0;
    }
    volatile uint64_t sum = 0;
    for (size_t i = 0; i < gguf_n_kv(g); i++) sum += read_kv(gguf_kv_at(g, i));
    for (size_t i = 0; i < gguf_n_tensors(g); i++) {
        const gguf_tensor *t = gguf_tensor_at(g, i);
        CONVECT_CHECK(gguf_tensor_find(g, t->name) == t);
        sum += t->data[0] + (uint64_t)t->data[t->n_bytes - 1];
    }
    (void)sum;
    gguf_summary summary;
    gguf_summarise(g, &summary);
    CONVECT_CHECK(summary.total.token_bytes <= summary.total.n_bytes && summary.total.n_bytes <= n_bytes);
    gguf_close(g);
    return 0;
}
