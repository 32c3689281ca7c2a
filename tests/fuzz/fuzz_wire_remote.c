/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon on another host is started with. */
#include "wire/remote_messages.h"

#include "fuzz_family.h"

#define CASE(NAME, name)                                                                           \
    case RZ_REMOTE_##NAME: {                                                                       \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

RZ_FUZZ_FAMILY(remote, REMOTE);
