/* kernels/cuda/contract.cuh compiled for the host gives the bits of plain C. Needs nvcc, no device: this is what CI
 * knows about the CUDA arithmetic; test_gpu_contract repeats it on a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kernels/numerics.h"
#include "kernels/table.h"
#include "tests/gpu/probe.h"
#include "tests/gpu/samples.h"

#define N_SAMPLES (1U << 18)

static void exp_and_swiglu(void **state) {
    (void)state;
    sample_rng rng = {1};
    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        float gate = sample_value(&rng, i), up = sample_value(&rng, i / SAMPLE_KINDS), expected = 0.0F;
        assert_true(sample_same(probe_host_exp(gate), numerics_exp(gate)));
        kernel_table_get(KERNEL_LEVEL_REF)->swiglu(&gate, &up, 1, &expected);
        assert_true(sample_same(probe_host_swiglu(gate, up), expected));
    }
}

static void half_values(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        assert_true(sample_same(probe_host_half_to_float((uint16_t)h), half_to_float((uint16_t)h)));
    }
    sample_rng rng = {2};
    for (uint32_t i = 0; i < N_SAMPLES; i++) {
        float x = sample_value(&rng, i);
        uint16_t a = probe_host_half_from_float(x), b = half_from_float(x);
        assert_true(a == b || sample_same(half_to_float(a), half_to_float(b)));
    }
}

static void activation_blocks(void **state) {
    (void)state;
    sample_rng rng = {3};
    uint32_t record[48 / sizeof(uint32_t)]; /* act_bytes(32) = 48 */
    for (size_t i_block = 0; i_block < 4096; i_block++) {
        float x[32], ds[2];
        int8_t q[32];
        int32_t sum16[2];
        for (int i = 0; i < 32; i++) x[i] = sample_value(&rng, i_block);
        act_view act = act_view_at(record, 32);
        kernel_table_get(KERNEL_LEVEL_REF)->act_quantize(x, 32, act);
        probe_host_block(x, q, ds, sum16);
        assert_memory_equal(q, act.q, 32);
        assert_memory_equal(ds, act.ds, sizeof ds);
        assert_memory_equal(sum16, act.sum16, sizeof sum16);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_and_swiglu),
        cmocka_unit_test(half_values),
        cmocka_unit_test(activation_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
