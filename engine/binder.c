#include "engine/binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/check.h"
#include "kernels/format_scale.h"

convect_status binder_init(binder *b, const gguf *file, convect_error *err) {
    *b = (binder){.file = file, .n_vectors_max = 2 * gguf_n_tensors(file) + 16};
    b->is_used = calloc(gguf_n_tensors(file) + 1, sizeof *b->is_used);
    b->vectors = calloc(b->n_vectors_max, sizeof *b->vectors);
    if (b->is_used && b->vectors) return CONVECT_OK;
    binder_deinit(b);
    return convect_fail(err, CONVECT_NO_FIT, "no memory for the tensor list");
}

void binder_deinit(binder *b) {
    for (size_t i = 0; b->vectors && i < b->n_vectors; i++) free(b->vectors[i]);
    free(b->vectors);
    free(b->is_used);
    *b = (binder){0};
}

tensor_name binder_layer_name(size_t i_layer, const char *name) {
    tensor_name t;
    (void)snprintf(t.text, sizeof t.text, "blk.%zu.%s", i_layer, name);
    return t;
}

bool binder_has(const binder *b, const char *name) {
    return gguf_tensor_find(b->file, name) != NULL;
}

static const gguf_tensor *use(binder *b, const char *name) {
    const gguf_tensor *t = gguf_tensor_find(b->file, name);
    if (t) b->is_used[t - gguf_tensor_at(b->file, 0)] = true; /* the reader keeps its tensors in one array */
    return t;
}

static void shape_text(const uint64_t ne[3], char *out, size_t n) {
    if (ne[2] > 1) {
        (void)snprintf(out, n, "[%llu, %llu, %llu]", (unsigned long long)ne[0], (unsigned long long)ne[1],
                       (unsigned long long)ne[2]);
    } else {
        (void)snprintf(out, n, "[%llu, %llu]", (unsigned long long)ne[0], (unsigned long long)ne[1]);
    }
}

/* Finds a tensor of shape [k, n_rows, n_mats] in a format that we compute with. */
static convect_status find(binder *b, const char *name, size_t k, size_t n_rows, size_t n_mats, const gguf_tensor **out,
                           format_id *format, convect_error *err) {
    const gguf_tensor *t = use(b, name);
    if (!t) return convect_fail(err, CONVECT_DAMAGED, "tensor %s is missing", name);
    const uint64_t want[3] = {k, n_rows, n_mats};
    if (t->ne[0] != k || t->ne[1] != n_rows || t->ne[2] != n_mats || t->ne[3] != 1) {
        char found_text[80], want_text[80];
        shape_text(t->ne, found_text, sizeof found_text);
        shape_text(want, want_text, sizeof want_text);
        return convect_fail(err, CONVECT_DAMAGED, "tensor %s has shape %s; the metadata asks for %s", name, found_text,
                            want_text);
    }
    *format = format_from_ggml(t->ggml_type);
    if (*format == FORMAT_COUNT) {
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "tensor %s has ggml type %u, which Convect cannot compute with",
                            name, t->ggml_type);
    }
    *out = t;
    return CONVECT_OK;
}

float *binder_floats(binder *b, size_t n) {
    CONVECT_CHECK(b->n_vectors < b->n_vectors_max);
    float *v = malloc(n * sizeof *v);
    if (v) b->vectors[b->n_vectors++] = v;
    return v;
}

convect_status binder_vector(binder *b, const char *name, size_t k, size_t n_rows, const float **out,
                             convect_error *err) {
    const gguf_tensor *t = NULL;
    format_id format = FORMAT_COUNT;
    convect_status status = find(b, name, k, n_rows, 1, &t, &format, err);
    if (status != CONVECT_OK) return status;
    float *v = binder_floats(b, k * n_rows); /* bounded by the file: the shape is the tensor's own */
    if (!v) return convect_fail(err, CONVECT_NO_FIT, "no memory for tensor %s", name);
    const kernel_table *kernels = kernel_table_get(KERNEL_LEVEL_REF);
    const size_t row_bytes = format_row_bytes(format, k);
    for (size_t r = 0; r < n_rows; r++) kernels->dequantize[format](t->data + r * row_bytes, k, v + r * k);
    *out = v;
    return CONVECT_OK;
}

/* NAME.weight -> NAME.scale: a factor per matrix, or one for all. */
static convect_status bind_scale(binder *b, const char *name, weight *w, convect_error *err) {
    char scale_name[64];
    const size_t n = strlen(name), n_suffix = strlen(".weight");
    if (n < n_suffix || strcmp(name + n - n_suffix, ".weight") != 0) return CONVECT_OK;
    (void)snprintf(scale_name, sizeof scale_name, "%.*s.scale", (int)(n - n_suffix), name);
    const gguf_tensor *t = gguf_tensor_find(b->file, scale_name);
    if (!t) return CONVECT_OK;
    const bool is_shared = t->ne[0] == 1;
    const float *values = NULL;
    convect_status status = binder_vector(b, scale_name, is_shared ? 1 : w->n_mats, 1, &values, err);
    if (status != CONVECT_OK || !is_shared || w->n_mats == 1) {
        w->scale = values;
        return status;
    }
    float *all = binder_floats(b, w->n_mats);
    if (!all) return convect_fail(err, CONVECT_NO_FIT, "no memory for tensor %s", scale_name);
    for (size_t i = 0; i < w->n_mats; i++) all[i] = values[0];
    w->scale = all;
    return CONVECT_OK;
}

convect_status binder_matrix(binder *b, const char *name, size_t k, size_t n_rows, size_t n_mats, weight *out,
                             convect_error *err) {
    const gguf_tensor *t = NULL;
    *out = (weight){.k = k, .n_rows = n_rows, .n_mats = n_mats};
    convect_status status = find(b, name, k, n_rows, n_mats, &t, &out->format, err);
    if (status != CONVECT_OK) return status;
    out->data = t->data;
    out->row_bytes = format_row_bytes(out->format, k);
    out->mat_bytes = out->row_bytes * n_rows;
    return bind_scale(b, name, out, err);
}

convect_status binder_check_small(const binder *b, convect_error *err) {
    const uint64_t small_bytes = 1 << 20; /* 26 MB in all for 35B-A3B */
    for (size_t i = 0; i < gguf_n_tensors(b->file); i++) {
        const gguf_tensor *t = gguf_tensor_at(b->file, i);
        const format_id format = format_from_ggml(t->ggml_type);
        format_fault fault;
        if (!b->is_used[i] || t->n_bytes > small_bytes || format == FORMAT_COUNT) continue;
        if (format_get(format)->rule != FORMAT_RULE_FLOAT) continue;
        const size_t n_blocks = (size_t)t->n_bytes / format_get(format)->block_bytes;
        if (format_find_fault(format, t->data, n_blocks, &fault)) {
            return convect_fail(err, CONVECT_DAMAGED,
                                "tensor %s: its %s in block %zu is not a finite number; convect check --full finds all",
                                t->name, fault.field, fault.i_block);
        }
    }
    return CONVECT_OK;
}

void binder_report_unused(const binder *b, const convect_log *log) {
    size_t n = 0, first = 0;
    for (size_t i = 0; i < gguf_n_tensors(b->file); i++) {
        if (!b->is_used[i] && n++ == 0) first = i;
    }
    if (n == 0) return;
    convect_log_write(log, CONVECT_LOG_WARN, "%zu tensors of the file are not used (the first: %s)", n,
                      gguf_tensor_at(b->file, first)->name);
}
