/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between rzrun and a daemon. */
#include "wire/launch_messages.h"

#include "fuzz_family.h"

#define CASE(NAME, name)                                                                           \
    case RZ_LAUNCH_##NAME: {                                                                       \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

RZ_FUZZ_FAMILY(launch, LAUNCH);
