/* What the first CUDA call means for the user: no device is fine, one that cannot be used is an error that names cause
 * and way out. Needs no device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "gpu/device.h"

static void expect_fine(int code, int driver, bool is_present, size_t n_expected) {
    convect_error err = {0};
    size_t n = 3;
    assert_int_equal(gpu_device_verdict(code, driver, is_present, &n, &err), CONVECT_OK);
    assert_int_equal(n, n_expected);
}

static void expect_error(int code, int driver, const char *words) {
    convect_error err = {0};
    size_t n = 3;
    assert_int_equal(gpu_device_verdict(code, driver, true, &n, &err), CONVECT_DEVICE);
    assert_int_equal(n, 0);
    assert_non_null(strstr(err.text, words));
    assert_non_null(strstr(err.text, "--device cpu"));
}

static void no_device_is_fine(void **state) {
    (void)state;
    expect_fine(cudaSuccess, 13000, true, 3);
    expect_fine(cudaErrorInsufficientDriver, 0, false, 0); /* no driver library: what CUDA says then */
    expect_fine(cudaErrorNoDevice, 13000, false, 0);       /* a driver, but no card */
}

static void present_but_failing_is_an_error(void **state) {
    (void)state;
    expect_error(cudaErrorInsufficientDriver, 0, "libcuda.so.1");
    expect_error(cudaErrorInsufficientDriver, 11040, "serves CUDA 11.4");
    expect_error(cudaErrorNoDevice, 13000, "CUDA_VISIBLE_DEVICES");
    expect_error(cudaErrorSystemDriverMismatch, 13000, "driver failed");
}

static void open_beyond_the_last(void **state) {
    (void)state;
    convect_error err = {0};
    gpu_device *device = NULL;
    assert_int_equal(gpu_device_open(1000, &device, &err), CONVECT_DEVICE);
    assert_null(device);
    assert_true(err.text[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device_is_fine),
        cmocka_unit_test(present_but_failing_is_an_error),
        cmocka_unit_test(open_beyond_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
