/* SPDX-License-Identifier: BSD-3-Clause */
/* Proofs of both ends of a connection, and the frames sealed after them. */
#include "net/proof/proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key[RZ_PROOF_KEY_BYTES] = "the key of the job under test..";
static const uint8_t other_key[RZ_PROOF_KEY_BYTES] = "the key of another job entirely";

static struct rz_proof_terms terms_of(const uint8_t *challenge, const uint8_t *answer)
{
    return (struct rz_proof_terms){key, challenge, answer, "from 1 to 2", 11};
}

/* A proof holds for its key, nonces, role and terms, and for no others. */
static void a_proof_is_for_one_connection_and_role(void **state)
{
    uint8_t nonce[2][RZ_PROOF_NONCE_BYTES], proof[RZ_PROOF_BYTES];
    (void)state;
    rz_proof_nonce(nonce[0]);
    rz_proof_nonce(nonce[1]);
    assert_memory_not_equal(nonce[0], nonce[1], sizeof(nonce[0]));
    struct rz_proof_terms terms = terms_of(nonce[0], nonce[1]), other = terms;
    rz_proof_make(&terms, RZ_PROOF_CONNECTOR, proof);
    assert_true(rz_proof_holds(&terms, RZ_PROOF_CONNECTOR, proof));
    assert_false(rz_proof_holds(&terms, RZ_PROOF_ACCEPTOR, proof));
    other.key = other_key;
    assert_false(rz_proof_holds(&other, RZ_PROOF_CONNECTOR, proof));
    other = terms_of(nonce[1], nonce[0]);
    assert_false(rz_proof_holds(&other, RZ_PROOF_CONNECTOR, proof));
    other = terms;
    other.bound = "from 1 to 3";
    assert_false(rz_proof_holds(&other, RZ_PROOF_CONNECTOR, proof));
    for (size_t bit = 0; bit < 8 * sizeof(proof); bit++) {
        proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(rz_proof_holds(&terms, RZ_PROOF_CONNECTOR, proof));
        proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void sealed_frames_come_out_in_order_and_unchanged(void **state)
{
    enum { FRAMES = 64, BYTES = 200 };
    uint8_t nonce[RZ_PROOF_NONCE_BYTES] = {1}, plain[BYTES], sealed[FRAMES][BYTES + RZ_SEAL_BYTES];
    uint8_t opened[BYTES];
    struct rz_proof_terms terms = terms_of(nonce, nonce);
    struct rz_seal from, to;
    (void)state;
    rz_seal_begin(&from, &terms, RZ_PROOF_CONNECTOR);
    rz_seal_begin(&to, &terms, RZ_PROOF_CONNECTOR);
    for (size_t i = 0; i < FRAMES; i++) {
        memset(plain, (int)i, sizeof(plain));
        rz_seal_put(&from, plain, i, sealed[i]);
    }
    for (size_t i = 0; i < FRAMES; i++) {
        memset(plain, (int)i, sizeof(plain));
        assert_int_equal(rz_seal_get(&to, sealed[i], i + RZ_SEAL_BYTES, opened), RZ_OK);
        assert_memory_equal(opened, plain, i);
    }
    /* Again; another one; changed; too short. */
    assert_int_equal(rz_seal_get(&to, sealed[0], RZ_SEAL_BYTES, opened), RZ_ERR_AUTHENTICATION);
    rz_seal_begin(&to, &terms, RZ_PROOF_CONNECTOR);
    assert_int_equal(rz_seal_get(&to, sealed[1], 1 + RZ_SEAL_BYTES, opened), RZ_ERR_AUTHENTICATION);
    for (size_t bit = 0; bit < 8 * (9 + RZ_SEAL_BYTES); bit++) {
        rz_seal_begin(&to, &terms, RZ_PROOF_CONNECTOR);
        to.frames = 9;
        sealed[9][bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(rz_seal_get(&to, sealed[9], 9 + RZ_SEAL_BYTES, opened),
                         RZ_ERR_AUTHENTICATION);
        sealed[9][bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t n = 0; n < RZ_SEAL_BYTES; n++) {
        assert_int_equal(rz_seal_get(&to, sealed[0], n, opened), RZ_ERR_AUTHENTICATION);
    }
}

/* A key is for its label and what it is bound to; a proof under it holds under no other. */
static void a_key_is_for_one_purpose(void **state)
{
    static const struct {
        const uint8_t *key;
        const char *label, *bound;
        size_t bytes;
    } others[] = {{key, "proofs", "ab", 2},      {key, "frames", "a", 1},  {key, "frame", "sab", 3},
                  {key, "framesab", "", 0},      {key, "frames", "ac", 2}, {key, "frames", "", 0},
                  {other_key, "frames", "ab", 2}};
    uint8_t nonce[RZ_PROOF_NONCE_BYTES] = {1}, first[RZ_PROOF_KEY_BYTES], again[sizeof(first)];
    uint8_t proof[RZ_PROOF_BYTES];
    (void)state;
    rz_proof_derive(key, "frames", "ab", 2, first);
    rz_proof_derive(key, "frames", "ab", 2, again);
    assert_memory_equal(first, again, sizeof(first));
    assert_memory_not_equal(first, key, sizeof(first));
    struct rz_proof_terms terms = terms_of(nonce, nonce), other = terms;
    terms.key = first;
    other.key = again;
    rz_proof_make(&terms, RZ_PROOF_CONNECTOR, proof);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        rz_proof_derive(others[i].key, others[i].label, others[i].bound, others[i].bytes, again);
        assert_memory_not_equal(first, again, sizeof(first));
        assert_false(rz_proof_holds(&other, RZ_PROOF_CONNECTOR, proof));
    }
}

/* What one end has sealed, sent back to it, is no frame of the other end. */
static void a_reflected_frame_is_refused(void **state)
{
    uint8_t nonce[RZ_PROOF_NONCE_BYTES] = {1}, sealed[4 + RZ_SEAL_BYTES], opened[4];
    struct rz_proof_terms terms = terms_of(nonce, nonce);
    struct rz_seal out, in;
    (void)state;
    rz_seal_begin(&out, &terms, RZ_PROOF_CONNECTOR);
    rz_seal_begin(&in, &terms, RZ_PROOF_ACCEPTOR);
    rz_seal_put(&out, "word", 4, sealed);
    assert_int_equal(rz_seal_get(&in, sealed, sizeof(sealed), opened), RZ_ERR_AUTHENTICATION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_proof_is_for_one_connection_and_role),
        cmocka_unit_test(a_key_is_for_one_purpose),
        cmocka_unit_test(a_reflected_frame_is_refused),
        cmocka_unit_test(sealed_frames_come_out_in_order_and_unchanged),
    };
    if (rz_proof_begin() != RZ_OK) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
