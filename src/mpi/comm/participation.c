/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of participations, questions and absences of one communicator.
 */
#include "mpi/comm/participation.h"

#include "base/no_memory.h"

#include <stdlib.h>

void rz_participation_begin(struct rz_participations *all, struct rz_participation *one, int tag)
{
    *one = (struct rz_participation){.next = all->first, .tag = tag, .on = true};
    all->first = one;
}

struct rz_participation *rz_participation_find(const struct rz_participations *all, int tag)
{
    struct rz_participation *one = all->first;
    while (one && one->tag != tag) {
        one = one->next;
    }
    return one;
}

/* Takes an entry about an operation out of a list. */
static struct rz_question *take_of(struct rz_question **list, int tag)
{
    struct rz_question *taken = NULL, **link = list;
    while (*link) {
        struct rz_question *question = *link;
        if (question->tag == tag) {
            *link = question->next;
            question->next = taken;
            taken = question;
        } else {
            link = &question->next;
        }
    }
    return taken;
}

static void list_free(struct rz_question *question)
{
    while (question) {
        struct rz_question *next = question->next;
        free(question);
        question = next;
    }
}

struct rz_question *rz_participation_end(struct rz_participations *all,
                                         struct rz_participation *one)
{
    if (!one->on) {
        return NULL;
    }
    struct rz_participation **link = &all->first;
    while (*link != one) {
        link = &(*link)->next;
    }
    *link = one->next;
    one->on = false;
    if (all->absences) {
        list_free(take_of(&all->absences, one->tag));
    }
    return all->questions ? take_of(&all->questions, one->tag) : NULL;
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
    return !rz_participation_find(all, question->tag) || !list_add(&all->questions, question);
}

bool rz_participation_is_asked(const struct rz_participations *all,
                               const struct rz_question *question)
{
    return list_has(all->questions, question);
}

void rz_participation_miss(struct rz_participations *all, const struct rz_question *absence)
{
    if (rz_participation_find(all, absence->tag)) {
        rz_need_memory(list_add(&all->absences, absence), "for a message that will not come");
    }
}

bool rz_participation_misses(const struct rz_participations *all, const struct rz_question *absence)
{
    return list_has(all->absences, absence);
}

void rz_participations_forget(struct rz_participations *all)
{
    list_free(all->questions);
    list_free(all->absences);
    all->questions = all->absences = NULL;
}
