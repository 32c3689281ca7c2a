/* SPDX-License-Identifier: BSD-3-Clause */
/* The host of revocations: several daemons in one loop, with a network between them that the test
 * plays. */
#include "daemon/recovery/revocations.h"

#include "base/random.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NODES_MAX = 16, LEARNT_MAX = 20000 };

struct mail {
    struct mail *next;
    rz_id to;
    struct rz_message message;
    uint64_t items[];
};

struct node {
    rz_id id;
    bool failed;
    unsigned may_send; /* messages, before it fails */
    struct rz_revocations *revocations;
    uint64_t *learnt;
    uint32_t n_learnt;
};

static struct event_base *base;
static struct node nodes[NODES_MAX];
static uint32_t n_nodes;
static struct mail *mails, **mails_last;
static uint32_t largest; /* message, in items */

static void send_mail(void *arg, rz_id to, const struct rz_message *message, const uint64_t *items)
{
    struct node *node = arg;
    if (node->failed || node->may_send == 0) {
        node->failed = true;
        return;
    }
    node->may_send--;
    struct mail *mail = malloc(sizeof(*mail) + message->n_items * sizeof(uint64_t));
    mail->next = NULL;
    mail->to = to;
    mail->message = *message;
    memcpy(mail->items, items, message->n_items * sizeof(uint64_t));
    largest = message->n_items > largest ? message->n_items : largest;
    *mails_last = mail;
    mails_last = &mail->next;
}

static void learnt(void *arg, const uint64_t *revocations, uint32_t n)
{
    struct node *node = arg;
    assert_true(node->n_learnt + n <= LEARNT_MAX);
    memcpy(node->learnt + node->n_learnt, revocations, n * sizeof(uint64_t));
    node->n_learnt += n;
}

static void begin(uint32_t n)
{
    base = event_base_new();
    n_nodes = n;
    mails = NULL;
    mails_last = &mails;
    largest = 0;
    for (rz_id id = 0; id < n; id++) {
        nodes[id] = (struct node){
            .id = id, .may_send = UINT32_MAX, .learnt = malloc(LEARNT_MAX * sizeof(uint64_t))};
        const struct rz_revocations_config config = {.n_nodes = n,
                                                     .self = id,
                                                     .base = base,
                                                     .arg = &nodes[id],
                                                     .send = send_mail,
                                                     .learnt = learnt};
        assert_int_equal(rz_revocations_open(&nodes[id].revocations, &config), RZ_OK);
    }
}

static void turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static void deliver_all(void)
{
    while (mails) {
        struct mail *mail = mails;
        mails = mail->next;
        if (!mails) {
            mails_last = &mails;
        }
        if (!nodes[mail->to].failed) {
            rz_revocations_message(nodes[mail->to].revocations, &mail->message, mail->items);
        }
        free(mail);
        turn();
    }
    turn();
}

static void end(void)
{
    for (rz_id id = 0; id < n_nodes; id++) {
        rz_revocations_close(nodes[id].revocations);
        free(nodes[id].learnt);
    }
    event_base_free(base);
}

static void kill_node(rz_id failed)
{
    nodes[failed].failed = true;
}

/* All that live hear of it, one after the other, in an order of their own. */
static void all_hear_of(rz_id failed, uint64_t seed)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        rz_id id = (rz_id)((i + seed) % n_nodes);
        if (!nodes[id].failed) {
            rz_revocations_node_failed(nodes[id].revocations, failed, true);
        }
    }
}

static unsigned knowing(uint64_t revocation)
{
    unsigned n = 0;
    for (rz_id id = 0; id < n_nodes; id++) {
        unsigned told = 0;
        for (uint32_t i = 0; i < nodes[id].n_learnt; i++) {
            told += nodes[id].learnt[i] == revocation;
        }
        assert_in_range(told, 0, 1);
        if (!nodes[id].failed) {
            assert_int_equal(told, rz_revocations_known(nodes[id].revocations, revocation));
        }
        n += !nodes[id].failed && told;
    }
    return n;
}

static unsigned living(void)
{
    unsigned n = 0;
    for (rz_id id = 0; id < n_nodes; id++) {
        n += !nodes[id].failed;
    }
    return n;
}

static void each_daemon_learns_each_revocation_once(void **state)
{
    (void)state;
    begin(7);
    for (uint64_t i = 0; i < 50; i++) {
        rz_revocations_add(nodes[i % 7].revocations, 1000 + i);
        rz_revocations_add(nodes[(i + 1) % 7].revocations, 1000 + i); /* by two at once */
    }
    deliver_all();
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(knowing(1000 + i), 7);
    }
    assert_int_equal(knowing(999), 0);
    end();
}

/* The broadcast is cut off: the daemons that know it fail after any number of messages. When all
 * failures are known, all know the revocation or none does. */
static void a_flood_that_was_cut_off_goes_on_when_the_failures_are_known(void **state)
{
    unsigned everywhere = 0, nowhere = 0, cut = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        begin(3 + seed % (NODES_MAX - 2));
        for (unsigned i = 0; i < n_nodes; i++) {
            if (rz_mix(seed, i) % 8 < 5) {
                nodes[i].may_send = rz_mix(seed, 100 + i) % 3;
            }
        }
        rz_id first = (rz_id)(rz_mix(seed, 7) % n_nodes);
        nodes[first].may_send = rz_mix(seed, 8) % 4;
        rz_revocations_add(nodes[first].revocations, 5);
        deliver_all();
        kill_node(first);
        cut += knowing(5) > 0 && knowing(5) < living();
        for (rz_id id = 0; id < n_nodes; id++) {
            if (nodes[id].may_send < 4) {
                kill_node(id);
            }
        }
        for (rz_id id = 0; id < n_nodes; id++) {
            if (nodes[id].failed) {
                all_hear_of(id, seed);
            }
        }
        deliver_all();
        assert_true(knowing(5) == 0 || knowing(5) == living());
        everywhere += knowing(5) > 0;
        nowhere += knowing(5) == 0;
        end();
    }
    print_message("everywhere %u, nowhere %u, of these cut off %u\n", everywhere, nowhere, cut);
    /* Else nothing was tried. */
    assert_true(everywhere > 100);
    assert_true(nowhere > 100);
    assert_true(cut > 20);
}

static void what_closes_the_ring_goes_in_pieces(void **state)
{
    enum { MANY = 15000 };
    (void)state;
    begin(3);
    kill_node(2);
    nodes[1].may_send = 0; /* cut off, so that it gets everything at once, by the failure */
    nodes[1].failed = true;
    for (uint64_t i = 0; i < MANY; i++) {
        rz_revocations_add(nodes[0].revocations, i);
    }
    deliver_all();
    nodes[1].failed = false;
    nodes[1].may_send = UINT32_MAX;
    all_hear_of(2, 0);
    deliver_all();
    assert_int_equal(nodes[1].n_learnt, MANY);
    assert_in_range(largest, 1, 4096);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_daemon_learns_each_revocation_once),
        cmocka_unit_test(a_flood_that_was_cut_off_goes_on_when_the_failures_are_known),
        cmocka_unit_test(what_closes_the_ring_goes_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
