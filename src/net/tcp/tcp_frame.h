/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The byte format of a connection. First the handshake, of fixed lengths:
 *
 *   challenge  acceptor -> connector: magic u32, nonce
 *   hello      connector -> acceptor: job u64, name u64, slot u32, incarnation u32, stream u32,
 *              nonce, proof
 *   welcome    acceptor -> connector: proof
 *
 * Then frames, from connector to acceptor only: kind u32, header bytes u32, payload bytes u32,
 * padding bytes u32, id u64, place u64, the user's header, the padding, the payload. Streams above
 * 0 carry pieces only.
 *
 * The padding is for the kernel, which puts what is sent one behind the other into pages of its
 * own: a payload that begins there at the same place of a cache line as in the user's memory is
 * copied up to 3.4 times faster (measured on AMD EPYC, whose `rep movsb` is slow for some other
 * distances).
 */
#ifndef RZ_NET_TCP_TCP_FRAME_H
#define RZ_NET_TCP_TCP_FRAME_H

#include "net/proof/proof.h"
#include "net/rendezvous/rendezvous.h"

/* Larger payloads are offered; no frame has a longer one. By measurement: with pieces of 60 KiB
 * messages of 1 MiB and more take a third longer; with 480 KiB a stream of 1 MiB a fifth. Messages
 * of 64 KiB take half as long again if they are offered. */
#define RZ_TCP_EAGER_MAX 65536u
#define RZ_TCP_PIECE_MAX (1u << 20)

#define RZ_TCP_FRAME_BYTES 32u

/* The padding is less than this. */
#define RZ_TCP_LINE_BYTES 64u

/* Writes the part before the user's header. */
void rz_tcp_frame_encode(const struct rz_rdv_frame *frame, uint32_t padding,
                         uint8_t bytes[RZ_TCP_FRAME_BYTES]);

/* Reads that part; header and data are not set. RZ_ERR_MALFORMED: no valid frame; the rest of the
 * stream cannot be read. */
rz_status_t rz_tcp_frame_decode(struct rz_rdv_frame *frame, uint32_t *padding,
                                const uint8_t bytes[RZ_TCP_FRAME_BYTES]);

/* One end of a connection. */
struct rz_tcp_party {
    uint64_t name; /* random, of its transport */
    uint32_t slot, incarnation;
};

#define RZ_TCP_CHALLENGE_BYTES (4 + RZ_PROOF_NONCE_BYTES)
#define RZ_TCP_HELLO_BYTES (28 + RZ_PROOF_NONCE_BYTES + RZ_PROOF_BYTES)
#define RZ_TCP_WELCOME_BYTES RZ_PROOF_BYTES
#define RZ_TCP_SHAKE_MAX RZ_TCP_HELLO_BYTES

/* A handshake in progress, with its connector and its acceptor. */
struct rz_tcp_shake {
    const uint8_t *key;
    uint64_t job;
    struct rz_tcp_party connector,
        acceptor;    /* before hello the acceptor does not know the connector, nor the stream */
    uint32_t stream; /* number of the connection among those from connector to acceptor */
    uint8_t challenge[RZ_PROOF_NONCE_BYTES], answer[RZ_PROOF_NONCE_BYTES];
};

/* Each writes a message, or reads one (false: the other end is no process of this job). */
void rz_tcp_challenge_write(struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_CHALLENGE_BYTES]);
bool rz_tcp_challenge_read(struct rz_tcp_shake *shake, const uint8_t bytes[RZ_TCP_CHALLENGE_BYTES]);
void rz_tcp_hello_write(struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_HELLO_BYTES]);
bool rz_tcp_hello_read(struct rz_tcp_shake *shake, const uint8_t bytes[RZ_TCP_HELLO_BYTES]);
void rz_tcp_welcome_write(const struct rz_tcp_shake *shake, uint8_t bytes[RZ_TCP_WELCOME_BYTES]);
bool rz_tcp_welcome_read(const struct rz_tcp_shake *shake,
                         const uint8_t bytes[RZ_TCP_WELCOME_BYTES]);

#endif
