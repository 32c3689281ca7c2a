/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues of operations between nodes: under random puts, finds and removals they hold what a plain
 * list holds, in its order. With a number as its argument it removes so many operations in reverse
 * order, for a count of its instructions (tests/counted.py).
 */
#include "base/random.h"
#include "net/rendezvous/rendezvous.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { OPS = 500, STEPS = 200000 };

static struct rz_net_op ops[OPS];

/* The operations of the queue, in order. */
struct model {
    struct rz_net_op *op[OPS];
    size_t n;
};

static void model_remove(struct model *model, const struct rz_net_op *op)
{
    size_t at = 0;
    while (model->op[at] != op) {
        at++;
    }
    model->n--;
    memmove(&model->op[at], &model->op[at + 1], (model->n - at) * sizeof(model->op[0]));
}

static struct rz_net_op *model_find(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n; i++) {
        if (rz_rdv_op_get(model->op[i], RZ_RDV_ID) == id) {
            return model->op[i];
        }
    }
    return NULL;
}

static void check(const struct rz_rdv_queue *queue, const struct model *model)
{
    assert_int_equal(queue->length, model->n);
    assert_ptr_equal(queue->first, model->n > 0 ? model->op[0] : NULL);
    assert_ptr_equal(queue->last, model->n > 0 ? model->op[model->n - 1] : NULL);
}

/* One step: grows, or shrinks, for some hundred steps at a time. */
static void step(struct rz_rdv_queue *queue, struct model *model, struct rz_random *random,
                 bool grows)
{
    struct rz_net_op *op = &ops[rz_random_below(random, OPS)];
    uint64_t id = rz_rdv_op_get(op, RZ_RDV_ID);
    struct rz_net_op *here = model_find(model, id);
    assert_ptr_equal(rz_rdv_queue_find(queue, id), here);
    if (!here && grows) {
        rz_rdv_queue_put(queue, op);
        model->op[model->n++] = op;
    } else if (here && !grows && rz_random_below(random, 4) > 0) {
        rz_rdv_queue_remove(queue, here);
        model_remove(model, here);
    } else if (!grows && model->n > 0) {
        assert_ptr_equal(rz_rdv_queue_take(queue), model->op[0]);
        model_remove(model, model->op[0]);
    }
    check(queue, model);
}

static void test_model(bool by_id)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rz_rdv_queue queue = {.by_id = by_id};
        struct model model = {.n = 0};
        struct rz_random random = {.state = seed};
        for (size_t i = 0; i < OPS; i++) {
            rz_rdv_op_set(&ops[i], RZ_RDV_ID, seed % 2 ? i + 1 : rz_random_next(&random));
        }
        for (size_t i = 0; i < STEPS / 4; i++) {
            step(&queue, &model, &random, i / 700 % 2 == 0);
        }
        while (rz_rdv_queue_take(&queue)) {
        }
        assert_null(queue.first);
        assert_null(queue.index); /* nothing is left to free */
    }
}

static void test_by_id(void **state)
{
    (void)state;
    test_model(true);
}

static void test_searched(void **state)
{
    (void)state;
    test_model(false);
}

static __attribute__((noinline)) int remove_in_reverse(size_t n)
{
    struct rz_net_op *many = calloc(n, sizeof(*many));
    struct rz_rdv_queue queue = {.by_id = true};
    for (size_t i = 0; many && i < n; i++) {
        rz_rdv_op_set(&many[i], RZ_RDV_ID, i + 1);
        rz_rdv_queue_put(&queue, &many[i]);
    }
    for (size_t i = n; many && i > 0; i--) {
        rz_rdv_queue_remove(&queue, rz_rdv_queue_find(&queue, i));
    }
    free(many);
    return queue.length == 0 && many ? 0 : 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_id),
                                       cmocka_unit_test(test_searched)};
    if (argc > 1) {
        return remove_in_reverse(strtoul(argv[1], NULL, 10));
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
