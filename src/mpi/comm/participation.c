#include "mpi/comm/participation.h"

#include <stdlib.h>

void rz_participation_begin(struct rz_participations *all, struct rz_participation *one, int tag)
{
    *one = (struct rz_participation){.next = all->first, .tag = tag, .on = true};
    all->first = one;
}

struct rz_participation *rz_participation_find(const struct rz_participations *all, int tag)
{
    struct rz_participation *one = all->first;
    while (one != NULL && one->tag != tag) {
        one = one->next;
    }
    return one;
}

/* Takes the questions about an operation out of the list. */
static struct rz_question *questions_take(struct rz_participations *all, int tag)
{
    struct rz_question *taken = NULL, **link = &all->questions;
    while (*link != NULL) {
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
    return all->questions != NULL ? questions_take(all, one->tag) : NULL;
}

static bool same(const struct rz_question *a, const struct rz_question *b)
{
    return a->process == b->process && a->context == b->context && a->tag == b->tag;
}

bool rz_participation_ask(struct rz_participations *all, const struct rz_question *question)
{
    if (rz_participation_find(all, question->tag) == NULL) {
        return true;
    }
    for (const struct rz_question *known = all->questions; known != NULL; known = known->next) {
        if (same(known, question)) {
            return false;
        }
    }
    struct rz_question *kept = malloc(sizeof(*kept));
    if (kept == NULL) {
        return true;
    }
    *kept = *question;
    kept->next = all->questions;
    all->questions = kept;
    return false;
}

void rz_participations_forget(struct rz_participations *all)
{
    while (all->questions != NULL) {
        struct rz_question *question = all->questions;
        all->questions = question->next;
        free(question);
    }
}
