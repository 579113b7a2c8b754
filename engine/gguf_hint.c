/* What the name of a file, and the names around it, tell about a file that does not open. */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/gguf_internal.h"

#define NAME_BYTES   256   /* NAME_MAX and a NUL */
#define N_NAMES_READ 10000 /* of a folder */

static const char *const unfinished[] = {".part",     ".partial", ".incomplete", ".crdownload",
                                         ".download", ".aria2",   ".tmp"};
#define N_UNFINISHED (sizeof unfinished / sizeof unfinished[0])

static bool ends_with(const char *text, const char *end) {
    const size_t n = strlen(text), n_end = strlen(end);
    return n > n_end && strcasecmp(text + n - n_end, end) == 0;
}

const char *gguf_hint_unfinished(const char *path) {
    for (size_t i = 0; i < N_UNFINISHED; i++)
        if (ends_with(path, unfinished[i])) return unfinished[i];
    return NULL;
}

static bool has_sibling(const char *path, const char *suffix) {
    char name[PATH_MAX];
    const int n = snprintf(name, sizeof name, "%s%s", path, suffix);
    return n > 0 && (size_t)n < sizeof name && access(name, F_OK) == 0;
}

const char *gguf_hint_unfinished_sibling(const char *path) {
    for (size_t i = 0; i < N_UNFINISHED; i++)
        if (has_sibling(path, unfinished[i])) return unfinished[i];
    return NULL;
}

bool gguf_hint_has_control_file(const char *path) {
    return has_sibling(path, ".aria2");
}

bool gguf_hint_is_part(const char *path, unsigned *i_part, unsigned *n_parts) {
    const char *at = NULL;
    for (const char *next = strstr(path, ".part"); next; next = strstr(next + 1, ".part")) at = next;
    if (!at || !isdigit((unsigned char)at[5])) return false;
    char *end;
    const unsigned long i = strtoul(at + 5, &end, 10);
    if (strncmp(end, "of", 2) != 0 || !isdigit((unsigned char)end[2])) return false;
    const unsigned long n = strtoul(end + 2, &end, 10);
    if (*end || i < 1 || i > n || n > 1000) return false;
    *i_part = (unsigned)i;
    *n_parts = (unsigned)n;
    return true;
}

bool gguf_hint_add_name(char *out, size_t n_bytes, const char *name, const char *note) {
    const size_t used = strlen(out);
    const int n = snprintf(out + used, n_bytes - used, "%s%s%s", used ? ", " : "", name, note);
    if (n >= 0 && (size_t)n < n_bytes - used) return true;
    out[used] = 0;
    return false;
}

size_t gguf_hint_list(const char *folder, char *out, size_t n_bytes) {
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t n_found = 0;
    out[0] = 0;
    for (int n = 0; dir && n < N_NAMES_READ && (entry = readdir(dir)); n++) {
        struct stat st;
        char size[32];
        if (!ends_with(entry->d_name, ".gguf") || fstatat(dirfd(dir), entry->d_name, &st, 0) != 0) continue;
        (void)snprintf(size, sizeof size, " (%.1f GB)", (double)st.st_size / 1e9);
        n_found++;
        (void)gguf_hint_add_name(out, n_bytes, entry->d_name, size);
    }
    if (dir) (void)closedir(dir);
    return n_found;
}

/* Edits that turn a into b, case ignored; both shorter than NAME_BYTES. */
static size_t distance(const char *a, const char *b) {
    size_t row[NAME_BYTES];
    const size_t n = strlen(b);
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + !same;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

bool gguf_hint_near(const char *path, char *out, size_t n_bytes) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const int n_folder = slash ? (int)(slash - path) + 1 : 1;
    if (strlen(name) >= NAME_BYTES || n_folder >= PATH_MAX) return false;
    (void)snprintf(folder, sizeof folder, "%.*s", n_folder, slash ? path : ".");
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t best = 1 + strlen(name) / 4; /* as far as that counts as near */
    out[0] = 0;
    for (int n = 0; dir && n < N_NAMES_READ && (entry = readdir(dir)); n++) {
        if (!ends_with(entry->d_name, ".gguf") || strlen(entry->d_name) >= n_bytes) continue;
        const size_t d = distance(name, entry->d_name);
        if (d > best) continue;
        best = d;
        (void)snprintf(out, n_bytes, "%s", entry->d_name);
    }
    if (dir) (void)closedir(dir);
    return out[0] != 0;
}
