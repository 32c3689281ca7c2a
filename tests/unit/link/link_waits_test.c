/* SPDX-License-Identifier: BSD-3-Clause */
/* What a daemon reads in the memory of its processes: their waits, and decisions that they keep. */
#include "link/waits.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void the_last_decision_on_each_communicator_is_found(void **state)
{
    (void)state;
    static struct rz_decisions decisions;
    uint64_t words[RZ_DECISION_WORDS_MAX], found[RZ_DECISION_WORDS_MAX];
    for (uint32_t i = 0; i < RZ_DECISION_WORDS_MAX; i++) {
        words[i] = 1000 + i;
    }
    assert_int_equal(rz_decision_read(&decisions, 0, 0, found), 0);
    rz_decision_write(&decisions.cached[0], 7, 1, words, 5);
    rz_decision_write(&decisions.cached[1], 8, 1, words, RZ_DECISION_WORDS_MAX);
    assert_int_equal(rz_decision_read(&decisions, 7, 1, found), 5);
    assert_memory_equal(found, words, 5 * sizeof(*words));
    assert_int_equal(rz_decision_read(&decisions, 8, 1, found), RZ_DECISION_WORDS_MAX);
    assert_memory_equal(found, words, sizeof(words));
    assert_int_equal(rz_decision_read(&decisions, 7, 2, found), 0);
    assert_int_equal(rz_decision_read(&decisions, 9, 1, found), 0);
    rz_decision_write(&decisions.cached[0], 7, 2, words + 1, 3);
    assert_int_equal(rz_decision_read(&decisions, 7, 1, found), 0);
    assert_int_equal(rz_decision_read(&decisions, 7, 2, found), 3);
    assert_memory_equal(found, words + 1, 3 * sizeof(*words));
    rz_decision_write(&decisions.cached[0], 7, 3, words, RZ_DECISION_WORDS_MAX + 1);
    assert_int_equal(rz_decision_read(&decisions, 7, 3, found), 0);
    /* Killed while writing. */
    atomic_fetch_add(&decisions.cached[1].sequence, 1);
    assert_int_equal(rz_decision_read(&decisions, 8, 1, found), 0);
}

static void *write_decisions(void *arg)
{
    struct rz_decisions *decisions = arg;
    uint64_t words[20];
    for (uint64_t number = 1; number <= 200000; number++) {
        for (uint32_t i = 0; i < 20; i++) {
            words[i] = number;
        }
        rz_decision_write(&decisions->cached[3], 5, number, words, 20);
    }
    return NULL;
}

static void a_decision_that_is_read_is_whole(void **state)
{
    (void)state;
    static struct rz_decisions decisions;
    uint64_t found[RZ_DECISION_WORDS_MAX];
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_decisions, &decisions), 0);
    for (uint64_t number = 1; number < 200000;) {
        uint64_t now = atomic_load(&decisions.cached[3].number);
        number = now > number ? now : number;
        if (rz_decision_read(&decisions, 5, number, found) == 20) {
            for (uint32_t i = 0; i < 20; i++) {
                assert_int_equal(found[i], number);
            }
        }
    }
    pthread_join(writer, NULL);
}

/* A process may write what it likes into the memory that its daemon reads. */
static void names_of_waits_are_made_printable(void **state)
{
    (void)state;
    struct rz_wait wait = {0};
    struct rz_wait_text told = {.call = "MPI_Recv\n", .name = "\033[2J gr\303\266\303\237er"}, read;
    memset(told.name + 13, 'x', sizeof(told.name) - 13); /* without an end */
    rz_wait_write(&wait, &told);
    assert_true(rz_wait_read(&wait, &read));
    assert_string_equal(read.call, "MPI_Recv?");
    assert_string_equal(read.name, "?[2J gr\303\266\303\237erxxxxxxxxxxxxxxxxxx");
}

static void waiting_time_adds_up(void **state)
{
    static struct rz_waits waits;
    (void)state;
    assert_int_equal(rz_waits_waited_ns(&waits, 1000), 0);
    rz_waits_end(&waits, 1000); /* of a wait before the process was restored */
    rz_waits_begin(&waits, 1000);
    assert_int_equal(rz_waits_waited_ns(&waits, 1400), 400);
    rz_waits_begin(&waits, 1500); /* another thread, at the same time */
    rz_waits_end(&waits, 1600);
    assert_int_equal(rz_waits_waited_ns(&waits, 1700), 700);
    rz_waits_end(&waits, 1800);
    assert_int_equal(rz_waits_waited_ns(&waits, 5000), 800);
    rz_waits_begin(&waits, 6000);
    rz_waits_end(&waits, 6100);
    assert_int_equal(rz_waits_waited_ns(&waits, 9000), 900);
    atomic_store(&waits.waited, UINT64_MAX); /* a process that lies */
    assert_int_equal(rz_waits_waited_ns(&waits, 9000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_decision_on_each_communicator_is_found),
        cmocka_unit_test(a_decision_that_is_read_is_whole),
        cmocka_unit_test(waiting_time_adds_up),
        cmocka_unit_test(names_of_waits_are_made_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
