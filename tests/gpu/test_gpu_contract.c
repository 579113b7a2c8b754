/* The CUDA kernels of the numerics contract give the bits of the plain-C reference: activation records, SwiGLU, exp,
 * binary16. Needs a device; exit 77 (skipped) where the machine has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/numerics.h"
#include "kernels/table.h"
#include "tests/gpu/probe.h"
#include "tests/gpu/samples.h"

#define EXIT_SKIPPED 77
#define N_SAMPLES    (1U << 20)

static void *to_device(const void *host, size_t n_bytes) { /* host NULL: filled with a pattern */
    void *device = NULL;
    assert_int_equal(cudaMalloc(&device, n_bytes), cudaSuccess);
    assert_int_equal(host ? cudaMemcpy(device, host, n_bytes, cudaMemcpyHostToDevice)
                          : cudaMemset(device, 0xa5, n_bytes),
                     cudaSuccess);
    return device;
}

static void *to_host(void *device, size_t n_bytes) { /* and frees the device's copy */
    void *host = malloc(n_bytes);
    assert_non_null(host);
    assert_int_equal(cudaMemcpy(host, device, n_bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_int_equal(cudaFree(device), cudaSuccess);
    return host;
}

static float *samples(uint64_t seed, size_t n, size_t elems_per_kind) {
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    sample_rng rng = {seed};
    for (size_t i = 0; i < n; i++) x[i] = sample_value(&rng, i / elems_per_kind);
    return x;
}

static void check_records(size_t k, size_t n_rows) {
    float *x = samples(k * 31 + n_rows, k * n_rows, 32);
    size_t n_bytes = act_bytes(k) * n_rows;
    float *device_x = to_device(x, k * n_rows * sizeof *x);
    uint8_t *device_records = to_device(NULL, n_bytes);
    assert_int_equal(launch_act_quantize(device_x, k, n_rows, device_records, NULL), cudaSuccess);
    uint8_t *got = to_host(device_records, n_bytes), *expected = malloc(n_bytes);
    assert_non_null(expected);
    for (size_t row = 0; row < n_rows; row++) {
        kernel_table_get(KERNEL_LEVEL_REF)->act_quantize(x + row * k, k, act_view_at(expected + row * act_bytes(k), k));
    }
    assert_memory_equal(got, expected, n_bytes); /* the stored NaN is one bit pattern */
    assert_int_equal(cudaFree(device_x), cudaSuccess);
    free(x);
    free(got);
    free(expected);
}

static void activation_records(void **state) {
    (void)state;
    static const size_t sizes[] = {32, 64, 512, 640, 2048, 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_records(sizes[i], 1);
        check_records(sizes[i], 7);
    }
    check_records(2048, 2048); /* more blocks than the largest grid has warps */
}

static void swiglu(void **state) {
    (void)state;
    float *gate = samples(11, N_SAMPLES, 1), *up = samples(12, N_SAMPLES, SAMPLE_KINDS);
    size_t n_bytes = N_SAMPLES * sizeof *gate;
    float *expected = malloc(n_bytes);
    assert_non_null(expected);
    kernel_table_get(KERNEL_LEVEL_REF)->swiglu(gate, up, N_SAMPLES, expected);
    float *device_gate = to_device(gate, n_bytes), *device_up = to_device(up, n_bytes);
    assert_int_equal(launch_swiglu(device_gate, device_up, N_SAMPLES, device_gate, NULL), cudaSuccess); /* in place */
    float *got = to_host(device_gate, n_bytes);
    for (size_t i = 0; i < N_SAMPLES; i++) assert_true(sample_same(got[i], expected[i]));
    assert_int_equal(cudaFree(device_up), cudaSuccess);
    free(gate);
    free(up);
    free(expected);
    free(got);
}

static void exp_values(void **state) {
    (void)state;
    float *x = samples(13, N_SAMPLES, 1);
    float *device_x = to_device(x, N_SAMPLES * sizeof *x);
    assert_int_equal(probe_launch_exp(device_x, N_SAMPLES, device_x), cudaSuccess);
    float *got = to_host(device_x, N_SAMPLES * sizeof *x);
    for (size_t i = 0; i < N_SAMPLES; i++) assert_true(sample_same(got[i], numerics_exp(x[i])));
    free(x);
    free(got);
}

static void half_values(void **state) {
    (void)state;
    enum { N_HALF = 65536 };
    uint16_t *h = malloc(N_HALF * sizeof *h);
    assert_non_null(h);
    for (uint32_t i = 0; i < N_HALF; i++) h[i] = (uint16_t)i;
    uint16_t *device_h = to_device(h, N_HALF * sizeof *h);
    float *device_f = to_device(NULL, N_HALF * sizeof(float));
    assert_int_equal(probe_launch_half_to_float(device_h, N_HALF, device_f), cudaSuccess);
    float *f = to_host(device_f, N_HALF * sizeof *f);
    for (uint32_t i = 0; i < N_HALF; i++) assert_true(sample_same(f[i], half_to_float(h[i])));

    float *x = samples(14, N_HALF, 1);
    device_f = to_device(x, N_HALF * sizeof *x);
    assert_int_equal(probe_launch_half_from_float(device_f, N_HALF, device_h), cudaSuccess);
    uint16_t *got = to_host(device_h, N_HALF * sizeof *got);
    for (uint32_t i = 0; i < N_HALF; i++) {
        assert_true(sample_same(half_to_float(got[i]), half_to_float(half_from_float(x[i]))));
    }
    assert_int_equal(cudaFree(device_f), cudaSuccess);
    free(h);
    free(f);
    free(x);
    free(got);
}

int main(void) {
    convect_error err = {0};
    size_t n_devices = 0;
    gpu_device *device = NULL;
    if (gpu_device_count(&n_devices, &err) == CONVECT_OK && n_devices == 0) {
        printf("no NVIDIA device here: skipped\n");
        return EXIT_SKIPPED;
    }
    if (gpu_device_open(0, &device, &err) != CONVECT_OK) {
        fprintf(stderr, "%s\n", err.text);
        return EXIT_FAILURE;
    }
    const gpu_device_info *info = gpu_device_get_info(device);
    printf("%s, %zu MiB, compute capability %d.%d\n", info->name, info->memory_bytes >> 20, info->capability_major,
           info->capability_minor);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_records),
        cmocka_unit_test(swiglu),
        cmocka_unit_test(exp_values),
        cmocka_unit_test(half_values),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_device_close(device);
    return n_failed;
}
