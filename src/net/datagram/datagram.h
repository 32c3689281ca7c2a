/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small authenticated datagrams between the members of a job: its daemons, or its processes
 * (mpi/flat/flat.h), each group with a key of its own.
 *
 *   to u32, from u32, number u64, payload, keyed hash of all that
 *
 * Each pair counts its datagrams. One that is not for this member, not of this group, or whose
 * number was seen before (or lies too far back to know) is refused: without the key no sender can
 * make a failed member look alive, not even by repeating its datagrams. The module handles bytes
 * only; sockets belong to the caller.
 */
#ifndef RZ_NET_DATAGRAM_H
#define RZ_NET_DATAGRAM_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_DATAGRAM_PAYLOAD_MAX                                                                    \
    1400u /* with all headers below the 1500 bytes of an Ethernet frame */
#define RZ_DATAGRAM_HEADER_BYTES 16u
#define RZ_DATAGRAM_PROOF_BYTES 32u
#define RZ_DATAGRAM_MAX                                                                            \
    (RZ_DATAGRAM_HEADER_BYTES + RZ_DATAGRAM_PAYLOAD_MAX + RZ_DATAGRAM_PROOF_BYTES)
/* Window of datagram numbers: the highest seen and the 63 below it, which may still arrive, each
 * once. */
#define RZ_DATAGRAM_WINDOW 64u

#define RZ_DATAGRAM_KEY_BYTES 32u

struct rz_datagrams;

/* Opens the sequences of member self of n_members. key: RZ_DATAGRAM_KEY_BYTES, copied. */
rz_status_t rz_datagrams_open(struct rz_datagrams **datagrams, uint32_t n_members, rz_id self,
                              const uint8_t *key);
void rz_datagrams_close(struct rz_datagrams *datagrams); /* NULL: does nothing */

/* Writes the next datagram for `to`; n <= RZ_DATAGRAM_PAYLOAD_MAX. Returns its length. */
size_t rz_datagram_seal(struct rz_datagrams *datagrams, rz_id to, const void *payload, size_t n,
                        uint8_t packet[RZ_DATAGRAM_MAX]);

/*
 * Checks a received datagram; payload points into it. RZ_ERR_MALFORMED: too short or too long.
 * RZ_ERR_AUTHENTICATION: wrong key, changed, from no member, or not for us. RZ_ERR_INVALID: a
 * repetition.
 */
rz_status_t rz_datagram_unseal(struct rz_datagrams *datagrams, const uint8_t *packet, size_t bytes,
                               rz_id *from, const uint8_t **payload, size_t *n);

/* Derives the number-th key from key: for members that start a new sequence, so that datagrams of
 * the old one are refused. */
void rz_datagram_derive(const uint8_t key[RZ_DATAGRAM_KEY_BYTES], uint64_t number,
                        uint8_t derived[RZ_DATAGRAM_KEY_BYTES]);

#endif
