#include "engine/model.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/features.h"
#include "engine/base/build_info.h"

static const family *const families[] = {&family_qwen35moe};

static const family *find_family(gguf_string name) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const char *have = families[i]->architecture;
        if (strlen(have) == name.n_bytes && memcmp(have, name.data, name.n_bytes) == 0) return families[i];
    }
    return NULL;
}

static convect_status choose_family(convect_model *m, convect_error *err) {
    gguf_string name;
    const gguf_kv *kv = gguf_kv_find(m->file, "general.architecture");
    if (!kv || !gguf_read_string(kv, &name)) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata general.architecture is missing or no string");
    }
    m->family = find_family(name);
    if (m->family) return CONVECT_OK;
    return convect_fail(err, CONVECT_NOT_SUPPORTED,
                        "architecture '%.*s' is not supported; Convect %s runs qwen35moe, a newer version may run more",
                        (int)(name.n_bytes < 64 ? name.n_bytes : 64), name.data, build_info_get()->version);
}

static convect_status choose_kernels(convect_model *m, const char *level_name, convect_error *err) {
    const kernel_level level = level_name ? cpu_level_from_name(level_name) : cpu_best_level();
    if (level == KERNEL_LEVEL_COUNT) {
        return convect_fail(err, CONVECT_USAGE, "no kernel level '%s'; there are ref and avx2", level_name);
    }
    if (!cpu_has_level(level)) {
        return convect_fail(err, CONVECT_USAGE, "this CPU cannot run kernel level '%s'", level_name);
    }
    m->kernels = kernel_table_get(level);
    m->ops = kernel_ops_get(level);
    m->info.kernel_level = kernel_level_name(level);
    return CONVECT_OK;
}

static void describe(convect_model *m) {
    m->family->describe(m->weights, &m->info);
    m->info.architecture = m->family->architecture;
    m->info.n_threads = cpu_pool_size(m->pool);
    m->info.file_bytes = gguf_file_bytes(m->file);
    for (int t = 0; t < CONVECT_KV_COUNT; t++) {
        m->info.kv_bytes_per_token[t] =
            kv_bytes_per_token(m->family->kv(m->weights), model_kv_type((convect_kv_type)t));
    }
}

static convect_status open_into(convect_model *m, const char *path, const convect_model_options *options,
                                convect_error *err) {
    convect_status status = gguf_open(path, &m->file, err);
    if (status != CONVECT_OK) return status; /* names the file itself */
    status = choose_family(m, err);
    if (status == CONVECT_OK) status = choose_kernels(m, options->kernel_level, err);
    if (status == CONVECT_OK) status = m->family->bind(m->file, m->log, &m->weights, err);
    if (status != CONVECT_OK) {
        convect_error_context(err, "%s: ", path);
        return status;
    }
    status = cpu_pool_create(options->n_threads, &m->pool, err);
    if (status != CONVECT_OK) return status;
    describe(m);
    /* Mapping is all there is to load: weights are read where they lie. */
    if (options->progress && !options->progress(options->progress_user, m->info.file_bytes, m->info.file_bytes)) {
        return convect_fail(err, CONVECT_CANCELLED, "loading was interrupted");
    }
    return CONVECT_OK;
}

convect_status convect_model_open(const char *path, const convect_model_options *options, convect_model **out,
                                  convect_error *err) {
    static const convect_model_options defaults = {0};
    *out = NULL;
    if (!options) options = &defaults;
    convect_model *m = calloc(1, sizeof *m);
    if (!m) return convect_fail(err, CONVECT_NO_FIT, "no memory for the model");
    m->log = options->log;
    (void)pthread_mutex_init(&m->pool_lock, NULL);
    const convect_status status = open_into(m, path, options, err);
    if (status != CONVECT_OK) {
        convect_model_close(m);
        return status;
    }
    *out = m;
    return CONVECT_OK;
}

void convect_model_close(convect_model *m) {
    if (!m) return;
    cpu_pool_destroy(m->pool);
    (void)pthread_mutex_destroy(&m->pool_lock);
    if (m->family) m->family->unbind(m->weights);
    gguf_close(m->file);
    free(m);
}

void convect_model_describe(const convect_model *m, convect_model_info *out) {
    *out = m->info;
}

const struct gguf *convect_model_gguf(const convect_model *m) {
    return m->file;
}

ops_kv_type model_kv_type(convect_kv_type type) {
    switch (type) {
    case CONVECT_KV_F16: return OPS_KV_F16;
    case CONVECT_KV_F32: return OPS_KV_F32;
    case CONVECT_KV_INT8: return OPS_KV_INT8;
    case CONVECT_KV_COUNT: break;
    }
    return OPS_KV_F16;
}
