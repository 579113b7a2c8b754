/* Text from outside made safe to show: files and prompts may hold control characters, terminal commands, direction
 * marks and bytes that are no UTF-8. Pure functions; any thread. */
#ifndef CONVECT_ENGINE_TEXT_ESCAPE_H
#define CONVECT_ENGINE_TEXT_ESCAPE_H

#include <stddef.h>

/* Writes data for a terminal into out (capacity >= 8 bytes, always NUL-terminated): one line, printable characters as
 * they are, backslash and the rest as \\ \n \r \t \xNN (a byte) or \u{NNNN} (a character that shows nothing or changes
 * the direction). What does not fit is replaced by "...". Returns the length. */
size_t text_escape(char *out, size_t capacity, const char *data, size_t n_bytes);

/* Writes data as valid UTF-8 into out (capacity >= 3 * n_bytes + 1): each byte that is no part of a valid character
 * becomes U+FFFD; NULs stay. Returns the length without the terminator. */
size_t text_to_utf8(char *out, const char *data, size_t n_bytes);

#endif
