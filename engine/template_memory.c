#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/template_internal.h"

#define CHUNK_BYTES ((size_t)64 << 10)

typedef struct memory_chunk {
    struct memory_chunk *next;
    size_t n_bytes; /* keeps what follows aligned to 16 */
} memory_chunk;

_Noreturn void template_fail(template_context *c, convect_status status, const char *fmt, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, fmt);
    (void)vsnprintf(text, sizeof text, fmt, arguments);
    va_end(arguments);
    c->status = convect_fail(c->err, status, "chat template, line %u: %s", c->line, text);
    longjmp(c->fault, 1);
}

static void add_chunk(template_context *c, size_t n_bytes) {
    memory_chunk *chunk = calloc(1, sizeof *chunk + n_bytes);
    if (!chunk) template_fail(c, CONVECT_NO_FIT, "no memory for %zu bytes", n_bytes);
    *chunk = (memory_chunk){c->chunks, n_bytes};
    c->chunks = chunk;
    c->free_begin = (char *)(chunk + 1);
    c->free_end = c->free_begin + n_bytes;
}

void *template_take(template_context *c, size_t n_bytes) {
    if (n_bytes > TEMPLATE_MEMORY_MAX || c->n_memory_bytes > TEMPLATE_MEMORY_MAX - n_bytes)
        template_fail(c, CONVECT_NOT_SUPPORTED, "it needs more than %zu MiB of memory", TEMPLATE_MEMORY_MAX >> 20);
    n_bytes = (n_bytes + 15) / 16 * 16;
    c->n_memory_bytes += n_bytes;
    if (n_bytes > (size_t)(c->free_end - c->free_begin)) add_chunk(c, n_bytes > CHUNK_BYTES ? n_bytes : CHUNK_BYTES);
    void *taken = c->free_begin;
    c->free_begin += n_bytes;
    return taken;
}

void template_release(template_context *c) {
    while (c->chunks) {
        memory_chunk *next = c->chunks->next;
        free(c->chunks);
        c->chunks = next;
    }
    c->free_begin = c->free_end = NULL;
}

void template_step(template_context *c, size_t n_bytes) {
    const size_t n_steps = 1 + (n_bytes >> 10);
    if (n_steps > TEMPLATE_STEPS_MAX - c->n_steps)
        template_fail(c, CONVECT_NOT_SUPPORTED, "it runs for more than %u steps", TEMPLATE_STEPS_MAX);
    c->n_steps += (uint32_t)n_steps;
}

void template_enter(template_context *c) {
    if (c->depth == TEMPLATE_DEPTH_MAX) template_fail(c, CONVECT_NOT_SUPPORTED, "it is nested too deeply");
    c->depth++;
}

void template_leave(template_context *c) {
    c->depth--;
}
