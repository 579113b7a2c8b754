/* A mapped file that becomes shorter, or a disk that fails under it, ends in SIGBUS: said in a sentence instead of a
 * crash. */
#ifndef CONVECT_TOOLS_BUS_GUARD_H
#define CONVECT_TOOLS_BUS_GUARD_H

/* From now on a SIGBUS on memory without a file behind it writes one sentence to stderr and ends the program with the
 * exit code of CONVECT_IO. Any other one keeps its default effect. */
void bus_guard_install(void);

#endif
