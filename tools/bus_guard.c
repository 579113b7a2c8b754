#include "tools/bus_guard.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#define EXIT_IO 8 /* of CONVECT_IO (engine/base/status.h) */

/* Only calls that are safe in a handler. A SIGBUS for another reason (BUS_ADRALN: our bug) comes again at once when the
 * handler returns, with its default effect. */
static void on_bus_error(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    static const char text[] =
        "convect: a file in use cannot be read any more: it became shorter (was it overwritten, or "
        "cut by a download?), or its disk reports an error; convect check says more\n";
    if (info->si_code == BUS_ADRERR) {
        const ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
        (void)ignored;
        _exit(EXIT_IO);
    }
    (void)signal(signal_number, SIG_DFL);
}

void bus_guard_install(void) {
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}
