/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between a process and its daemon. */
#include "wire/link_messages.h"

#include "fuzz_family.h"

#define CASE(NAME, name)                                                                           \
    case RZ_LINK_##NAME: {                                                                         \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

RZ_FUZZ_FAMILY(link, LINK);
