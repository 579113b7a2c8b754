/* Counters, timers and values of a run in one table, dumped by one call as text or JSON. The rows are static data of
 * the owner (an X-list or array indexed by an enum); the numbers are caller-owned and belong to one thread. Nothing
 * here allocates but stats_to_json. */
#ifndef CONVECT_BASE_STATS_H
#define CONVECT_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_object;

#define STATS_ROWS_MAX 64

typedef enum stats_kind {
    STATS_COUNTER, /* adds up; name carries its unit: "read_bytes" */
    STATS_TIMER,   /* adds up durations; dumped as <name>_us and <name>_count */
    STATS_VALUE,   /* last one set; name carries its unit: "decode_tokens_per_s" */
} stats_kind;

typedef struct stats_row {
    const char *name;
    stats_kind kind;
} stats_row;

typedef struct stats {
    const stats_row *rows; /* borrowed */
    size_t n_rows;
    uint64_t total[STATS_ROWS_MAX]; /* counters; timers: ns */
    uint64_t n_timed[STATS_ROWS_MAX];
    double value[STATS_ROWS_MAX];
} stats;

/* n_rows <= STATS_ROWS_MAX, checked. */
void stats_init(stats *s, const stats_row *rows, size_t n_rows);

void stats_add(stats *s, size_t i_row, uint64_t amount); /* counter */
void stats_set(stats *s, size_t i_row, double value);    /* value */

/* Monotonic clock, and the end of a piece of work: adds the time since start_ns to a timer. */
uint64_t stats_now_ns(void);
void stats_time(stats *s, size_t i_row, uint64_t start_ns);

uint64_t stats_total(const stats *s, size_t i_row); /* counter, or a timer's ns */

void stats_print(const stats *s, FILE *out);       /* a line per row: name, blanks, number */
struct json_object *stats_to_json(const stats *s); /* one flat object; caller puts it */

#endif
