#include "tools/doctor_findings.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cpu/features.h"
#include "cpu/machine.h"
#include "engine/base/build_info.h"
#include "engine/base/check.h"
#include "gpu/device.h"
#include "offload/disk_probe.h"
#include "offload/memory.h"

#define GIB            0x1p30
#define RAM_LOW_BYTES  (UINT64_C(8) << 30)  /* a 4-bit 35B-A3B file alone has some 20 GB */
#define MEMLOCK_LOW    (UINT64_C(64) << 20) /* buffers that io_uring registers count against it */
#define DISK_SLOW_GB_S 1.0                  /* experts from disk want an NVMe drive */

typedef struct finding_list {
    doctor_finding *out;
    size_t n;
} finding_list;

static doctor_finding *add(finding_list *f, const char *name) {
    CONVECT_CHECK(f->n < DOCTOR_FINDINGS_MAX);
    doctor_finding *finding = &f->out[f->n++];
    *finding = (doctor_finding){.name = name, .figures = json_object_new_object()};
    return finding;
}

CONVECT_PRINTF(3, 4) static void say(char *out, size_t n_bytes, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(out, n_bytes, fmt, args);
    va_end(args);
}

#define SAY(f, ...)  say((f)->text, sizeof(f)->text, __VA_ARGS__)
#define HINT(f, ...) say((f)->hint, sizeof(f)->hint, __VA_ARGS__)

static void add_count(doctor_finding *f, const char *key, uint64_t n) {
    json_object_object_add(f->figures, key, json_object_new_uint64(n));
}

static void add_text(doctor_finding *f, const char *key, const char *text) {
    json_object_object_add(f->figures, key, json_object_new_string(text));
}

/* ---- the processor ---- */

static void find_program(finding_list *f) {
    const build_info *build = build_info_get();
    doctor_finding *d = add(f, "Convect");
    SAY(d, "%s, commit %s%s, %s, %s CUDA", build->version, build->commit, build->dirty_mark, build->configuration,
        build->has_cuda ? "with" : "without");
    add_text(d, "version", build->version);
    add_text(d, "commit", build->commit);
    add_text(d, "dirty_mark", build->dirty_mark);
    add_text(d, "compiler", build->compiler);
    add_text(d, "configuration", build->configuration);
}

static void find_cpu(finding_list *f) {
    cpu_machine machine;
    cpu_machine_describe(&machine);
    doctor_finding *d = add(f, "CPU");
    SAY(d, "%s, %zu cores (%zu logical), %.0f MB of last-level cache", machine.name, machine.n_cores,
        cpu_count_logical(), (double)machine.cache_bytes / 1e6);
    add_text(d, "model", machine.name);
    add_count(d, "cores", machine.n_cores);
    add_count(d, "logical", cpu_count_logical());
    add_count(d, "cache_bytes", machine.cache_bytes);
}

static void find_levels(finding_list *f) {
    doctor_finding *d = add(f, "ISA");
    char flags[CPU_FLAGS_BYTES];
    cpu_machine_flags(flags);
    json_object *levels = json_object_new_array();
    for (int i = 0; i < KERNEL_LEVEL_COUNT; i++)
        if (cpu_has_level((kernel_level)i))
            json_object_array_add(levels, json_object_new_string(kernel_level_name((kernel_level)i)));
    const char *best = kernel_level_name(cpu_best_level());
    SAY(d, "uses kernel level %s; the CPU has: %s", best, flags[0] ? flags : "none of the extensions looked for");
    json_object_object_add(d->figures, "levels", levels);
    add_text(d, "level", best);
    add_text(d, "flags", flags);
    if (cpu_best_level() != KERNEL_LEVEL_REF) return;
    d->state = DOCTOR_NOTE;
    HINT(d, "without AVX2, FMA, F16C and BMI2 answers are right but slow; a virtual machine may hide them");
}

/* ---- memory ---- */

static void find_ram(finding_list *f) {
    cpu_machine machine;
    cpu_machine_describe(&machine);
    const uint64_t available = memory_available_bytes();
    doctor_finding *d = add(f, "RAM");
    add_count(d, "total_bytes", machine.ram_bytes);
    if (available == UINT64_MAX) {
        SAY(d, "%.1f GiB; the system does not say how much is available", (double)machine.ram_bytes / GIB);
        return;
    }
    SAY(d, "%.1f GiB, %.1f GiB available", (double)machine.ram_bytes / GIB, (double)available / GIB);
    add_count(d, "available_bytes", available);
    if (available >= RAM_LOW_BYTES) return;
    d->state = DOCTOR_NOTE;
    HINT(d, "models of 30 billion weights need some 20 GiB; convect plan MODEL says what one would take");
}

/* The chosen word of a sysfs setting like "always [madvise] never", or "". */
static void chosen_word(const char *path, char *out, size_t n_bytes) {
    char line[128] = "";
    FILE *file = fopen(path, "re");
    out[0] = 0;
    if (!file) return;
    if (fgets(line, sizeof line, file)) {
        const char *begin = strchr(line, '[');
        if (begin) (void)snprintf(out, n_bytes, "%.*s", (int)strcspn(begin + 1, "]"), begin + 1);
    }
    (void)fclose(file);
}

static void find_huge_pages(finding_list *f) {
    char word[32];
    chosen_word("/sys/kernel/mm/transparent_hugepage/enabled", word, sizeof word);
    doctor_finding *d = add(f, "Huge pages");
    SAY(d, "transparent huge pages: %s", word[0] ? word : "unknown");
    add_text(d, "transparent", word);
    if (strcmp(word, "never") != 0) return;
    d->state = DOCTOR_NOTE;
    HINT(d, "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (fewer TLB misses)");
}

static void find_allocator(finding_list *f) {
    const build_info *build = build_info_get();
    const char *version = "";
    for (size_t i = 0; i < build->n_libraries; i++)
        if (strcmp(build->libraries[i].name, "mimalloc") == 0) version = build->libraries[i].version;
    doctor_finding *d = add(f, "Allocator");
    SAY(d, "%s%s", version[0] ? "mimalloc " : "the C library's", version);
    add_text(d, "name", version[0] ? "mimalloc" : "libc");
    add_text(d, "version", version);
}

/* ---- devices ---- */

static void find_gpu(finding_list *f, size_t i) {
    doctor_finding *d = add(f, "GPU");
    gpu_device *device = NULL;
    convect_error err = {0};
    add_count(d, "index", i);
    if (gpu_device_open(i, &device, &err) != CONVECT_OK) {
        d->state = DOCTOR_PROBLEM;
        SAY(d, "number %zu cannot be used", i);
        HINT(d, "%s", err.text);
        return;
    }
    const gpu_device_info *g = gpu_device_get_info(device);
    SAY(d, "%s, %.1f GiB, %.1f GiB free, compute capability %d.%d; driver for CUDA %d.%d, built with %d.%d", g->name,
        (double)g->memory_bytes / GIB, (double)g->free_bytes / GIB, g->capability_major, g->capability_minor,
        g->driver_cuda_version / 1000, g->driver_cuda_version % 1000 / 10, g->runtime_cuda_version / 1000,
        g->runtime_cuda_version % 1000 / 10);
    add_text(d, "model", g->name);
    add_count(d, "memory_bytes", g->memory_bytes);
    add_count(d, "free_bytes", g->free_bytes);
    add_count(d, "driver_cuda_version", (uint64_t)g->driver_cuda_version);
    add_count(d, "runtime_cuda_version", (uint64_t)g->runtime_cuda_version);
    gpu_device_close(device);
}

static void find_gpus(finding_list *f) {
    size_t n = 0;
    convect_error err = {0};
    const convect_status status = gpu_device_count(&n, &err);
    if (status == CONVECT_OK && n > 0) {
        for (size_t i = 0; i < n && f->n < DOCTOR_FINDINGS_MAX / 2; i++) find_gpu(f, i);
        return;
    }
    doctor_finding *d = add(f, "GPU");
    add_count(d, "count", 0);
    if (status == CONVECT_OK) {
        SAY(d, "%s",
            build_info_get()->has_cuda ? "none found: everything runs on the CPU"
                                       : "this build has no CUDA: everything runs on the CPU");
        return;
    }
    d->state = DOCTOR_PROBLEM;
    SAY(d, "there is one, but it cannot be used");
    HINT(d, "%s", err.text);
}

static void find_disk(finding_list *f, const char *path) {
    doctor_finding *d = add(f, "Disk");
    disk_read_rate rate;
    convect_error err = {0};
    const convect_status status = disk_probe_read(path, &rate, &err);
    add_count(d, "free_bytes", rate.free_bytes);
    if (status != CONVECT_OK) {
        d->state = status == CONVECT_NOT_SUPPORTED ? DOCTOR_NOTE : DOCTOR_PROBLEM;
        SAY(d, "direct reads were not measured: %s", err.text);
        HINT(d, "give a model file or a folder on the disk that holds the models: convect doctor PATH");
        return;
    }
    SAY(d, "direct reads %.2f GB/s (%.0f MB%s, 4 MiB at a time), %.1f GB free", rate.gb_per_s,
        (double)rate.read_bytes / 1e6, rate.was_written ? " just written" : " of the file",
        (double)rate.free_bytes / 1e9);
    json_object_object_add(d->figures, "read_gb_per_s", json_object_new_double(rate.gb_per_s));
    add_count(d, "read_bytes", rate.read_bytes);
    json_object_object_add(d->figures, "was_written", json_object_new_boolean(rate.was_written));
    if (rate.gb_per_s >= DISK_SLOW_GB_S) return;
    d->state = DOCTOR_NOTE;
    HINT(d, "loading will be slow, and experts should not stay on this disk: an NVMe drive reads several GB/s");
}

static void find_uring(finding_list *f) {
    doctor_finding *d = add(f, "io_uring");
    int code = 0;
    const disk_uring state = disk_probe_uring(&code);
    json_object_object_add(d->figures, "is_available", json_object_new_boolean(state == DISK_URING_READY));
    if (state == DISK_URING_READY) {
        SAY(d, "available");
        return;
    }
    d->state = DOCTOR_NOTE;
    if (state == DISK_URING_NOT_BUILT) {
        SAY(d, "this build has no liburing");
        HINT(d, "install liburing-dev and build again");
        return;
    }
    SAY(d, "refused by the system: %s", strerror(code));
    HINT(d, "containers and sysctl kernel.io_uring_disabled can forbid it; plain reads are used instead");
}

static void find_memlock(finding_list *f) {
    struct rlimit limit;
    doctor_finding *d = add(f, "memlock");
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        SAY(d, "no limit");
        return;
    }
    SAY(d, "at most %.1f MiB may be locked (ulimit -l)", (double)limit.rlim_cur / 0x1p20);
    add_count(d, "limit_bytes", limit.rlim_cur);
    if (limit.rlim_cur >= MEMLOCK_LOW) return;
    d->state = DOCTOR_NOTE;
    HINT(d, "more room lets buffers stay registered: raise memlock in /etc/security/limits.conf");
}

size_t doctor_examine(const char *disk_path, doctor_finding out[DOCTOR_FINDINGS_MAX]) {
    finding_list f = {out, 0};
    find_program(&f);
    find_cpu(&f);
    find_levels(&f);
    find_ram(&f);
    find_gpus(&f);
    find_disk(&f, disk_path);
    find_uring(&f);
    find_memlock(&f);
    find_huge_pages(&f);
    find_allocator(&f);
    return f.n;
}

void doctor_findings_free(doctor_finding *findings, size_t n) {
    for (size_t i = 0; i < n; i++) json_object_put(findings[i].figures);
}

const char *doctor_state_name(doctor_state state) {
    static const char *const names[] = {"ok", "note", "problem"};
    return names[state];
}
