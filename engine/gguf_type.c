/* The type numbers of GGUF: value types of metadata, and tensor types of ggml with the ids we name but refuse. */
#include "engine/gguf_internal.h"
#include "kernels/format.h"

typedef struct value_type {
    const char *name;
    uint32_t n_bytes; /* 0: variable */
} value_type;

static const value_type value_types[GGUF_TYPE_COUNT] = {
    [GGUF_U8] = {"u8", 1},         [GGUF_I8] = {"i8", 1},       [GGUF_U16] = {"u16", 2}, [GGUF_I16] = {"i16", 2},
    [GGUF_U32] = {"u32", 4},       [GGUF_I32] = {"i32", 4},     [GGUF_F32] = {"f32", 4}, [GGUF_BOOL] = {"bool", 1},
    [GGUF_STRING] = {"string", 0}, [GGUF_ARRAY] = {"array", 0}, [GGUF_U64] = {"u64", 8}, [GGUF_I64] = {"i64", 8},
    [GGUF_F64] = {"f64", 8},
};

const char *gguf_type_name(gguf_type type) {
    return (unsigned)type < GGUF_TYPE_COUNT ? value_types[type].name : "?";
}

size_t gguf_type_bytes(gguf_type type) {
    return (unsigned)type < GGUF_TYPE_COUNT ? value_types[type].n_bytes : 0;
}

static const gguf_ggml_type ggml_types[] = {
#define X(symbol, id, elems, bytes, rule, bound) {id, #symbol, elems, bytes},
    FORMAT_LIST(X)
#undef X
        {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
};

const gguf_ggml_type *gguf_ggml_type_find(uint32_t id) {
    for (size_t i = 0; i < sizeof ggml_types / sizeof ggml_types[0]; i++)
        if (ggml_types[i].id == id) return &ggml_types[i];
    return NULL;
}

typedef struct refused_type {
    uint32_t id_first, id_last;
    const char *name; /* NULL: many */
    const char *why;
} refused_type;

#define REMOVED  "removed from GGUF; get a newer file of the model"
#define REPACKED "a repacked form that was removed from GGUF; get the plain file, which has the same weights as "
#define INTERNAL "a form for activations that no weight file should hold"
#define IK_ONLY  "exists only in ik_llama.cpp; get a file that was quantised with mainline llama.cpp"

static const refused_type refused[] = {
    {4, 4, "Q4_2", REMOVED},
    {5, 5, "Q4_3", REMOVED},
    {9, 9, "Q8_1", INTERNAL},
    {15, 15, "Q8_K", INTERNAL},
    {31, 31, "Q4_0_4_4", REPACKED "Q4_0"},
    {32, 32, "Q4_0_4_8", REPACKED "Q4_0"},
    {33, 33, "Q4_0_8_8", REPACKED "Q4_0"},
    {36, 36, "I2_S of ik_llama.cpp or IQ4_NL_4_4", "not in mainline GGUF any more; get a newer file of the model"},
    {37, 37, "IQ4_NL_4_8", REPACKED "IQ4_NL"},
    {38, 38, "IQ4_NL_8_8", REPACKED "IQ4_NL"},
    {133, 133, "Q6_0", IK_ONLY},
    {134, 134, "IQ1_BN", IK_ONLY},
    {135, 135, "IQ2_BN", IK_ONLY},
    {136, 136, "Q8_K64", IK_ONLY},
    {137, 137, "IQ2_K", IK_ONLY},
    {138, 138, "IQ3_K", IK_ONLY},
    {139, 139, "IQ4_K", IK_ONLY},
    {140, 140, "IQ5_K", IK_ONLY},
    {141, 141, "IQ6_K", IK_ONLY},
    {144, 144, "IQ4_KS", IK_ONLY},
    {145, 145, "IQ2_KS", IK_ONLY},
    {146, 146, "IQ4_KSS", IK_ONLY},
    {152, 152, "IQ5_KS", IK_ONLY},
    {153, 153, "IQ2_KT", IK_ONLY},
    {154, 154, "IQ3_KT", IK_ONLY},
    {155, 155, "IQ4_KT", IK_ONLY},
    {156, 156, "IQ3_KS", IK_ONLY},
    {157, 157, "IQ2_KL", IK_ONLY},
    {158, 158, "IQ1_KT", IK_ONLY},
    {202, 399, "an interleaved _R4/_R8/_R16 repack", IK_ONLY},
};

convect_status gguf_refuse_type(const gguf_shard *s, const char *tensor, uint32_t id, convect_error *err) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (id >= refused[i].id_first && id <= refused[i].id_last)
            return gguf_fail(s, err, CONVECT_NOT_SUPPORTED, "tensor %s has type %u (%s): %s", tensor, id,
                             refused[i].name, refused[i].why);
    return gguf_fail(
        s, err, CONVECT_NOT_SUPPORTED,
        "tensor %s has type %u, which Convect does not know (a damaged file, or one newer than this program)", tensor,
        id);
}
