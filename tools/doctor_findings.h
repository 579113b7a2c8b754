/* What `convect doctor` finds out about a machine: one finding a part, each a line for people, figures for scripts, and
 * a hint where something can be done. Nothing in a finding names a user, a host, or a file. */
#ifndef CONVECT_TOOLS_DOCTOR_FINDINGS_H
#define CONVECT_TOOLS_DOCTOR_FINDINGS_H

#include <stddef.h>

struct json_object;

typedef enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* works, but could work better */
    DOCTOR_PROBLEM, /* something that should work does not */
} doctor_state;

typedef struct doctor_finding {
    const char *name; /* "CPU" */
    doctor_state state;
    char text[256];
    char hint[256];              /* "": nothing to do */
    struct json_object *figures; /* an object */
} doctor_finding;

#define DOCTOR_FINDINGS_MAX 16

/* Fills out with all findings, at most DOCTOR_FINDINGS_MAX; disk_path is the file or folder whose disk is measured
 * (about a second). Returns their number. */
size_t doctor_examine(const char *disk_path, doctor_finding out[DOCTOR_FINDINGS_MAX]);
void doctor_findings_free(doctor_finding *findings, size_t n);

const char *doctor_state_name(doctor_state state); /* "ok", "note", "problem" */

#endif
