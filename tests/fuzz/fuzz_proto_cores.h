/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that fuzz_proto.c is built for: fuzz_proto_protocols.c has them all. */
#ifndef RZ_TESTS_FUZZ_PROTO_PROTOCOLS_H
#define RZ_TESTS_FUZZ_PROTO_PROTOCOLS_H

#include "fuzz_patient.h"

#define FUZZ_PROTOCOL_OF(protocol) fuzz_protocol_##protocol
#define FUZZ_PROTOCOL(protocol) FUZZ_PROTOCOL_OF(protocol)
#define fuzz_proto_protocol FUZZ_PROTOCOL(RZ_FUZZ_PROTOCOL)

extern const struct patient_protocol fuzz_protocol_ring, fuzz_protocol_spread, fuzz_protocol_agree,
    fuzz_protocol_recover, fuzz_protocol_commit, fuzz_protocol_gossip, fuzz_protocol_swim,
    fuzz_protocol_diagnose, fuzz_protocol_paxos, fuzz_protocol_twophase, fuzz_protocol_rounds,
    fuzz_protocol_view_change, fuzz_protocol_snapshot;

#endif
