#include "tools/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "engine/base/stats.h"

#define REDRAW_NS UINT64_C(100000000)

void progress_begin(progress *p, const char *what, const char *unit, double per_unit, uint64_t n_total, bool is_quiet) {
    *p = (progress){what, unit, per_unit, n_total, 0, !is_quiet && isatty(STDERR_FILENO)};
}

void progress_show(progress *p, uint64_t n_done) {
    if (!p->is_on) return;
    uint64_t now = stats_now_ns();
    if (now - p->shown_ns < REDRAW_NS) return;
    p->shown_ns = now;
    (void)fprintf(stderr, "\r\033[K%s %.0f of %.0f %s", p->what, (double)n_done / p->per_unit,
                  (double)p->n_total / p->per_unit, p->unit);
}

void progress_end(progress *p) {
    if (p->is_on) (void)fputs("\r\033[K", stderr);
}
