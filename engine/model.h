/* A loaded model inside the engine: the mapped file, the family's weights, the kernels and workers of this machine.
 * Immutable after open, except that the pool serves one session at a time (lock). */
#ifndef CONVECT_ENGINE_MODEL_H
#define CONVECT_ENGINE_MODEL_H

#include <pthread.h>

#include "engine/family.h"

struct convect_model {
    gguf *file;
    const family *family;
    void *weights; /* the family's */
    cpu_pool *pool;
    pthread_mutex_t pool_lock; /* held for the length of a forward pass: a pool has one caller at a time */
    const kernel_table *kernels;
    const kernel_ops *ops;
    const convect_log *log;
    convect_model_info info;
};

/* The KV element type in terms of kernels. */
ops_kv_type model_kv_type(convect_kv_type type);

#endif
