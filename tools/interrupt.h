/* ^C as a question instead of an end. */
#ifndef CONVECT_TOOLS_INTERRUPT_H
#define CONVECT_TOOLS_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT or SIGTERM is remembered, so that a command can end in order (the text so far is
 * complete, no half a file stays); a second one of the kind ends the program at once. */
void interrupt_watch(void);

/* True once one has come. Any thread. */
bool interrupt_seen(void);

#endif
