/* ^C as a question instead of an end. */
#ifndef CONVECT_TOOLS_INTERRUPT_H
#define CONVECT_TOOLS_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT is remembered; a second one ends the program at once. */
void interrupt_watch(void);

/* True once SIGINT has come. Any thread. */
bool interrupt_seen(void);

#endif
