/* A line of progress on stderr, redrawn in place and wiped at the end: only on a terminal. One thread. */
#ifndef CONVECT_TOOLS_PROGRESS_H
#define CONVECT_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    const char *what; /* "quantising"; borrowed */
    const char *unit; /* "MB" */
    double per_unit;  /* counts per unit: 1e6 */
    uint64_t n_total; /* in counts */
    uint64_t shown_ns;
    bool is_on;
} progress;

void progress_begin(progress *p, const char *what, const char *unit, double per_unit, uint64_t n_total, bool is_quiet);
void progress_show(progress *p, uint64_t n_done); /* redraws at most 10 times a second */
void progress_end(progress *p);

#endif
