#include "tools/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_interrupted; /* the one thing a handler may write; a signal belongs to the process */

static void on_interrupt(int signal_number) {
    (void)signal_number;
    is_interrupted = 1;
}

void interrupt_watch(void) {
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND}, old;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler == SIG_IGN) return; /* started in the background */
    (void)sigaction(SIGINT, &action, NULL);
}

bool interrupt_seen(void) {
    return is_interrupted != 0;
}
