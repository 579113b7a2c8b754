/* The floating-point mode of the numerics contract (engine/ARCHITECTURE.md): round to nearest even, denormals kept,
 * exceptions masked. A library built with fast math sets another one for the whole process, and a caller may have
 * chosen its own: whoever computes a result enters ours and gives the old one back. A mode belongs to one thread. */
#ifndef CONVECT_CPU_FLOAT_MODE_H
#define CONVECT_CPU_FLOAT_MODE_H

#if defined(__x86_64__)
#include <immintrin.h>

#define FLOAT_MODE_IEEE  0x1f80U
#define FLOAT_MODE_FLAGS 0x3fU /* what has happened so far: no mode */
#endif

/* Returns the mode to be given back. */
static inline unsigned float_mode_enter(void) {
#if defined(__x86_64__)
    const unsigned old = _mm_getcsr();
    if ((old & ~FLOAT_MODE_FLAGS) != FLOAT_MODE_IEEE) _mm_setcsr(FLOAT_MODE_IEEE);
    return old;
#else
    return 0;
#endif
}

static inline void float_mode_leave(unsigned old) {
#if defined(__x86_64__)
    if ((old & ~FLOAT_MODE_FLAGS) != FLOAT_MODE_IEEE) _mm_setcsr(old);
#else
    (void)old;
#endif
}

#endif
