#include "kernels/format.h"

#include <strings.h>

#include "engine/base/check.h"

static const format_traits traits[FORMAT_COUNT] = {
#define X(symbol, id, elems, bytes, rule, bound)                                                                       \
    [FORMAT_##symbol] = {#symbol, id, elems, bytes, FORMAT_RULE_##rule, bound},
    FORMAT_LIST(X)
#undef X
};

/* Every block fits 256-element super-blocks a whole number of times, and float(P) must be exact. */
#define X(symbol, id, elems, bytes, rule, bound)                                                                       \
    _Static_assert(256 % (elems) == 0, "block of " #symbol);                                                           \
    _Static_assert((bound) < 1 << 24, "P of " #symbol);
FORMAT_LIST(X)
#undef X

const format_traits *format_get(format_id id) {
    CONVECT_CHECK((unsigned)id < FORMAT_COUNT);
    return &traits[id];
}

format_id format_from_ggml(uint32_t ggml_type) {
    int i = 0;
    while (i < FORMAT_COUNT && traits[i].ggml_type != ggml_type) i++;
    return (format_id)i;
}

format_id format_from_name(const char *name) {
    int i = 0;
    while (i < FORMAT_COUNT && strcasecmp(traits[i].name, name) != 0) i++;
    return (format_id)i;
}

size_t format_row_bytes(format_id id, size_t k) {
    const format_traits *f = format_get(id);
    return k / f->block_elems * f->block_bytes;
}
