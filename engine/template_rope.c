/* Text as pieces with an origin. Bytes are never copied by concatenation, so a conversation is held once. */
#include <string.h>

#include "engine/template_internal.h"

rope *rope_new(template_context *c) {
    return template_take(c, sizeof(rope));
}

/* Makes room for one more piece at the end of r; the block is shared with shorter ropes that begin alike. */
static rope_piece *add_piece(template_context *c, rope *r) {
    rope_block *block = r->block;
    if (!block || block->n_used != r->n_pieces || block->n_used == block->cap) {
        const size_t cap = r->n_pieces < 2 ? 2 : 2 * r->n_pieces;
        block = template_take(c, sizeof *block + cap * sizeof *block->pieces);
        block->cap = cap;
        if (r->block) memcpy(block->pieces, r->block->pieces, r->n_pieces * sizeof *block->pieces);
        r->block = block;
    }
    block->n_used = ++r->n_pieces;
    return &block->pieces[r->n_pieces - 1];
}

void rope_push(template_context *c, rope *r, const char *data, size_t n_bytes, bool from_user) {
    if (n_bytes == 0) return;
    if (n_bytes > TEMPLATE_BYTES_MAX - r->n_bytes)
        template_fail(c, CONVECT_NOT_SUPPORTED, "it makes more than %zu MiB of text", TEMPLATE_BYTES_MAX >> 20);
    *add_piece(c, r) = (rope_piece){data, n_bytes, from_user};
    r->n_bytes += n_bytes;
    r->flat = r->n_pieces == 1 ? data : NULL;
}

void rope_push_copy(template_context *c, rope *r, const char *data, size_t n_bytes, bool from_user) {
    if (n_bytes == 0) return;
    char *copy = template_take(c, n_bytes);
    memcpy(copy, data, n_bytes);
    rope_push(c, r, copy, n_bytes, from_user);
}

void rope_push_text(template_context *c, rope *r, const char *literal) {
    rope_push(c, r, literal, strlen(literal), false);
}

void rope_push_rope(template_context *c, rope *r, const rope *tail) {
    const size_t n = tail->n_pieces; /* tail may be r, whose block may move */
    for (size_t i = 0; i < n; i++) {
        const rope_piece piece = tail->block->pieces[i];
        rope_push(c, r, piece.data, piece.n_bytes, piece.from_user);
    }
    template_step(c, 64 * n);
}

rope *rope_of(template_context *c, const char *data, size_t n_bytes, bool from_user) {
    rope *r = rope_new(c);
    rope_push(c, r, data, n_bytes, from_user);
    return r;
}

rope *rope_concat(template_context *c, const rope *a, const rope *b) {
    rope *r = rope_new(c);
    *r = *a;
    rope_push_rope(c, r, b);
    return r;
}

rope *rope_slice(template_context *c, const rope *r, size_t begin, size_t n_bytes) {
    if (n_bytes > r->n_bytes) n_bytes = r->n_bytes;
    rope *out = rope_new(c);
    size_t n_before = 0;
    for (size_t i = 0; i < r->n_pieces && out->n_bytes < n_bytes; i++) {
        const rope_piece *piece = &r->block->pieces[i];
        if (begin < n_before + piece->n_bytes) {
            const size_t skipped = begin > n_before ? begin - n_before : 0, n_left = n_bytes - out->n_bytes;
            const size_t n = piece->n_bytes - skipped < n_left ? piece->n_bytes - skipped : n_left;
            rope_push(c, out, piece->data + skipped, n, piece->from_user);
        }
        n_before += piece->n_bytes;
    }
    if (r->flat && out->n_bytes > 0) out->flat = r->flat + begin;
    template_step(c, 16 * r->n_pieces);
    return out;
}

const char *rope_flat(template_context *c, rope *r) {
    if (r->n_bytes == 0) return "";
    if (r->flat) return r->flat;
    char *flat = template_take(c, r->n_bytes);
    size_t off = 0;
    for (size_t i = 0; i < r->n_pieces; i++) {
        memcpy(flat + off, r->block->pieces[i].data, r->block->pieces[i].n_bytes);
        off += r->block->pieces[i].n_bytes;
    }
    template_step(c, r->n_bytes);
    return r->flat = flat;
}

void rope_seal(template_context *c, rope *r) {
    (void)rope_flat(c, r);
    if (r->block) r->block->n_used = SIZE_MAX; /* nobody appends in place */
}

bool rope_is(template_context *c, rope *r, const char *text) {
    return r->n_bytes == strlen(text) && memcmp(rope_flat(c, r), text, r->n_bytes) == 0;
}

int rope_compare(template_context *c, rope *a, rope *b) {
    const size_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;
    template_step(c, n);
    const int order = memcmp(rope_flat(c, a), rope_flat(c, b), n);
    return order != 0 ? order : (a->n_bytes > b->n_bytes) - (a->n_bytes < b->n_bytes);
}

size_t rope_find(template_context *c, rope *r, rope *needle, size_t begin) {
    if (begin > r->n_bytes) return SIZE_MAX;
    const char *text = rope_flat(c, r);
    const char *found = memmem(text + begin, r->n_bytes - begin, rope_flat(c, needle), needle->n_bytes);
    const size_t at = found ? (size_t)(found - text) : SIZE_MAX;
    template_step(c, found ? at - begin : r->n_bytes - begin);
    return at;
}

size_t rope_n_characters(template_context *c, rope *r) {
    const char *text = rope_flat(c, r);
    size_t n = 0;
    int32_t code;
    for (size_t off = 0; off < r->n_bytes; n++) off += character_read(text + off, r->n_bytes - off, &code);
    template_step(c, r->n_bytes);
    return n;
}
