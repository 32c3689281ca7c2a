/* SPDX-License-Identifier: BSD-3-Clause */
/* What gateways of different nodes tell each other. */
#include "gateway/peer_messages.h"

#include "fuzz_family.h"

#define CASE(NAME, name)                                                                           \
    case RZ_PEER_##NAME: {                                                                         \
        __typeof__(&message->name) m = &message->name;                                             \
        (void)m;
#define END(NAME, name)                                                                            \
    break;                                                                                         \
    }

RZ_FUZZ_FAMILY(peer, PEER);
