/* The functions of kernels/cuda/contract.cuh made callable from the tests, on the device and (same source) on the host.
 */
#ifndef CONVECT_TESTS_GPU_PROBE_H
#define CONVECT_TESTS_GPU_PROBE_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t probe_launch_exp(const float *x, size_t n, float *out);                /* device pointers */
cudaError_t probe_launch_half_to_float(const uint16_t *x, size_t n, float *out);   /* device pointers */
cudaError_t probe_launch_half_from_float(const float *x, size_t n, uint16_t *out); /* device pointers */

float probe_host_exp(float x);
float probe_host_swiglu(float gate, float up);
float probe_host_half_to_float(uint16_t h);
uint16_t probe_host_half_from_float(float x);
/* One block of 32 by the scalar steps of the contract: codes, {da, s}, sums of 16. */
void probe_host_block(const float *x, int8_t *q, float *ds, int32_t *sum16);

#ifdef __cplusplus
}
#endif
#endif
