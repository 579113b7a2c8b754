#include "engine/metadata.h"

#include <stdio.h>

const gguf_kv *metadata_find(const metadata *m, const char *key) {
    char full[160];
    (void)snprintf(full, sizeof full, "%s.%s", m->prefix, key);
    return gguf_kv_find(m->file, full);
}

static convect_status missing(const metadata *m, const char *key, convect_error *err) {
    return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s is missing", m->prefix, key);
}

convect_status metadata_size_at(const metadata *m, const char *key, size_t i, metadata_range range, size_t *out,
                                convect_error *err) {
    const gguf_kv *kv = metadata_find(m, key);
    if (!kv) return missing(m, key, err);
    const bool is_array = kv->type == GGUF_ARRAY;
    if (is_array && i >= kv->n_elements) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s has %llu elements; element %zu is needed", m->prefix,
                            key, (unsigned long long)kv->n_elements, i);
    }
    uint64_t value;
    if (!gguf_read_u64(kv, is_array ? i : 0, &value)) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s has type %s; a whole number >= 0 is expected",
                            m->prefix, key, gguf_type_name(is_array ? kv->element_type : kv->type));
    }
    if (value < range.min || value > range.max) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s is %llu; expected %llu to %llu", m->prefix, key,
                            (unsigned long long)value, (unsigned long long)range.min, (unsigned long long)range.max);
    }
    *out = (size_t)value;
    return CONVECT_OK;
}

convect_status metadata_size(const metadata *m, const char *key, metadata_range range, size_t *out,
                             convect_error *err) {
    return metadata_size_at(m, key, 0, range, out, err);
}

convect_status metadata_size_or(const metadata *m, const char *key, metadata_range range, size_t fallback, size_t *out,
                                convect_error *err) {
    *out = fallback;
    return metadata_find(m, key) ? metadata_size_at(m, key, 0, range, out, err) : CONVECT_OK;
}

convect_status metadata_float(const metadata *m, const char *key, double min, double max, double *out,
                              convect_error *err) {
    const gguf_kv *kv = metadata_find(m, key);
    if (!kv) return missing(m, key, err);
    double value;
    if (!gguf_read_f64(kv, 0, &value)) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s has type %s; a float is expected", m->prefix, key,
                            gguf_type_name(kv->type));
    }
    if (!(value > min && value < max)) {
        return convect_fail(err, CONVECT_DAMAGED, "metadata %s.%s is %g; expected more than %g and less than %g",
                            m->prefix, key, value, min, max);
    }
    *out = value;
    return CONVECT_OK;
}
