/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How both ends of a connection prove that they hold the key of their job, and the keys that follow
 * from it. The acceptor sends a challenge (a random nonce); the connector answers with a proof over
 * it and a nonce of its own; the acceptor answers with a proof over that. The module handles bytes
 * only; sockets and messages belong to the caller (daemon/overlay, net/tcp).
 */
#ifndef RZ_NET_PROOF_PROOF_H
#define RZ_NET_PROOF_PROOF_H

#include "base/status.h"

#include <rhizome/types.h>

#define RZ_PROOF_BYTES 32u
#define RZ_PROOF_KEY_BYTES 32u
#define RZ_PROOF_NONCE_BYTES 32u
#define RZ_PROOF_BOUND_MAX 64u

/*
 * The key for one purpose, from the key of a job or from a key derived from that: a keyed hash
 * (BLAKE2b) over the label and `bound`. A label names a purpose, and stands at one place in the
 * source tree; a process that holds a derived key learns nothing of the others. A job's key itself
 * proves, seals and authenticates nothing.
 */
void rz_proof_derive(const uint8_t key[RZ_PROOF_KEY_BYTES], const char *label, const void *bound,
                     size_t bound_bytes, uint8_t derived[RZ_PROOF_KEY_BYTES]);

/* The side that makes the proof, and what it says: the proofs over one pair of nonces differ.
 * REFUSAL: of an acceptor that does not want the connection. */
enum rz_proof_role { RZ_PROOF_CONNECTOR, RZ_PROOF_ACCEPTOR, RZ_PROOF_REFUSAL };

/* The inputs of the proofs of one connection. */
struct rz_proof_terms {
    const uint8_t *key;       /* [RZ_PROOF_KEY_BYTES], for connections of this kind */
    const uint8_t *challenge; /* nonce of the acceptor */
    const uint8_t *answer;    /* nonce of the connector */
    const void *bound;  /* what the connection is for: job and both ends, encoded unambiguously */
    size_t bound_bytes; /* at most RZ_PROOF_BOUND_MAX */
};

/* Must be called before anything else here and before rz_proof_nonce. RZ_ERR_SYSTEM: no
 * cryptography on this system. */
rz_status_t rz_proof_begin(void);
void rz_proof_nonce(uint8_t nonce[RZ_PROOF_NONCE_BYTES]);

/* Overwrites a key that is not needed any more. */
void rz_proof_wipe(void *key, size_t bytes);

/* The proof of that role: a keyed hash over both nonces, role and terms->bound. */
void rz_proof_make(const struct rz_proof_terms *terms, enum rz_proof_role role,
                   uint8_t proof[RZ_PROOF_BYTES]);
/* Compared in constant time. */
bool rz_proof_holds(const struct rz_proof_terms *terms, enum rz_proof_role role,
                    const uint8_t proof[RZ_PROOF_BYTES]);

/*
 * The frames of one direction of a connection, once both are authenticated: encrypted and
 * authenticated with a key of this connection and direction alone (ChaCha20-Poly1305, RFC 8439; the
 * nonce counts the frames), so that no frame can be read, changed, omitted, repeated or reordered.
 */
#define RZ_SEAL_BYTES 16u /* a sealed frame is longer by this number of bytes */
struct rz_seal {
    uint8_t key[RZ_PROOF_KEY_BYTES];
    uint64_t frames;
};
/* from: the side that sends these frames, CONNECTOR or ACCEPTOR. */
void rz_seal_begin(struct rz_seal *seal, const struct rz_proof_terms *terms,
                   enum rz_proof_role from);
void rz_seal_end(struct rz_seal *seal); /* wipes the key */

/* Seals the next frame; sealed has space for n + RZ_SEAL_BYTES and does not overlap bytes. */
void rz_seal_put(struct rz_seal *seal, const void *bytes, size_t n, uint8_t *sealed);
/*
 * Opens the next frame into `bytes`, which has space for n - RZ_SEAL_BYTES. RZ_ERR_AUTHENTICATION:
 * it is not the next frame of the other end; nothing of it may be used, and the connection must be
 * closed.
 */
rz_status_t rz_seal_get(struct rz_seal *seal, const uint8_t *sealed, size_t n, uint8_t *bytes);

#endif
