/* gpu/device.h in a build without CUDA. */
#include "gpu/device.h"

#include "engine/base/check.h"

convect_status gpu_device_count(size_t *n_devices, convect_error *err) {
    (void)err;
    *n_devices = 0;
    return CONVECT_OK;
}

convect_status gpu_device_open(size_t index, gpu_device **out, convect_error *err) {
    *out = NULL;
    return convect_fail(
        err, CONVECT_DEVICE,
        "GPU %zu cannot be used: this convect was built without CUDA; build it where nvcc is installed, "
        "or run on the CPU with --device cpu",
        index);
}

void gpu_device_close(gpu_device *device) {
    CONVECT_CHECK(!device);
}

const gpu_device_info *gpu_device_get_info(const gpu_device *device) {
    CONVECT_CHECK(device); /* none was ever opened */
    return NULL;
}
