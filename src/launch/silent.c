/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule by which rzrun measures the silence of a daemon. */
#include "launch/silent.h"

rz_time rz_silent_look(struct rz_silent *silence, rz_time passed, char state)
{
    rz_time counts = passed < RZ_SILENT_LOOK ? passed : RZ_SILENT_LOOK;
    if (state == 'R') {
        counts /= RZ_SILENT_STARVED;
    }
    silence->lasted = silence->heard ? 0 : silence->lasted + counts;
    silence->heard = false;
    return silence->lasted;
}
