/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of a bag of tasks, over random views and what their members have: every task that no
 * member has is dealt to one of them, evenly; every result that one lacks is sent by one that has
 * it. */
#include "base/random.h"
#include "tasks/tasks_deal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WORLDS = 2000, TASKS_MAX = 60, MEMBERS_MAX = 17 };

struct world {
    int n_tasks, size;
    bool done[MEMBERS_MAX][TASKS_MAX];
    int words[2 * TASKS_MAX];
};

static void draw(struct world *w, struct rz_random *random)
{
    w->n_tasks = (int)rz_random_below(random, TASKS_MAX + 1);
    w->size = 1 + (int)rz_random_below(random, MEMBERS_MAX);
    uint64_t percent = rz_random_below(random, 101);
    for (int member = 0; member < w->size; member++) {
        for (int id = 0; id < w->n_tasks; id++) {
            w->done[member][id] = rz_random_below(random, 100) < percent;
        }
    }
}

/* As the reduction of the exchange does it. */
static void join(struct world *w)
{
    int mine[2 * TASKS_MAX];
    for (int i = 0; i < 2 * w->n_tasks; i++) {
        w->words[i] = INT_MAX;
    }
    for (int member = 0; member < w->size; member++) {
        rz_tasks_say(w->done[member], w->n_tasks, member, mine);
        for (int i = 0; i < 2 * w->n_tasks; i++) {
            w->words[i] = mine[i] < w->words[i] ? mine[i] : w->words[i];
        }
    }
}

static int holders(const struct world *w, int id)
{
    int n = 0;
    for (int member = 0; member < w->size; member++) {
        n += w->done[member][id];
    }
    return n;
}

static void what_is_left_is_dealt_once_and_evenly(void **state)
{
    struct rz_random random = {1};
    static struct world w;
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        int times[TASKS_MAX] = {0}, dealt[TASKS_MAX], most = 0, least = TASKS_MAX;
        draw(&w, &random);
        join(&w);
        for (int member = 0; member < w.size; member++) {
            int n = rz_tasks_deal(w.words, w.n_tasks, member, w.size, dealt);
            most = n > most ? n : most;
            least = n < least ? n : least;
            for (int k = 0; k < n; k++) {
                times[dealt[k]]++;
            }
        }
        assert_true(most - least <= 1);
        for (int id = 0; id < w.n_tasks; id++) {
            assert_int_equal(times[id], holders(&w, id) == 0);
        }
    }
}

static void a_result_is_sent_by_one_that_has_it_where_one_lacks_it(void **state)
{
    struct rz_random random = {2};
    static struct world w;
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        draw(&w, &random);
        join(&w);
        for (int id = 0; id < w.n_tasks; id++) {
            int sender = rz_tasks_sender(w.words, id), n = holders(&w, id);
            assert_int_equal(sender >= 0, n > 0 && n < w.size);
            if (sender >= 0) {
                assert_true(w.done[sender][id]);
            }
        }
    }
}

static void a_round_is_long_where_exchanges_cost_and_failures_are_rare(void **state)
{
    (void)state;
    assert_true(fabs(rz_tasks_round_seconds(0.5, 100) - 10) < 1e-12);
    assert_true(rz_tasks_round_seconds(0, 100) == 0);
    assert_true(isinf(rz_tasks_round_seconds(0.5, 0)));
}

/* Without rounds each has all that is not done, its own part first; own parts make up the whole. */
static void a_process_that_follows_callbacks_has_all_and_its_own_first(void **state)
{
    struct rz_random random = {3};
    static struct world w;
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        int owned[TASKS_MAX] = {0}, list[TASKS_MAX], left = 0;
        draw(&w, &random);
        const bool *done = w.done[0];
        for (int id = 0; id < w.n_tasks; id++) {
            left += !done[id];
        }
        for (int member = 0; member < w.size; member++) {
            bool there[TASKS_MAX] = {false}, own = true;
            assert_int_equal(rz_tasks_list(done, w.n_tasks, member, w.size, list), left);
            for (int k = 0; k < left; k++) {
                bool mine = list[k] % w.size == member;
                assert_true(!there[list[k]] && !done[list[k]] && (own || !mine));
                there[list[k]] = true;
                own = mine;
                owned[list[k]] += mine;
            }
        }
        for (int id = 0; id < w.n_tasks; id++) {
            assert_int_equal(owned[id], !done[id]);
        }
    }
}

static void of_what_nothing_is_known_all_is_left(void **state)
{
    int words[2 * TASKS_MAX], dealt[TASKS_MAX];
    bool all[TASKS_MAX];
    (void)state;
    memset(all, true, sizeof(all));
    rz_tasks_say_nothing(TASKS_MAX, words);
    assert_int_equal(rz_tasks_first_left(words, TASKS_MAX), 0);
    assert_int_equal(rz_tasks_first_left(words, 0), 0);
    assert_int_equal(rz_tasks_deal(words, TASKS_MAX, 0, 1, dealt), TASKS_MAX);
    rz_tasks_say(all, TASKS_MAX, 3, words);
    assert_int_equal(rz_tasks_first_left(words, TASKS_MAX), TASKS_MAX);
    words[2 * (TASKS_MAX - 1)] = RZ_TASKS_NONE;
    assert_int_equal(rz_tasks_first_left(words, TASKS_MAX), TASKS_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_dealt_once_and_evenly),
        cmocka_unit_test(a_result_is_sent_by_one_that_has_it_where_one_lacks_it),
        cmocka_unit_test(a_process_that_follows_callbacks_has_all_and_its_own_first),
        cmocka_unit_test(of_what_nothing_is_known_all_is_left),
        cmocka_unit_test(a_round_is_long_where_exchanges_cost_and_failures_are_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
