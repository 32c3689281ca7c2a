/* SPDX-License-Identifier: BSD-3-Clause */
/* Erasure codes: every pattern of losses up to the promised number gives the bytes back, for small
 * groups and sizes at the edges. */
#include "ckpt/erasure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define BLOCKS 10
#define BYTES_MAX 4200

static uint8_t block[BLOCKS][BYTES_MAX], rebuilt[BYTES_MAX];

static void fill(uint32_t data, size_t n)
{
    for (uint32_t c = 0; c < data; c++) {
        for (size_t i = 0; i < n; i++) {
            block[c][i] = (uint8_t)(rand() >> 7);
        }
    }
}

/* Parities by folding, the blocks in another order for each. */
static void encode_by_folds(uint32_t data, uint32_t parity, size_t n)
{
    for (uint32_t q = 0; q < parity; q++) {
        memset(block[data + q], 0, n);
        for (uint32_t i = 0; i < data; i++) {
            uint32_t c = (i + q) % data;
            size_t half = n / 3;
            uint8_t factor = rz_erasure_factor(data, parity, q, c);
            assert_int_not_equal(factor, 0);
            rz_erasure_fold(factor, block[data + q] + half, block[c] + half, n - half);
            rz_erasure_fold(factor, block[data + q], block[c], half);
        }
    }
}

static void look_at_encode(uint32_t data, uint32_t parity, size_t n)
{
    static uint8_t other[BLOCKS][BYTES_MAX];
    const void *blocks[BLOCKS];
    void *parities[BLOCKS];
    for (uint32_t c = 0; c < data; c++) {
        blocks[c] = block[c];
    }
    for (uint32_t q = 0; q < parity; q++) {
        parities[q] = memset(other[q], 0x5a, sizeof(other[q]));
    }
    rz_erasure_encode(data, parity, blocks, parities, n);
    for (uint32_t q = 0; q < parity; q++) {
        assert_memory_equal(other[q], block[data + q], n);
        assert_int_equal(other[q][n], 0x5a);
    }
}

/* Each column from each set of `data` others. */
static void look_at_losses(uint32_t data, uint32_t parity, size_t n)
{
    uint32_t all = data + parity;
    for (uint32_t mask = 0; mask < 1u << all; mask++) {
        uint32_t have[BLOCKS], count = 0;
        uint8_t factors[BLOCKS];
        for (uint32_t c = 0; c < all; c++) {
            if (mask & 1u << c) {
                have[count < BLOCKS ? count : 0] = c, count++;
            }
        }
        if (count != data) {
            continue;
        }
        for (uint32_t wanted = 0; wanted < all; wanted++) {
            if (mask & 1u << wanted) {
                continue;
            }
            assert_true(rz_erasure_recipe(data, parity, wanted, have, factors));
            memset(rebuilt, 0, n);
            for (uint32_t i = 0; i < data; i++) {
                rz_erasure_fold(factors[i], rebuilt, block[have[i]], n);
            }
            assert_memory_equal(rebuilt, block[wanted], n);
        }
    }
}

static void any_promised_loss_is_made_good(void **state)
{
    static const size_t sizes[] = {0, 1, 31, 32, 33, 63, 64, 65, 4095, 4096, 4097};
    (void)state;
    srand(1);
    for (uint32_t data = 1; data <= 6; data++) {
        for (uint32_t parity = 1; parity <= 4; parity++) {
            for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
                fill(data, sizes[i]);
                encode_by_folds(data, parity, sizes[i]);
                look_at_encode(data, parity, sizes[i]);
                look_at_losses(data, parity, sizes[i]);
            }
        }
    }
}

/* What is folded in twice would be a wrong parity, in silence: the factor's own inverse. */
static void a_block_folded_twice_is_gone(void **state)
{
    uint8_t to[5] = {1, 2, 3, 4, 5}, from[5] = {9, 8, 7, 6, 5}, was[5];
    (void)state;
    memcpy(was, to, sizeof(to));
    rz_erasure_fold(7, to, from, sizeof(to));
    assert_memory_not_equal(was, to, sizeof(to));
    rz_erasure_fold(7, to, from, sizeof(to));
    assert_memory_equal(was, to, sizeof(to));
    rz_erasure_fold(0, to, from, sizeof(to));
    assert_memory_equal(was, to, sizeof(to));
}

static void one_parity_is_xor(void **state)
{
    (void)state;
    for (uint32_t data = 1; data < 32; data++) {
        for (uint32_t c = 0; c < data; c++) {
            assert_int_equal(rz_erasure_factor(data, 1, 0, c), 1);
        }
    }
}

/* The largest groups there are: a rule of how recipes are found, on one byte. */
static void large_groups_have_recipes(void **state)
{
    uint32_t data = 50, parity = 13, have[50];
    uint8_t value[63], factors[50];
    (void)state;
    for (uint32_t c = 0; c < data; c++) {
        value[c] = (uint8_t)(c * 37 + 5);
    }
    for (uint32_t q = 0; q < parity; q++) {
        value[data + q] = 0;
        for (uint32_t c = 0; c < data; c++) {
            rz_erasure_fold(rz_erasure_factor(data, parity, q, c), &value[data + q], &value[c], 1);
        }
    }
    for (uint32_t i = 0; i < data; i++) {
        have[i] = i + parity; /* the first 13 are lost */
    }
    for (uint32_t wanted = 0; wanted < parity; wanted++) {
        uint8_t byte = 0;
        assert_true(rz_erasure_recipe(data, parity, wanted, have, factors));
        for (uint32_t i = 0; i < data; i++) {
            rz_erasure_fold(factors[i], &byte, &value[have[i]], 1);
        }
        assert_int_equal(byte, value[wanted]);
    }
}

#define STEP ((size_t)2 << 20)
#define HUGE_BYTES (((size_t)1 << 30) + STEP) /* more than the codes take at a time */

/* This number of bytes, for little memory: all but the last step are the same ones. */
static uint8_t *huge(void)
{
    int fd = memfd_create("huge", MFD_CLOEXEC);
    uint8_t *at = mmap(NULL, HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)(2 * STEP)) == 0 && at != MAP_FAILED);
    for (size_t i = 0; i < HUGE_BYTES; i += STEP) {
        assert_ptr_not_equal(mmap(at + i, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                                  i + STEP < HUGE_BYTES ? 0 : (off_t)STEP),
                             MAP_FAILED);
    }
    close(fd);
    return at;
}

static void huge_blocks_are_done_to_their_end(void **state)
{
    uint8_t *from = huge(), *to = huge(), *last = to + HUGE_BYTES - STEP;
    const void *blocks[] = {from};
    void *parities[] = {to};
    (void)state;
    for (size_t i = 0; i < STEP; i++) {
        from[HUGE_BYTES - STEP + i] = (uint8_t)(i * 7 + 1);
    }
    rz_erasure_fold(1, to, from, HUGE_BYTES);
    assert_memory_equal(last, from + HUGE_BYTES - STEP, STEP);
    memset(last, 0, STEP);
    rz_erasure_encode(1, 1, blocks, parities, HUGE_BYTES);
    assert_memory_equal(last, from + HUGE_BYTES - STEP, STEP);
    munmap(from, HUGE_BYTES);
    munmap(to, HUGE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_promised_loss_is_made_good),
        cmocka_unit_test(a_block_folded_twice_is_gone),
        cmocka_unit_test(one_parity_is_xor),
        cmocka_unit_test(large_groups_have_recipes),
        cmocka_unit_test(huge_blocks_are_done_to_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
