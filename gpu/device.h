/* NVIDIA devices through the CUDA runtime: how many there are, and opening one by index. The same calls exist in a
 * build without CUDA (device_none.c): there, no device is found and opening one fails with a clear sentence.
 *
 * No device on the machine is not an error (Convect then runs on the CPU). A device that is there but cannot be used
 * is: DEVICE, naming the cause and `--device cpu`. Threads: open and use a device from one thread at a time. */
#ifndef CONVECT_GPU_DEVICE_H
#define CONVECT_GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/status.h"

typedef struct gpu_device gpu_device;

typedef struct gpu_device_info {
    int index; /* as CUDA counts them */
    char name[256];
    size_t memory_bytes;  /* all of it */
    size_t free_bytes;    /* when it was opened */
    int capability_major; /* compute capability 9.0: 9 and 0 */
    int capability_minor;
    int n_multiprocessors;
    int driver_cuda_version;  /* newest CUDA version the driver serves, 1000 * major + 10 * minor */
    int runtime_cuda_version; /* of this build */
} gpu_device_info;

/* Number of usable devices: 0 if the machine has none. DEVICE if one is there but the driver is too old, does not fit
 * its kernel module, is missing, or shows none. */
convect_status gpu_device_count(size_t *n_devices, convect_error *err) CONVECT_MUST_CHECK;

/* Opens device `index` and makes it current for the calling thread. Closed with gpu_device_close. */
convect_status gpu_device_open(size_t index, gpu_device **out, convect_error *err) CONVECT_MUST_CHECK;
void gpu_device_close(gpu_device *device); /* NULL is fine */

/* Owned by the device. */
const gpu_device_info *gpu_device_get_info(const gpu_device *device);

/* What the first CUDA call means; pure, for gpu_device_count and its test. code: a cudaError_t; driver_cuda_version: 0
 * if there is no driver library; is_present: the kernel shows an NVIDIA device node. OK: go on (with no device if
 * *n_devices is set to 0). */
convect_status gpu_device_verdict(int code, int driver_cuda_version, bool is_present, size_t *n_devices,
                                  convect_error *err) CONVECT_MUST_CHECK;

#endif
