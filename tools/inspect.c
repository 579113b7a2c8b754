/* convect inspect: what a GGUF file holds, from its header alone. */
#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/gguf_summary.h"
#include "engine/text_escape.h"
#include "tools/commands.h"

#define TEXT_COLUMNS      100       /* of a string value or array preview in the text form */
#define TEXT_ELEMENTS     8         /* of an array, at most */
#define JSON_ELEMENTS     64        /* arrays longer than this are shortened to TEXT_ELEMENTS */
#define JSON_STRING_BYTES (1 << 20) /* longer strings are cut */

static gguf_type value_type(const gguf_kv *kv) {
    return kv->type == GGUF_ARRAY ? kv->element_type : kv->type;
}

/* ---- text ---- */

static void print_escaped(const char *data, size_t n_bytes, size_t n_columns) {
    char text[512];
    size_t capacity = n_columns + 1 < sizeof text ? n_columns + 1 : sizeof text;
    (void)text_escape(text, capacity, data, n_bytes);
    (void)fputs(text, stdout);
}

/* Element i of a number or bool value, as short as it reads back. */
static void print_number(const gguf_kv *kv, uint64_t i) {
    uint64_t u = 0;
    int64_t s = 0;
    double f = 0;
    if (value_type(kv) == GGUF_BOOL && gguf_read_u64(kv, i, &u))
        (void)fputs(u ? "true" : "false", stdout);
    else if (gguf_read_u64(kv, i, &u))
        printf("%" PRIu64, u);
    else if (gguf_read_i64(kv, i, &s))
        printf("%" PRId64, s);
    else if (gguf_read_f64(kv, i, &f))
        printf("%.*g", value_type(kv) == GGUF_F32 ? 7 : 16, f);
}

static void print_array(const gguf_kv *kv) {
    gguf_string strings[TEXT_ELEMENTS];
    uint64_t n_shown = kv->n_elements < TEXT_ELEMENTS ? kv->n_elements : TEXT_ELEMENTS;
    bool is_strings = gguf_read_first_strings(kv, n_shown, strings);
    printf("%" PRIu64 " values:", kv->n_elements);
    for (uint64_t i = 0; i < n_shown; i++) {
        (void)fputs(i ? ", " : " ", stdout);
        if (!is_strings) {
            print_number(kv, i);
            continue;
        }
        (void)putchar('"');
        print_escaped(strings[i].data, strings[i].n_bytes, 16);
        (void)putchar('"');
    }
    (void)fputs(n_shown < kv->n_elements ? ", ...\n" : "\n", stdout);
}

static void print_kv(const gguf_kv *kv) {
    char key[64], type[32];
    (void)text_escape(key, sizeof key, kv->key.data, kv->key.n_bytes);
    (void)snprintf(type, sizeof type, "%s%s", gguf_type_name(value_type(kv)), kv->type == GGUF_ARRAY ? "[]" : "");
    printf("  %-44s %-8s ", key, type);
    gguf_string text;
    if (kv->type == GGUF_ARRAY) {
        print_array(kv);
        return;
    }
    if (gguf_read_string(kv, &text))
        print_escaped(text.data, text.n_bytes, TEXT_COLUMNS);
    else
        print_number(kv, 0);
    (void)putchar('\n');
}

static void print_tensor(const gguf *g, const gguf_tensor *t) {
    char name[GGUF_TENSOR_NAME_BYTES * 4], shape[96] = "";
    (void)text_escape(name, sizeof name, t->name, strlen(t->name));
    int n = 0;
    for (uint32_t i = 0; i < t->n_dims; i++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%s%" PRIu64, i ? " x " : "", t->ne[i]);
    printf("  %-44s %-8s %-24s %14" PRIu64 " %15" PRIu64, name, gguf_ggml_type_find(t->ggml_type)->name, shape,
           t->n_bytes, t->file_off);
    if (gguf_n_shards(g) > 1) printf(" %6" PRIu32, t->i_shard + 1);
    (void)putchar('\n');
}

static void print_sum(const char *name, const gguf_sum *sum) {
    if (sum->n_tensors == 0) return;
    printf("  %-16s %8" PRIu64 " %16" PRIu64 " %7.3f %16" PRIu64 "\n", name, sum->n_tensors, sum->n_bytes,
           gguf_bits_per_weight(sum), sum->token_bytes);
}

static void print_sum_head(const char *title) {
    printf("\n%-18s %8s %16s %7s %16s\n", title, "tensors", "bytes", "bits/w", "bytes/token");
}

static void print_notes(const gguf_summary *s) {
    printf("\nBytes per token: one row of the embedding");
    if (s->is_tied && s->parts[GGUF_PART_EMBEDDING].n_tensors) printf(" (here all of it: it is also the head)");
    if (s->has_expert_counts)
        printf(", %" PRIu64 " of %" PRIu64 " experts", s->n_experts_used, s->n_experts);
    else if (s->parts[GGUF_PART_EXPERTS].n_tensors)
        printf(", all experts (the metadata does not say how many are used)");
    printf(", nothing of MTP, all the rest; KV cache and state not counted.\n");
}

static void print_tensors(const gguf *g, const gguf_summary *s) {
    printf("\n%-46s %-8s %-24s %14s %15s%s\n", "tensors", "type", "shape", "bytes", "offset",
           gguf_n_shards(g) > 1 ? "  shard" : "");
    for (size_t i = 0; i < gguf_n_tensors(g); i++) print_tensor(g, gguf_tensor_at(g, i));
    print_sum_head("types");
    for (size_t i = 0; i < s->n_types; i++) print_sum(s->types[i].type->name, &s->types[i].sum);
    print_sum_head("parts");
    for (int i = 0; i < GGUF_PART_COUNT; i++) print_sum(gguf_part_name((gguf_part)i), &s->parts[i]);
    print_sum("total", &s->total);
    print_notes(s);
}

static void print_text(const gguf *g, const gguf_summary *s) {
    for (size_t i = 0; i < gguf_n_shards(g); i++) {
        print_escaped(gguf_shard_path(g, i), strlen(gguf_shard_path(g, i)), 500);
        (void)putchar('\n');
    }
    printf("GGUF version %" PRIu32 ", %zu file%s, %" PRIu64 " bytes, %zu tensors, %.3f bits per weight\n",
           gguf_version(g), gguf_n_shards(g), gguf_n_shards(g) > 1 ? "s" : "", gguf_file_bytes(g), gguf_n_tensors(g),
           gguf_bits_per_weight(&s->total));
    printf("\nmetadata (%zu entries)\n", gguf_n_kv(g));
    for (size_t i = 0; i < gguf_n_kv(g); i++) print_kv(gguf_kv_at(g, i));
    if (gguf_n_tensors(g) > 0) print_tensors(g, s);
}

/* ---- JSON: one object, written piece by piece, so that 2^20 tensors need no tree in memory ---- */

static void add_u64(struct json_object *o, const char *key, uint64_t v) {
    json_object_object_add(o, key, json_object_new_uint64(v));
}

static struct json_object *json_string(const char *data, size_t n_bytes) {
    if (n_bytes > JSON_STRING_BYTES) n_bytes = JSON_STRING_BYTES;
    char *text = malloc(3 * n_bytes + 1);
    if (!text) return NULL;
    struct json_object *o = json_object_new_string_len(text, (int)text_to_utf8(text, data, n_bytes));
    free(text);
    return o;
}

/* JSON has no NaN and no infinity: those become strings. */
static struct json_object *json_float(double v, bool is_f32) {
    char text[40];
    if (isnan(v)) return json_object_new_string("nan");
    if (isinf(v)) return json_object_new_string(v < 0 ? "-inf" : "inf");
    (void)snprintf(text, sizeof text, "%.*g", is_f32 ? 9 : 17, v);
    return json_object_new_double_s(v, text);
}

static struct json_object *json_number(const gguf_kv *kv, uint64_t i) {
    uint64_t u;
    int64_t s;
    double f;
    if (gguf_read_u64(kv, i, &u))
        return value_type(kv) == GGUF_BOOL ? json_object_new_boolean(u != 0) : json_object_new_uint64(u);
    if (gguf_read_i64(kv, i, &s)) return json_object_new_int64(s);
    return gguf_read_f64(kv, i, &f) ? json_float(f, value_type(kv) == GGUF_F32) : NULL;
}

static struct json_object *json_array(const gguf_kv *kv) {
    gguf_string strings[JSON_ELEMENTS];
    struct json_object *o = json_object_new_array();
    uint64_t n_shown = kv->n_elements <= JSON_ELEMENTS ? kv->n_elements : TEXT_ELEMENTS;
    bool is_strings = gguf_read_first_strings(kv, n_shown, strings);
    for (uint64_t i = 0; i < n_shown; i++)
        json_object_array_add(o, is_strings ? json_string(strings[i].data, strings[i].n_bytes) : json_number(kv, i));
    return o;
}

static struct json_object *json_kv(const gguf_kv *kv) {
    struct json_object *o = json_object_new_object();
    gguf_string text;
    json_object_object_add(o, "key", json_string(kv->key.data, kv->key.n_bytes));
    json_object_object_add(o, "type", json_object_new_string(gguf_type_name(kv->type)));
    if (kv->type == GGUF_ARRAY) {
        json_object_object_add(o, "element_type", json_object_new_string(gguf_type_name(kv->element_type)));
        add_u64(o, "n_elements", kv->n_elements);
        json_object_object_add(o, "first", json_array(kv));
    } else if (gguf_read_string(kv, &text)) {
        if (text.n_bytes > JSON_STRING_BYTES) add_u64(o, "n_bytes", text.n_bytes);
        json_object_object_add(o, "value", json_string(text.data, text.n_bytes));
    } else {
        json_object_object_add(o, "value", json_number(kv, 0));
    }
    return o;
}

static struct json_object *json_tensor(const gguf_tensor *t) {
    struct json_object *o = json_object_new_object(), *shape = json_object_new_array();
    json_object_object_add(o, "name", json_string(t->name, strlen(t->name)));
    json_object_object_add(o, "type", json_object_new_string(gguf_ggml_type_find(t->ggml_type)->name));
    for (uint32_t i = 0; i < t->n_dims; i++) json_object_array_add(shape, json_object_new_uint64(t->ne[i]));
    json_object_object_add(o, "shape", shape);
    add_u64(o, "bytes", t->n_bytes);
    add_u64(o, "shard", t->i_shard);
    add_u64(o, "offset", t->file_off);
    return o;
}

static struct json_object *json_sum(const gguf_sum *sum) {
    struct json_object *o = json_object_new_object();
    add_u64(o, "tensors", sum->n_tensors);
    add_u64(o, "weights", sum->n_elems);
    add_u64(o, "bytes", sum->n_bytes);
    json_object_object_add(o, "bits_per_weight", json_object_new_double(gguf_bits_per_weight(sum)));
    add_u64(o, "bytes_per_token", sum->token_bytes);
    return o;
}

/* Prints o after before and gives it back. */
static void put_json(const char *before, struct json_object *o) {
    (void)fputs(before, stdout);
    (void)fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), stdout);
    json_object_put(o);
}

static struct json_object *json_sums_by_type(const gguf_summary *s) {
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < s->n_types; i++)
        json_object_object_add(o, s->types[i].type->name, json_sum(&s->types[i].sum));
    return o;
}

static struct json_object *json_sums_by_part(const gguf_summary *s) {
    struct json_object *o = json_object_new_object();
    for (int i = 0; i < GGUF_PART_COUNT; i++)
        if (s->parts[i].n_tensors) json_object_object_add(o, gguf_part_name((gguf_part)i), json_sum(&s->parts[i]));
    return o;
}

static void print_json(const gguf *g, const gguf_summary *s) {
    (void)fputs("{\n\"files\": [", stdout);
    for (size_t i = 0; i < gguf_n_shards(g); i++)
        put_json(i ? ", " : "", json_string(gguf_shard_path(g, i), strlen(gguf_shard_path(g, i))));
    printf("],\n\"version\": %" PRIu32 ",\n\"file_bytes\": %" PRIu64 ",\n\"metadata\": [", gguf_version(g),
           gguf_file_bytes(g));
    for (size_t i = 0; i < gguf_n_kv(g); i++) put_json(i ? ",\n  " : "\n  ", json_kv(gguf_kv_at(g, i)));
    (void)fputs("],\n\"tensors\": [", stdout);
    for (size_t i = 0; i < gguf_n_tensors(g); i++) put_json(i ? ",\n  " : "\n  ", json_tensor(gguf_tensor_at(g, i)));
    put_json("],\n\"types\": ", json_sums_by_type(s));
    put_json(",\n\"parts\": ", json_sums_by_part(s));
    put_json(",\n\"total\": ", json_sum(&s->total));
    printf(",\n\"head_is_tied\": %s", s->is_tied ? "true" : "false");
    if (s->has_expert_counts)
        printf(",\n\"experts\": %" PRIu64 ",\n\"experts_used\": %" PRIu64, s->n_experts, s->n_experts_used);
    (void)fputs("\n}\n", stdout);
}

convect_status cmd_inspect(const command_context *ctx, convect_error *err) {
    gguf *g = NULL;
    convect_status status = gguf_open(ctx->args[0], &g, err);
    if (status != CONVECT_OK) return status;
    gguf_summary summary;
    gguf_summarise(g, &summary);
    if (option_flag(ctx->options, OPT_JSON))
        print_json(g, &summary);
    else
        print_text(g, &summary);
    gguf_close(g);
    return CONVECT_OK;
}
