/* Launchers of the CUDA kernels, callable from C. Each only queues work on the stream and returns what the launch
 * returned; all pointers are device memory, sizes were checked when the model was bound, outputs overlap nothing else.
 * Threads: any, one stream per caller. */
#ifndef CONVECT_KERNELS_CUDA_LAUNCH_H
#define CONVECT_KERNELS_CUDA_LAUNCH_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Activation records (kernels/act.h, contract 2.1) of n_rows vectors of k elements, k a multiple of 32.
 * x: [n_rows][k] f32; records: [n_rows] of act_bytes(k) bytes each, 4-byte aligned. */
cudaError_t launch_act_quantize(const float *x, size_t k, size_t n_rows, uint8_t *records, cudaStream_t stream);

/* out[i] = swiglu(gate[i], up[i]), i < n (contract 2.3). out may be gate or up. */
cudaError_t launch_swiglu(const float *gate, const float *up, size_t n, float *out, cudaStream_t stream);

/* cudaErrorNoKernelImageForDevice (or another error) if this build holds no code for the current device. */
cudaError_t launch_check_device(void);

#ifdef __cplusplus
}
#endif
#endif
