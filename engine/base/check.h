/* Checks for our own bugs: a failed one prints the condition, file and line to stderr and aborts. Three tiers:
 * CONVECT_CHECK always, CONVECT_DEBUG_CHECK in debug and sanitizer builds (CONVECT_CHECK_TIER >= 1),
 * CONVECT_EXPENSIVE_CHECK where a check costs as much as the work (tier >= 2). Independent of NDEBUG. Faults of the
 * world never come here: they return a convect_status. */
#ifndef CONVECT_BASE_CHECK_H
#define CONVECT_BASE_CHECK_H

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CONVECT_CHECK_TIER
#define CONVECT_CHECK_TIER 0
#endif

#if defined(__GNUC__)
__attribute__((noreturn, cold))
#endif
void convect_check_failed(const char *condition, const char *file, int line);

#define CONVECT_CHECK(cond) ((cond) ? (void)0 : convect_check_failed(#cond, __FILE__, __LINE__))
#if CONVECT_CHECK_TIER >= 1
#define CONVECT_DEBUG_CHECK(cond) CONVECT_CHECK(cond)
#else
#define CONVECT_DEBUG_CHECK(cond) ((void)sizeof(cond))
#endif
#if CONVECT_CHECK_TIER >= 2
#define CONVECT_EXPENSIVE_CHECK(cond) CONVECT_CHECK(cond)
#else
#define CONVECT_EXPENSIVE_CHECK(cond) ((void)sizeof(cond))
#endif

#ifdef __cplusplus
}
#endif
#endif
