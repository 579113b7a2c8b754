#include "gpu/device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/check.h"
#include "kernels/cuda/launch.h"

#define NODES_MAX 16 /* device nodes looked for: /dev/nvidia0 ... */
#define ADVICE    "or run on the CPU with --device cpu"

struct gpu_device {
    gpu_device_info info;
};

static bool node_exists(void) {
    for (int i = 0; i < NODES_MAX; i++) {
        char path[32];
        snprintf(path, sizeof path, "/dev/nvidia%d", i);
        if (access(path, F_OK) == 0) return true;
    }
    return access("/dev/dxg", F_OK) == 0; /* Windows subsystem for Linux */
}

static convect_status fail_driver(int driver_cuda_version, convect_error *err) {
    if (driver_cuda_version == 0) {
        return convect_fail(
            err, CONVECT_DEVICE,
            "an NVIDIA GPU is here but its driver library libcuda.so.1 is not: install the driver, " ADVICE);
    }
    return convect_fail(
        err, CONVECT_DEVICE,
        "the NVIDIA driver is too old: it serves CUDA %d.%d, this build needs %d.%d; update the driver, " ADVICE,
        driver_cuda_version / 1000, driver_cuda_version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
}

convect_status gpu_device_verdict(int code, int driver_cuda_version, bool is_present, size_t *n_devices,
                                  convect_error *err) {
    if (code == cudaSuccess) return CONVECT_OK;
    *n_devices = 0;
    if (!is_present && (code == cudaErrorNoDevice || driver_cuda_version == 0)) return CONVECT_OK;
    if (code == cudaErrorInsufficientDriver) return fail_driver(driver_cuda_version, err);
    if (code == cudaErrorNoDevice) {
        return convect_fail(err, CONVECT_DEVICE,
                            "an NVIDIA GPU is here but the driver shows none (is CUDA_VISIBLE_DEVICES set?): make one "
                            "visible, " ADVICE);
    }
    return convect_fail(err, CONVECT_DEVICE, "the NVIDIA driver failed: %s; restart or reinstall it, " ADVICE,
                        cudaGetErrorString((cudaError_t)code));
}

convect_status gpu_device_count(size_t *n_devices, convect_error *err) {
    int n = 0, driver = 0;
    cudaError_t code = cudaGetDeviceCount(&n);
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    *n_devices = code == cudaSuccess ? (size_t)n : 0;
    return gpu_device_verdict((int)code, driver, node_exists(), n_devices, err);
}

static convect_status check_cuda(cudaError_t code, size_t index, const char *what, convect_error *err) {
    if (code == cudaSuccess) return CONVECT_OK;
    return convect_fail(err, CONVECT_DEVICE, "GPU %zu: %s: %s; use another with --device, " ADVICE, index, what,
                        cudaGetErrorString(code));
}

static convect_status read_info(size_t index, gpu_device_info *info, convect_error *err) {
    struct cudaDeviceProp prop;
    convect_status status =
        check_cuda(cudaGetDeviceProperties(&prop, (int)index), index, "cannot read properties", err);
    if (status != CONVECT_OK) return status;
    info->index = (int)index;
    snprintf(info->name, sizeof info->name, "%s", prop.name);
    info->capability_major = prop.major;
    info->capability_minor = prop.minor;
    info->n_multiprocessors = prop.multiProcessorCount;
    status = check_cuda(cudaMemGetInfo(&info->free_bytes, &info->memory_bytes), index, "cannot read memory", err);
    if (status != CONVECT_OK) return status;
    status = check_cuda(cudaDriverGetVersion(&info->driver_cuda_version), index, "cannot read the driver version", err);
    if (status != CONVECT_OK) return status;
    return check_cuda(cudaRuntimeGetVersion(&info->runtime_cuda_version), index, "cannot read the runtime version",
                      err);
}

convect_status gpu_device_open(size_t index, gpu_device **out, convect_error *err) {
    *out = NULL;
    size_t n_devices = 0;
    convect_status status = gpu_device_count(&n_devices, err);
    if (status != CONVECT_OK) return status;
    if (index >= n_devices) {
        return convect_fail(err, CONVECT_DEVICE, "there is no GPU %zu: this machine shows %zu; " ADVICE, index,
                            n_devices);
    }
    status = check_cuda(cudaSetDevice((int)index), index, "cannot be opened", err);
    if (status != CONVECT_OK) return status;
    gpu_device *device = calloc(1, sizeof *device);
    if (!device) return convect_fail(err, CONVECT_NO_FIT, "out of memory for a GPU handle");
    status = read_info(index, &device->info, err);
    if (status == CONVECT_OK) {
        status = check_cuda(launch_check_device(), index, "this build has no kernels for it (`convect version`)", err);
    }
    if (status != CONVECT_OK) {
        gpu_device_close(device);
        return status;
    }
    *out = device;
    return CONVECT_OK;
}

void gpu_device_close(gpu_device *device) {
    free(device);
}

const gpu_device_info *gpu_device_get_info(const gpu_device *device) {
    CONVECT_CHECK(device);
    return &device->info;
}
