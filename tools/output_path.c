#include "tools/output_path.h"

#include <sys/stat.h>

convect_status output_check_file(const char *out, const char *in, convect_error *err) {
    struct stat a, b;
    if (!out || !in || stat(out, &a) != 0 || stat(in, &b) != 0) return CONVECT_OK;
    if (!S_ISREG(a.st_mode) || a.st_dev != b.st_dev || a.st_ino != b.st_ino) return CONVECT_OK;
    return convect_fail(err, CONVECT_USAGE, "%s is the file being read: name another one to write", out);
}

convect_status output_check_model(const char *out, const gguf *model, convect_error *err) {
    convect_status status = CONVECT_OK;
    for (size_t i = 0; i < gguf_n_shards(model) && status == CONVECT_OK; i++)
        status = output_check_file(out, gguf_shard_path(model, i), err);
    return status;
}
