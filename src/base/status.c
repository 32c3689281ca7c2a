/* SPDX-License-Identifier: BSD-3-Clause */
/* The texts of the status codes. */
#include "base/status.h"

const char *rz_status_text(rz_status_t status)
{
#define RZ_STATUS_STRING(code, text) [code] = (text),
    static const char *const texts[RZ_STATUS_COUNT] = {RZ_STATUS_TABLE(RZ_STATUS_STRING)};
#undef RZ_STATUS_STRING
    return (unsigned)status < RZ_STATUS_COUNT ? texts[status] : "unknown status";
}
