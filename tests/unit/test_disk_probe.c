/* The disk probe on files and folders that can be measured and ones that cannot: no path in a message, nothing left
 * behind. Speeds are not looked at. And the guard against SIGBUS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/pool.h"
#include "offload/disk_probe.h"
#include "tools/bus_guard.h"

static void folder(void **state) {
    (void)state;
    char path[] = "/tmp/convect-probe-XXXXXX";
    assert_non_null(mkdtemp(path));
    disk_read_rate rate;
    convect_error err = {0};
    const convect_status status = disk_probe_read(path, &rate, &err);
    if (status == CONVECT_OK) {
        assert_true(rate.was_written && rate.gb_per_s > 0 && rate.read_bytes >= 4 << 20);
    } else { /* tmpfs before Linux 6.6 */
        assert_int_equal(status, CONVECT_NOT_SUPPORTED);
    }
    assert_int_equal(rmdir(path), 0); /* empty */
}

static void refused(void **state) {
    (void)state;
    char path[] = "/tmp/convect-probe-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    disk_read_rate rate;
    convect_error err = {0};
    assert_int_equal(disk_probe_read(path, &rate, &err), CONVECT_NOT_SUPPORTED);
    assert_null(strstr(err.text, path));
    (void)close(fd);
    (void)unlink(path);
    convect_error_clear(&err);
    assert_int_equal(disk_probe_read(path, &rate, &err), CONVECT_NOT_FOUND);
    assert_null(strstr(err.text, path));
    convect_error_clear(&err);
    assert_int_equal(disk_probe_read("/dev/null", &rate, &err), CONVECT_NOT_SUPPORTED);
}

static void uring(void **state) {
    (void)state;
    int code = -1;
    const disk_uring found = disk_probe_uring(&code);
    assert_true((found == DISK_URING_REFUSED) == (code > 0));
}

static void read_as_last(void *arg, size_t i_worker, size_t n_workers) {
    if (i_worker + 1 == n_workers) _exit(((const volatile uint8_t *)arg)[1 << 15]);
    pause(); /* the caller is worker 0: it must not be the one that reads */
}

/* In a child: maps a file, cuts it, reads beyond its end, in a worker thread if there are several. */
static void read_beyond_end(int fd, int err_fd, size_t n_threads) {
    if (dup2(err_fd, STDERR_FILENO) < 0 || ftruncate(fd, 1 << 16) != 0) _exit(99);
    const volatile uint8_t *map = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ftruncate(fd, 4096) != 0) _exit(99);
    bus_guard_install();
    cpu_pool *pool = NULL;
    if (n_threads > 1 && cpu_pool_create(n_threads, &pool, NULL) != CONVECT_OK) _exit(99);
    if (pool) cpu_pool_run(pool, read_as_last, (void *)(uintptr_t)map);
    _exit(map[1 << 15] + map[0]);
}

static void check_bus_guard(size_t n_threads) {
    FILE *file = tmpfile(), *out = tmpfile();
    assert_true(file && out);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) read_beyond_end(fileno(file), fileno(out), n_threads);
    int status = 0;
    char text[256] = "";
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), convect_status_exit_code(CONVECT_IO));
    rewind(out);
    assert_non_null(fgets(text, sizeof text, out));
    assert_non_null(strstr(text, "convect: a file in use cannot be read any more"));
    assert_int_equal(text[strlen(text) - 1], '\n');
    (void)fclose(file);
    (void)fclose(out);
}

static void bus_guard(void **state) {
    (void)state;
    check_bus_guard(1);
    check_bus_guard(2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(folder), cmocka_unit_test(refused), cmocka_unit_test(uring),
                                       cmocka_unit_test(bus_guard)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
