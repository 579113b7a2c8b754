/* convect quantize --verify: the written model beside its source, on a text. */
#ifndef CONVECT_TOOLS_QUANTIZE_VERIFY_H
#define CONVECT_TOOLS_QUANTIZE_VERIFY_H

#include "tools/commands.h"
#include "tools/text_input.h"

/* Evaluates the source (args[0]), then the result (args[1]) against it, and prints the result's figures; one model is
 * open at a time. The source's distributions lie in a temporary file beside the result. */
convect_status quantize_verify(const command_context *ctx, const text_input *text,
                               convect_error *err) CONVECT_MUST_CHECK;

#endif
