/* JSON tensor lists -> model_list; the form is in tools/model_list.h. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "tools/model_list.h"

#define LIST_BYTES_MAX  ((size_t)256 << 20)
#define LIST_SHARDS_MAX 999
#define LIST_DIM_MAX    (UINT64_C(1) << 40)
#define LIST_ELEMS_MAX  (UINT64_C(1) << 48)
#define LIST_ARRAY_MAX  (UINT64_C(1) << 24) /* elements of a metadata array */

static bool is_type(json_object *o, json_type type) {
    return o && json_object_is_type(o, type);
}

/* Text of member `name`, or NULL. */
static const char *text_of(json_object *o, const char *name) {
    json_object *v = json_object_object_get(o, name);
    return is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
}

/* Whole number of member `name` within [0, max], or fallback. */
static uint64_t number_of(json_object *o, const char *name, uint64_t max, uint64_t fallback) {
    json_object *v = json_object_object_get(o, name);
    if (!is_type(v, json_type_int) || json_object_get_int64(v) < 0) return fallback;
    uint64_t n = json_object_get_uint64(v);
    return n <= max ? n : fallback;
}

static gguf_type type_by_name(const char *name) {
    for (int t = 0; name && t < GGUF_TYPE_COUNT; t++) {
        if (strcmp(name, gguf_type_name((gguf_type)t)) == 0) return (gguf_type)t;
    }
    return GGUF_TYPE_COUNT;
}

/* Packs one JSON scalar as a value of type; bytes written, 0 if it has another kind. Numbers only. */
static size_t pack_number(json_object *v, gguf_type type, uint8_t out[8]) {
    static const size_t bytes[GGUF_TYPE_COUNT] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
        [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};
    bool is_number = is_type(v, json_type_int) || is_type(v, json_type_double);
    if (type == GGUF_BOOL ? !is_type(v, json_type_boolean) : !is_number) return 0;
    if (type == GGUF_F32) {
        float f = (float)json_object_get_double(v);
        memcpy(out, &f, sizeof f);
    } else if (type == GGUF_F64) {
        double f = json_object_get_double(v);
        memcpy(out, &f, sizeof f);
    } else {
        int64_t i = json_object_get_int64(v);
        if (is_type(v, json_type_double)) return 0;
        if (type == GGUF_U64) i = (int64_t)json_object_get_uint64(v);
        memcpy(out, &i, sizeof i); /* little-endian: the low bytes are the narrower value */
    }
    return bytes[type];
}

static convect_status add_string(model_list *list, json_object *o, const char *key, convect_error *err) {
    json_object *v = json_object_object_get(o, "value");
    size_t n = is_type(v, json_type_string) ? (size_t)json_object_get_string_len(v) : 0;
    if (!is_type(v, json_type_string) || number_of(o, "n_bytes", UINT64_MAX, 0) > n) { /* to be made up */
        return model_list_add_kv(list, key, GGUF_STRING, GGUF_STRING, 1, NULL, 0, err);
    }
    uint8_t *packed = malloc(8 + n);
    if (!packed) return convect_fail(err, CONVECT_NO_FIT, "out of memory for the value of %s", key);
    uint64_t n_bytes = n;
    memcpy(packed, &n_bytes, 8);
    memcpy(packed + 8, json_object_get_string(v), n);
    convect_status status = model_list_add_kv(list, key, GGUF_STRING, GGUF_STRING, 1, packed, 8 + n, err);
    free(packed);
    return status;
}

static convect_status bad_kv(const char *key, const char *what, convect_error *err) {
    return convect_fail(err, CONVECT_DAMAGED, "metadata entry \"%s\" of the tensor list %s", key, what);
}

static convect_status add_numbers(model_list *list, json_object *o, const char *key, gguf_type type, uint64_t n,
                                  convect_error *err) {
    json_object *first = json_object_object_get(o, "first");
    size_t n_first = is_type(first, json_type_array) ? json_object_array_length(first) : 0;
    if (n > 0 && (n_first == 0 || n_first > n)) return bad_kv(key, "has no \"first\" elements, or too many", err);
    uint8_t *packed = malloc(n ? n * 8 : 1);
    if (!packed) return convect_fail(err, CONVECT_NO_FIT, "out of memory for the array %s", key);
    size_t used = 0;
    convect_status status = CONVECT_OK;
    for (uint64_t i = 0; i < n && !status; i++) {
        uint8_t value[8];
        size_t bytes = pack_number(json_object_array_get_idx(first, i < n_first ? i : n_first - 1), type, value);
        if (bytes == 0) status = bad_kv(key, "has an element of another type", err);
        memcpy(packed + used, value, bytes);
        used += bytes;
    }
    if (!status) status = model_list_add_kv(list, key, GGUF_ARRAY, type, n, packed, used, err);
    free(packed);
    return status;
}

static convect_status add_array(model_list *list, json_object *o, const char *key, convect_error *err) {
    gguf_type element = type_by_name(text_of(o, "element_type"));
    uint64_t n = number_of(o, "n_elements", LIST_ARRAY_MAX, UINT64_MAX);
    if (element == GGUF_TYPE_COUNT || element == GGUF_ARRAY) return bad_kv(key, "has no usable element_type", err);
    if (n == UINT64_MAX) return bad_kv(key, "has no usable n_elements", err);
    bool is_tokenizer = strncmp(key, "tokenizer.", 10) == 0;
    if (is_tokenizer) return model_list_add_kv(list, key, GGUF_ARRAY, element, n, NULL, 0, err); /* made up */
    if (element == GGUF_STRING) return CONVECT_OK; /* general.tags and the like: nothing a model needs */
    return add_numbers(list, o, key, element, n, err);
}

static convect_status add_kv(model_list *list, json_object *o, convect_error *err) {
    const char *key = is_type(o, json_type_object) ? text_of(o, "key") : NULL;
    if (!key) return convect_fail(err, CONVECT_DAMAGED, "the tensor list has a metadata entry without a key");
    if (strncmp(key, "split.", 6) == 0) return CONVECT_OK;
    gguf_type type = type_by_name(text_of(o, "type"));
    if (type == GGUF_TYPE_COUNT) return bad_kv(key, "has no known type", err);
    if (type == GGUF_STRING) return add_string(list, o, key, err);
    if (type == GGUF_ARRAY) return add_array(list, o, key, err);
    uint8_t value[8];
    size_t n_bytes = pack_number(json_object_object_get(o, "value"), type, value);
    if (n_bytes == 0) return bad_kv(key, "has no value of its type", err);
    return model_list_add_kv(list, key, type, type, 1, value, n_bytes, err);
}

static bool read_shape(json_object *shape, list_tensor *t) {
    if (!is_type(shape, json_type_array)) return false;
    size_t n = json_object_array_length(shape);
    if (n < 1 || n > 4) return false;
    uint64_t n_elems = 1;
    t->n_dims = (uint32_t)n;
    for (size_t i = 0; i < 4; i++) {
        json_object *v = i < n ? json_object_array_get_idx(shape, i) : NULL;
        if (i < n && (!is_type(v, json_type_int) || json_object_get_int64(v) < 1)) return false;
        t->ne[i] = i < n ? json_object_get_uint64(v) : 1;
        if (t->ne[i] > LIST_DIM_MAX || t->ne[i] > LIST_ELEMS_MAX / n_elems) return false;
        n_elems *= t->ne[i];
    }
    return true;
}

static convect_status add_tensor(model_list *list, json_object *o, convect_error *err) {
    const char *name = is_type(o, json_type_object) ? text_of(o, "name") : NULL;
    list_tensor t = {0};
    if (!name || strlen(name) >= sizeof t.name) {
        return convect_fail(err, CONVECT_DAMAGED, "the tensor list has a tensor without a usable name");
    }
    memcpy(t.name, name, strlen(name) + 1);
    const char *type = text_of(o, "type");
    t.format = type ? format_from_name(type) : FORMAT_COUNT;
    if (t.format == FORMAT_COUNT) {
        return convect_fail(err, CONVECT_NOT_SUPPORTED, "tensor %s of the list has type %s, which Convect has not",
                            name, type ? type : "(none)");
    }
    if (!read_shape(json_object_object_get(o, "shape"), &t) || t.ne[0] % format_get(t.format)->block_elems != 0) {
        return convect_fail(err, CONVECT_DAMAGED, "tensor %s of the list has no shape that fits its type", name);
    }
    t.i_shard = number_of(o, "shard", LIST_SHARDS_MAX - 1, 0);
    if (t.i_shard >= list->n_shards) list->n_shards = t.i_shard + 1;
    return model_list_add_tensor(list, &t, err);
}

typedef convect_status (*add_entry)(model_list *list, json_object *o, convect_error *err);

static convect_status add_all(model_list *list, json_object *root, const char *member, add_entry add,
                              convect_error *err) {
    json_object *entries = json_object_object_get(root, member);
    if (!is_type(entries, json_type_array)) {
        return convect_fail(err, CONVECT_DAMAGED, "a tensor list needs an array \"%s\"", member);
    }
    convect_status status = CONVECT_OK;
    size_t n = json_object_array_length(entries);
    for (size_t i = 0; i < n && !status; i++) status = add(list, json_object_array_get_idx(entries, i), err);
    return status;
}

convect_status model_list_read(const char *path, model_list *out, convect_error *err) {
    *out = (model_list){0};
    json_object *root = NULL;
    convect_status status = json_file_read(path, LIST_BYTES_MAX, &root, err);
    if (status) return status;
    json_object *files = json_object_object_get(root, "files");
    size_t n_files = is_type(files, json_type_array) ? json_object_array_length(files) : 1;
    out->n_shards = n_files >= 1 && n_files <= LIST_SHARDS_MAX ? n_files : 1;
    status = add_all(out, root, "metadata", add_kv, err);
    if (!status) status = add_all(out, root, "tensors", add_tensor, err);
    if (status) convect_error_context(err, "%s: ", path);
    json_object_put(root);
    return status;
}
