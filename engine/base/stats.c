#include "engine/base/stats.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <time.h>

#include "engine/base/check.h"

void stats_init(stats *s, const stats_row *rows, size_t n_rows) {
    CONVECT_CHECK(n_rows <= STATS_ROWS_MAX);
    *s = (stats){.rows = rows, .n_rows = n_rows};
}

static void check_row(const stats *s, size_t i_row, stats_kind kind) {
    CONVECT_CHECK(i_row < s->n_rows && s->rows[i_row].kind == kind);
}

void stats_add(stats *s, size_t i_row, uint64_t amount) {
    check_row(s, i_row, STATS_COUNTER);
    s->total[i_row] += amount;
}

void stats_set(stats *s, size_t i_row, double value) {
    check_row(s, i_row, STATS_VALUE);
    s->value[i_row] = value;
}

uint64_t stats_now_ns(void) {
    struct timespec t;
    CONVECT_CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void stats_time(stats *s, size_t i_row, uint64_t start_ns) {
    check_row(s, i_row, STATS_TIMER);
    s->total[i_row] += stats_now_ns() - start_ns;
    s->n_timed[i_row]++;
}

uint64_t stats_total(const stats *s, size_t i_row) {
    CONVECT_CHECK(i_row < s->n_rows);
    return s->total[i_row];
}

void stats_print(const stats *s, FILE *out) {
    for (size_t i = 0; i < s->n_rows; i++) {
        const char *name = s->rows[i].name;
        switch (s->rows[i].kind) {
        case STATS_COUNTER: fprintf(out, "%-28s %" PRIu64 "\n", name, s->total[i]); break;
        case STATS_TIMER:
            fprintf(out, "%-28s %.1f us in %" PRIu64 "\n", name, (double)s->total[i] / 1e3, s->n_timed[i]);
            break;
        case STATS_VALUE: fprintf(out, "%-28s %g\n", name, s->value[i]); break;
        default: CONVECT_CHECK(!"a kind that exists");
        }
    }
}

static void add_timer(struct json_object *o, const stats *s, size_t i) {
    char key[96];
    (void)snprintf(key, sizeof key, "%s_us", s->rows[i].name);
    json_object_object_add(o, key, json_object_new_double((double)s->total[i] / 1e3));
    (void)snprintf(key, sizeof key, "%s_count", s->rows[i].name);
    json_object_object_add(o, key, json_object_new_uint64(s->n_timed[i]));
}

struct json_object *stats_to_json(const stats *s) {
    struct json_object *o = json_object_new_object();
    for (size_t i = 0; i < s->n_rows; i++) {
        const char *name = s->rows[i].name;
        switch (s->rows[i].kind) {
        case STATS_COUNTER: json_object_object_add(o, name, json_object_new_uint64(s->total[i])); break;
        case STATS_TIMER: add_timer(o, s, i); break;
        case STATS_VALUE: json_object_object_add(o, name, json_object_new_double(s->value[i])); break;
        default: CONVECT_CHECK(!"a kind that exists");
        }
    }
    return o;
}
