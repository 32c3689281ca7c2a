/* SPDX-License-Identifier: BSD-3-Clause */
/* Which checkpoints in files the attempts of a job give up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "launch/checkpoints.h"

/* An attempt begins from that generation, and one of its ranks cannot go on from another one. */
static void attempt(struct rz_checkpoints *checkpoints, uint64_t from, uint64_t given_up)
{
    checkpoints->run++;
    checkpoints->restored = (struct rz_ckpt_generation){.run = 1, .number = from};
    rz_checkpoints_give_up(checkpoints, given_up);
}

/* A program that would go wrong after the next snapshot would do so again and again. */
static void two_attempts_from_one_generation_give_it_up(void **state)
{
    (void)state;
    struct rz_checkpoints checkpoints = {.run = 1};
    attempt(&checkpoints, 5, 6);
    assert_int_equal(checkpoints.given_up.number, 6);
    rz_checkpoints_give_up(&checkpoints, 6); /* said twice in one attempt */
    assert_int_equal(checkpoints.given_up.number, 6);
    attempt(&checkpoints, 5, 6);
    assert_int_equal(checkpoints.given_up.number, 5);
    assert_int_equal(checkpoints.given_up.run, checkpoints.run);
    attempt(&checkpoints, 4, 5);
    assert_int_equal(checkpoints.given_up.number, 5);
    attempt(&checkpoints, 4, 5);
    assert_int_equal(checkpoints.given_up.number, 4);
}

/* One that gets on between two failures keeps what it has reached. */
static void attempts_from_different_generations_give_up_one_each(void **state)
{
    (void)state;
    struct rz_checkpoints checkpoints = {.run = 1};
    attempt(&checkpoints, 5, 8);
    attempt(&checkpoints, 7, 9);
    assert_int_equal(checkpoints.given_up.number, 9);
    attempt(&checkpoints, 0, 3);
    attempt(&checkpoints, 0, 3); /* from the start of the program */
    assert_int_equal(checkpoints.given_up.number, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_attempts_from_one_generation_give_it_up),
        cmocka_unit_test(attempts_from_different_generations_give_up_one_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
