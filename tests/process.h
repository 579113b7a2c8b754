/* Runs another program from a test: no shell, so no quoting and no system(3). */
#ifndef CONVECT_TESTS_PROCESS_H
#define CONVECT_TESTS_PROCESS_H

#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs argv[0] (looked up in PATH) to its end with stdin from /dev/null; stdout and stderr go to the named files, or
 * stay as they are where NULL. Returns the exit status, or -1 if it could not be run or died of a signal. */
static inline int process_run(const char *const argv[], const char *out_path, const char *err_path) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return -1;
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    int rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (rc == 0 && out_path) rc = posix_spawn_file_actions_addopen(&actions, 1, out_path, flags, 0600);
    if (rc == 0 && err_path) rc = posix_spawn_file_actions_addopen(&actions, 2, err_path, flags, 0600);
    pid_t pid = -1;
    /* the prototype lacks const; the array is not written */
    if (rc == 0) rc = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(const void *)argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    if (rc != 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

#endif
