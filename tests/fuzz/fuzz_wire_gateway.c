/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon and its gateway tell each other. */
#include "wire/gateway_messages.h"

#include "fuzz_family.h"

#define CASE(NAME, name)                                                                           \
    case RZ_GATEWAY_##NAME: {                                                                      \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

RZ_FUZZ_FAMILY(gateway, GATEWAY);
