/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of participations, questions and absences of one communicator.
 */
#include "mpi/comm/participation.h"

#include "base/no_memory.h"

#include <stdlib.h>

/* So many are in one list, and in the mean in each of `lists`, unless there is no memory. */
enum { LIST_LENGTH = 8 };

/* The first one if there are lists: has the tag of no operation. */
static struct rz_participation many = {.tag = -1};

static struct rz_participation **list_of(const struct rz_participations *all, int tag)
{
    return &all->lists[(uint32_t)tag & (all->n_lists - 1)];
}

static void put_all(struct rz_participations *all, struct rz_participation *one)
{
    while (one) {
        struct rz_participation *next = one->next, **list = list_of(all, one->tag);
        one->next = *list;
        *list = one;
        all->n++;
        one = next;
    }
}

static bool is_long(const struct rz_participation *one)
{
    int n = 0;
    while (one && n < LIST_LENGTH) {
        one = one->next;
        n++;
    }
    return n == LIST_LENGTH;
}

/* Without memory all stays as it is. */
static void make_lists(struct rz_participations *all)
{
    struct rz_participations before = *all;
    uint32_t n_lists = before.lists ? 2 * before.n_lists : 2;
    struct rz_participation **lists = calloc(n_lists, sizeof(*lists));
    if (!lists) {
        return;
    }
    all->lists = lists;
    all->n_lists = n_lists;
    all->n = 0;
    put_all(all, before.lists ? NULL : before.first);
    for (uint32_t i = 0; i < before.n_lists; i++) {
        put_all(all, before.lists[i]);
    }
    all->first = &many;
    free(before.lists);
}

/* Others are under way. */
__attribute__((noinline)) static void begin_beside(struct rz_participations *all,
                                                   struct rz_participation *one)
{
    if (all->lists ? all->n >= LIST_LENGTH * all->n_lists : is_long(all->first)) {
        make_lists(all);
    }
    if (all->lists) {
        put_all(all, one);
    } else {
        one->next = all->first;
        all->first = one;
    }
}

void rz_participation_begin(struct rz_participations *all, struct rz_participation *one, int tag)
{
    *one = (struct rz_participation){.tag = tag, .on = true};
    if (all->first) {
        begin_beside(all, one);
    } else {
        all->first = one;
    }
}

struct rz_participation *rz_participation_find(const struct rz_participations *all, int tag)
{
    struct rz_participation *one = all->first;
    if (__builtin_expect(one == &many, 0)) {
        one = *list_of(all, tag);
    }
    while (one && one->tag != tag) {
        one = one->next;
    }
    return one;
}

static void list_free(struct rz_question *question)
{
    while (question) {
        struct rz_question *next = question->next;
        free(question);
        question = next;
    }
}

/* Nothing is under way: the next operations end by the short way again (rz_operation_end). */
static void end_lists(struct rz_participations *all)
{
    free(all->lists);
    all->first = NULL;
    all->lists = NULL;
    all->n_lists = 0;
}

struct rz_question *rz_participation_end(struct rz_participations *all,
                                         struct rz_participation *one)
{
    if (!one->on) {
        return NULL;
    }
    struct rz_participation **link = all->lists ? list_of(all, one->tag) : &all->first;
    while (*link != one) {
        link = &(*link)->next;
    }
    *link = one->next;
    one->on = false;
    if (all->lists && --all->n == 0) {
        end_lists(all);
    }
    list_free(one->absences);
    one->absences = NULL;
    return one->questions;
}

static bool same(const struct rz_question *a, const struct rz_question *b)
{
    return a->process == b->process && a->context == b->context && a->tag == b->tag;
}

static bool list_has(const struct rz_question *list, const struct rz_question *question)
{
    while (list && !same(list, question)) {
        list = list->next;
    }
    return list != NULL;
}

/* Adds a copy to the list, once; false: no memory. */
static bool list_add(struct rz_question **list, const struct rz_question *question)
{
    if (list_has(*list, question)) {
        return true;
    }
    struct rz_question *kept = malloc(sizeof(*kept));
    if (!kept) {
        return false;
    }
    *kept = *question;
    kept->next = *list;
    *list = kept;
    return true;
}

bool rz_participation_ask(struct rz_participations *all, const struct rz_question *question)
{
    struct rz_participation *one = rz_participation_find(all, question->tag);
    return !one || !list_add(&one->questions, question);
}

bool rz_participation_is_asked(const struct rz_participations *all,
                               const struct rz_question *question)
{
    const struct rz_participation *one = rz_participation_find(all, question->tag);
    return one && list_has(one->questions, question);
}

void rz_participation_miss(struct rz_participations *all, const struct rz_question *absence)
{
    struct rz_participation *one = rz_participation_find(all, absence->tag);
    rz_need_memory(!one || list_add(&one->absences, absence), "for a message that will not come");
}

bool rz_participation_misses(const struct rz_participations *all, const struct rz_question *absence)
{
    const struct rz_participation *one = rz_participation_find(all, absence->tag);
    return one && list_has(one->absences, absence);
}

static void end_unanswered(struct rz_participation *one)
{
    for (; one; one = one->next) {
        list_free(one->questions);
        list_free(one->absences);
        one->on = false;
    }
}

void rz_participations_forget(struct rz_participations *all)
{
    end_unanswered(all->lists ? NULL : all->first);
    for (uint32_t i = 0; i < all->n_lists; i++) {
        end_unanswered(all->lists[i]);
    }
    free(all->lists);
    *all = (struct rz_participations){0};
}
