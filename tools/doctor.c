/* convect doctor [PATH]: what this machine offers, with a hint where something can be better. Exit 0 whatever it finds:
 * a machine without a GPU is no error. */
#include <json-c/json.h>
#include <stdio.h>

#include "engine/base/json.h"
#include "tools/commands.h"
#include "tools/doctor_findings.h"
#include "tools/output_path.h"

static void print_text(const doctor_finding *findings, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const doctor_finding *d = &findings[i];
        printf("%-10s  %-7s  %s\n", d->name, doctor_state_name(d->state), d->text);
        if (d->hint[0]) printf("%-10s  %-7s  -> %s\n", "", "", d->hint);
    }
}

/* Takes over the figures' references by counting them once more. */
static json_object *to_json(const doctor_finding *findings, size_t n) {
    json_object *o = json_object_new_object(), *list = json_object_new_array();
    for (size_t i = 0; i < n; i++) {
        const doctor_finding *d = &findings[i];
        json_object *one = json_object_new_object();
        json_object_object_add(one, "name", json_object_new_string(d->name));
        json_object_object_add(one, "state", json_object_new_string(doctor_state_name(d->state)));
        json_object_object_add(one, "text", json_object_new_string(d->text));
        json_object_object_add(one, "hint", d->hint[0] ? json_object_new_string(d->hint) : NULL);
        json_object_object_add(one, "figures", json_object_get(d->figures));
        json_object_array_add(list, one);
    }
    json_object_object_add(o, "findings", list);
    return o;
}

convect_status cmd_doctor(const command_context *ctx, convect_error *err) {
    const char *path = ctx->n_args > 0 ? ctx->args[0] : ".";
    convect_status status = output_check_file(option_text(ctx->options, OPT_REPORT), path, err);
    if (status != CONVECT_OK) return status;
    doctor_finding findings[DOCTOR_FINDINGS_MAX];
    const size_t n = doctor_examine(path, findings);
    json_object *o = to_json(findings, n);
    if (option_flag(ctx->options, OPT_JSON))
        printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
    else
        print_text(findings, n);
    if (option_is_set(ctx->options, OPT_REPORT))
        status = json_file_write(option_text(ctx->options, OPT_REPORT), o, err);
    json_object_put(o);
    doctor_findings_free(findings, n);
    return status;
}
