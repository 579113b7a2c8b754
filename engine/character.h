/* Characters of text that may be no UTF-8: such a byte counts as a character of its own. */
#ifndef CONVECT_ENGINE_CHARACTER_H
#define CONVECT_ENGINE_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHARACTER_RAW 0x40000000 /* | the byte: its code */

size_t character_read(const char *text, size_t n_bytes, int32_t *code); /* its length; n_bytes > 0 */
size_t character_write(int32_t code, char out[4]);                      /* its length; code as read gives it */
bool character_is_space(int32_t code);                                  /* Python's str.isspace */

#endif
