/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seals and unseals datagrams: a keyed hash over addresses, number and payload, and a window of
 * received numbers for each peer.
 */
#include "net/datagram/datagram.h"

#include "base/assert.h"
#include "net/proof/proof.h"
#include "wire/cursor.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RZ_DATAGRAM_PROOF_BYTES == crypto_auth_BYTES, "the proof is one authenticator");
_Static_assert(RZ_DATAGRAM_KEY_BYTES == crypto_auth_KEYBYTES, "the key is the authenticator's");
_Static_assert(RZ_DATAGRAM_KEY_BYTES == RZ_PROOF_KEY_BYTES, "keys are derived by net/proof");

struct peer {
    uint64_t sent;    /* number of the latest datagram to it */
    uint64_t highest; /* number of the latest datagram from it */
    uint64_t seen;    /* bit i: highest - i was received */
};

struct rz_datagrams {
    uint8_t key[RZ_DATAGRAM_KEY_BYTES];
    uint32_t n_members;
    rz_id self;
    struct peer peer[];
};

rz_status_t rz_datagrams_open(struct rz_datagrams **result, uint32_t n_members, rz_id self,
                              const uint8_t *key)
{
    struct rz_datagrams *datagrams =
        calloc(1, sizeof(*datagrams) + n_members * sizeof(datagrams->peer[0]));
    if (!datagrams) {
        return RZ_ERR_NO_MEMORY;
    }
    memcpy(datagrams->key, key, sizeof(datagrams->key));
    datagrams->n_members = n_members;
    datagrams->self = self;
    *result = datagrams;
    return RZ_OK;
}

void rz_datagrams_close(struct rz_datagrams *datagrams)
{
    if (datagrams) {
        sodium_memzero(datagrams->key, sizeof(datagrams->key));
    }
    free(datagrams);
}

size_t rz_datagram_seal(struct rz_datagrams *datagrams, rz_id to, const void *payload, size_t n,
                        uint8_t packet[RZ_DATAGRAM_MAX])
{
    struct rz_wire_writer w;
    rz_assert(to < datagrams->n_members && n <= RZ_DATAGRAM_PAYLOAD_MAX);
    rz_wire_writer_init(&w, packet, RZ_DATAGRAM_HEADER_BYTES);
    rz_wire_put_u32(&w, to);
    rz_wire_put_u32(&w, datagrams->self);
    rz_wire_put_u64(&w, ++datagrams->peer[to].sent);
    memcpy(packet + RZ_DATAGRAM_HEADER_BYTES, payload, n);
    size_t bytes = RZ_DATAGRAM_HEADER_BYTES + n;
    crypto_auth(packet + bytes, packet, bytes, datagrams->key);
    return bytes + RZ_DATAGRAM_PROOF_BYTES;
}

/* Whether number arrives from peer for the first time, as far as the window shows; records it. */
static bool is_new(struct peer *peer, uint64_t number)
{
    if (number > peer->highest) {
        uint64_t ahead = number - peer->highest;
        peer->seen = ahead < RZ_DATAGRAM_WINDOW ? peer->seen << ahead : 0;
        peer->seen |= 1;
        peer->highest = number;
        return true;
    }
    uint64_t behind = peer->highest - number;
    if (behind >= RZ_DATAGRAM_WINDOW || (peer->seen >> behind & 1)) {
        return false;
    }
    peer->seen |= UINT64_C(1) << behind;
    return true;
}

rz_status_t rz_datagram_unseal(struct rz_datagrams *datagrams, const uint8_t *packet, size_t bytes,
                               rz_id *from, const uint8_t **payload, size_t *n)
{
    struct rz_wire_reader r;
    if (bytes < RZ_DATAGRAM_HEADER_BYTES + RZ_DATAGRAM_PROOF_BYTES || bytes > RZ_DATAGRAM_MAX) {
        return RZ_ERR_MALFORMED;
    }
    size_t proved = bytes - RZ_DATAGRAM_PROOF_BYTES;
    if (crypto_auth_verify(packet + proved, packet, proved, datagrams->key) != 0) {
        return RZ_ERR_AUTHENTICATION;
    }
    rz_wire_reader_init(&r, packet, RZ_DATAGRAM_HEADER_BYTES);
    uint32_t to = rz_wire_get_u32(&r);
    *from = rz_wire_get_u32(&r);
    uint64_t number = rz_wire_get_u64(&r);
    if (to != datagrams->self || *from >= datagrams->n_members || *from == datagrams->self) {
        return RZ_ERR_AUTHENTICATION;
    }
    if (number == 0 || !is_new(&datagrams->peer[*from], number)) {
        return RZ_ERR_INVALID;
    }
    *payload = packet + RZ_DATAGRAM_HEADER_BYTES;
    *n = proved - RZ_DATAGRAM_HEADER_BYTES;
    return RZ_OK;
}

void rz_datagram_derive(const uint8_t key[RZ_DATAGRAM_KEY_BYTES], uint64_t number,
                        uint8_t derived[RZ_DATAGRAM_KEY_BYTES])
{
    uint8_t text[sizeof(number)];
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, text, sizeof(text));
    rz_wire_put_u64(&w, number);
    rz_proof_derive(key, "a sequence of datagrams", text, sizeof(text), derived);
}
