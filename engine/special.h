/* Finds tokens that stand for themselves (control tokens such as <|im_end|>, user-defined ones such as <think>) in
 * text. Built once, then read by any thread. */
#ifndef CONVECT_ENGINE_SPECIAL_H
#define CONVECT_ENGINE_SPECIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPECIAL_BYTES_MAX 256 /* longest text of such a token: bounds the work per byte of text */

typedef struct special_token {
    const char *text; /* borrowed; 1..SPECIAL_BYTES_MAX bytes */
    size_t n_bytes;
    int32_t id;
    bool is_control;
} special_token;

typedef struct special_set {
    special_token *tokens; /* owned; sorted by bytes after special_set_sort, no two alike */
    size_t n;
    size_t first[257]; /* tokens whose text starts with byte b: [first[b], first[b + 1]) */
} special_set;

/* Takes set->tokens[0..set->n) as filled by the caller and makes it ready. */
void special_set_sort(special_set *set);
void special_set_free(special_set *set);

/* Length of the longest token that text begins with, 0 if none; *id receives it. Control tokens count only if asked. */
size_t special_match(const special_set *set, const char *text, size_t n_bytes, bool with_control, int32_t *id);

#endif
