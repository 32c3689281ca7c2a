/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys are derived by keyed BLAKE2b; proofs are HMAC-SHA-512/256 of libsodium; sealed frames are
 * ChaCha20-Poly1305 with a counter as nonce.
 */
#include "net/proof/proof.h"

#include "base/assert.h"

#include <sodium.h>
#include <string.h>

_Static_assert(RZ_PROOF_KEY_BYTES == crypto_auth_KEYBYTES && RZ_PROOF_BYTES == crypto_auth_BYTES &&
                   RZ_PROOF_KEY_BYTES == crypto_aead_chacha20poly1305_ietf_KEYBYTES &&
                   RZ_PROOF_KEY_BYTES == crypto_generichash_KEYBYTES &&
                   RZ_PROOF_KEY_BYTES == crypto_generichash_BYTES &&
                   RZ_SEAL_BYTES == crypto_aead_chacha20poly1305_ietf_ABYTES,
               "the sizes are those of the algorithms");

rz_status_t rz_proof_begin(void)
{
    return sodium_init() < 0 ? RZ_ERR_SYSTEM : RZ_OK;
}

void rz_proof_nonce(uint8_t nonce[RZ_PROOF_NONCE_BYTES])
{
    randombytes_buf(nonce, RZ_PROOF_NONCE_BYTES);
}

void rz_proof_wipe(void *key, size_t bytes)
{
    sodium_memzero(key, bytes);
}

void rz_proof_derive(const uint8_t key[RZ_PROOF_KEY_BYTES], const char *label, const void *bound,
                     size_t bound_bytes, uint8_t derived[RZ_PROOF_KEY_BYTES])
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, key, RZ_PROOF_KEY_BYTES, RZ_PROOF_KEY_BYTES);
    crypto_generichash_update(&hash, (const uint8_t *)"rhizome", sizeof("rhizome"));
    crypto_generichash_update(&hash, (const uint8_t *)label, strlen(label) + 1); /* ends it */
    crypto_generichash_update(&hash, bound, bound_bytes);
    crypto_generichash_final(&hash, derived, RZ_PROOF_KEY_BYTES);
    sodium_memzero(&hash, sizeof(hash));
}

/* What proofs and keys of a connection are over; returns its bytes. */
enum { TEXT_MAX = 2 * RZ_PROOF_NONCE_BYTES + 1 + RZ_PROOF_BOUND_MAX };
static size_t proof_text(const struct rz_proof_terms *terms, enum rz_proof_role role,
                         uint8_t text[TEXT_MAX])
{
    uint8_t *at = text;
    rz_assert(terms->bound_bytes <= RZ_PROOF_BOUND_MAX);
    memcpy(at, terms->challenge, RZ_PROOF_NONCE_BYTES);
    memcpy(at += RZ_PROOF_NONCE_BYTES, terms->answer, RZ_PROOF_NONCE_BYTES);
    at += RZ_PROOF_NONCE_BYTES;
    *at++ = (uint8_t)role;
    memcpy(at, terms->bound, terms->bound_bytes);
    return (size_t)(at - text) + terms->bound_bytes;
}

void rz_proof_make(const struct rz_proof_terms *terms, enum rz_proof_role role,
                   uint8_t proof[RZ_PROOF_BYTES])
{
    uint8_t text[TEXT_MAX];
    crypto_auth(proof, text, proof_text(terms, role, text), terms->key);
}

bool rz_proof_holds(const struct rz_proof_terms *terms, enum rz_proof_role role,
                    const uint8_t proof[RZ_PROOF_BYTES])
{
    uint8_t expected[RZ_PROOF_BYTES];
    rz_proof_make(terms, role, expected);
    return sodium_memcmp(expected, proof, sizeof(expected)) == 0;
}

void rz_seal_begin(struct rz_seal *seal, const struct rz_proof_terms *terms,
                   enum rz_proof_role from)
{
    uint8_t text[TEXT_MAX];
    rz_proof_derive(terms->key, "frames", text, proof_text(terms, from, text), seal->key);
    seal->frames = 0;
}

void rz_seal_end(struct rz_seal *seal)
{
    sodium_memzero(seal, sizeof(*seal));
}

/* No number is used twice under one key: each connection has its own key and counts its frames. */
static void next_number(struct rz_seal *seal,
                        uint8_t number[crypto_aead_chacha20poly1305_ietf_NPUBBYTES])
{
    uint64_t frame = seal->frames++;
    memset(number, 0, crypto_aead_chacha20poly1305_ietf_NPUBBYTES);
    for (unsigned i = 0; i < sizeof(frame); i++) {
        number[i] = (uint8_t)(frame >> 8 * i);
    }
}

void rz_seal_put(struct rz_seal *seal, const void *bytes, size_t n, uint8_t *sealed)
{
    uint8_t number[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    unsigned long long length;
    next_number(seal, number);
    crypto_aead_chacha20poly1305_ietf_encrypt(sealed, &length, bytes, n, NULL, 0, NULL, number,
                                              seal->key);
}

rz_status_t rz_seal_get(struct rz_seal *seal, const uint8_t *sealed, size_t n, uint8_t *bytes)
{
    uint8_t number[crypto_aead_chacha20poly1305_ietf_NPUBBYTES];
    unsigned long long length;
    next_number(seal, number);
    if (n < RZ_SEAL_BYTES ||
        crypto_aead_chacha20poly1305_ietf_decrypt(bytes, &length, NULL, sealed, n, NULL, 0, number,
                                                  seal->key) != 0) {
        return RZ_ERR_AUTHENTICATION;
    }
    return RZ_OK;
}
