/* The room that fuzz_proto.c is built for: fuzz_proto_rooms.c has them all. */
#ifndef RZ_TESTS_FUZZ_PROTO_ROOMS_H
#define RZ_TESTS_FUZZ_PROTO_ROOMS_H

#include "fuzz_patient.h"

#define FUZZ_ROOM_OF(room) fuzz_room_##room
#define FUZZ_ROOM(room) FUZZ_ROOM_OF(room)
#define fuzz_proto_room FUZZ_ROOM(RZ_FUZZ_ROOM)

extern const struct patient_room fuzz_room_ring, fuzz_room_spread, fuzz_room_agree,
    fuzz_room_recover, fuzz_room_commit, fuzz_room_gossip, fuzz_room_swim, fuzz_room_diagnose,
    fuzz_room_paxos, fuzz_room_twophase, fuzz_room_rounds, fuzz_room_turn;

#endif
