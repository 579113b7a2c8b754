#include "cpu/read_probe.h"
#include "engine/model.h"

convect_status convect_model_measure_read(convect_model *m, convect_read_rate *out, convect_error *err) {
    cpu_read_rate rate;
    (void)pthread_mutex_lock(&m->pool_lock);
    const convect_status status = cpu_read_probe(m->pool, &rate, err);
    (void)pthread_mutex_unlock(&m->pool_lock);
    if (status == CONVECT_OK) *out = (convect_read_rate){rate.gb_per_s, rate.buffer_bytes, rate.cache_bytes};
    return status;
}
