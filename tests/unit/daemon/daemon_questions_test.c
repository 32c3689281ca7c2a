/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions that wait for a process to join: each once, answered once, gone with its asker. */
#include "daemon/service/questions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define OPEN (1u << RZ_QUESTION_OPEN)
#define EP_ADDRESSES (1u << RZ_QUESTION_EP_ADDRESS | 1u << RZ_QUESTION_EP_ADDRESS_REMOTE)

static struct rz_daemon_question about(enum rz_question_kind kind, uint32_t target, uint32_t asker,
                                       uint32_t epoch)
{
    return (struct rz_daemon_question){.kind = kind,
                                       .target = target,
                                       .target_incarnation = 1,
                                       .asker = asker,
                                       .asker_incarnation = 1,
                                       .epoch = epoch};
}

static void a_question_stands_once(void **state)
{
    struct rz_questions questions = {0};
    struct rz_daemon_question question;
    (void)state;
    for (int i = 0; i < 3; i++) {
        rz_questions_add(&questions, about(RZ_QUESTION_OPEN, 1, 2, 0));
    }
    rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS, 1, 2, 1));
    assert_true(rz_questions_take(&questions, 1, 1, OPEN, 0, &question));
    assert_int_equal(question.asker, 2);
    assert_false(rz_questions_take(&questions, 1, 1, OPEN, 0, &question));
    assert_int_equal(rz_questions_epoch(&questions, 1, EP_ADDRESSES), 1);
    assert_int_equal(rz_questions_epoch(&questions, 2, EP_ADDRESSES), 0);
    rz_questions_clear(&questions);
}

static void an_older_ep_address_answers_no_question_of_a_newer_epoch(void **state)
{
    struct rz_questions questions = {0};
    struct rz_daemon_question question;
    (void)state;
    rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS, 1, 2, 3));
    rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS, 1, 2,
                                       4)); /* the same asker, later: one question */
    rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS, 1, 5, 3));
    assert_int_equal(rz_questions_epoch(&questions, 1, EP_ADDRESSES), 4);
    assert_true(rz_questions_take(&questions, 1, 1, EP_ADDRESSES, 3, &question));
    assert_int_equal(question.asker, 5);
    assert_false(rz_questions_take(&questions, 1, 1, EP_ADDRESSES, 3, &question));
    assert_true(rz_questions_take(&questions, 1, 1, EP_ADDRESSES, 4, &question));
    assert_int_equal(question.asker, 2);
    rz_questions_clear(&questions);
}

static void the_questions_of_a_failed_asker_are_forgotten(void **state)
{
    struct rz_questions questions = {0};
    struct rz_daemon_question question;
    (void)state;
    for (uint32_t target = 0; target < 100; target++) {
        rz_questions_add(&questions, about(RZ_QUESTION_OPEN, target, 7, 0));
        rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS_REMOTE, target, 7,
                                           1)); /* a rank 7 of another node */
        rz_questions_add(&questions, about(RZ_QUESTION_EP_ADDRESS, target, 8, 1));
    }
    rz_questions_drop_asker(&questions, 7, 1);
    for (uint32_t target = 0; target < 100; target++) {
        assert_false(rz_questions_take(&questions, target, 1, OPEN, 1, &question));
        assert_true(rz_questions_take(&questions, target, 1, EP_ADDRESSES, 1, &question));
        assert_true(rz_questions_take(&questions, target, 1, EP_ADDRESSES, 1, &question));
        assert_false(rz_questions_take(&questions, target, 1, EP_ADDRESSES, 1, &question));
    }
    rz_questions_clear(&questions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_stands_once),
        cmocka_unit_test(an_older_ep_address_answers_no_question_of_a_newer_epoch),
        cmocka_unit_test(the_questions_of_a_failed_asker_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
