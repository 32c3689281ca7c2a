/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of questions, without duplicates. */
#include "daemon/service/questions.h"

#include "base/no_memory.h"

#include <stdlib.h>

static void remove_at(struct rz_questions *questions, uint32_t i)
{
    questions->list[i] = questions->list[--questions->n];
}

static uint32_t find_question(const struct rz_questions *questions, uint32_t target,
                              uint32_t incarnation, unsigned kinds, uint32_t epoch)
{
    uint32_t i = 0;
    while (i < questions->n &&
           (questions->list[i].target != target ||
            questions->list[i].target_incarnation > incarnation ||
            !(kinds & 1u << questions->list[i].kind) || questions->list[i].epoch > epoch)) {
        i++;
    }
    return i;
}

void rz_questions_add(struct rz_questions *questions, struct rz_daemon_question question)
{
    for (uint32_t i = 0; i < questions->n; i++) {
        struct rz_daemon_question *q = &questions->list[i];
        if (q->kind == question.kind && q->target == question.target &&
            q->asker == question.asker && q->asker_incarnation == question.asker_incarnation &&
            q->target_incarnation == question.target_incarnation) {
            q->epoch = question.epoch > q->epoch ? question.epoch : q->epoch;
            return;
        }
    }
    if (questions->n == questions->room) {
        questions->room = questions->room ? 2 * questions->room : 64;
        questions->list = realloc(questions->list, questions->room * sizeof(*questions->list));
        rz_need_memory(questions->list, "for a question of a process");
    }
    questions->list[questions->n++] = question;
}

bool rz_questions_take(struct rz_questions *questions, uint32_t target, uint32_t incarnation,
                       unsigned kinds, uint32_t epoch, struct rz_daemon_question *question)
{
    uint32_t i = find_question(questions, target, incarnation, kinds, epoch);
    if (i == questions->n) {
        return false;
    }
    *question = questions->list[i];
    remove_at(questions, i);
    return true;
}

uint32_t rz_questions_epoch(const struct rz_questions *questions, uint32_t target, unsigned kinds)
{
    uint32_t newest = 0;
    for (uint32_t i = 0; i < questions->n; i++) {
        const struct rz_daemon_question *q = &questions->list[i];
        if (q->target == target && kinds & 1u << q->kind && q->epoch > newest) {
            newest = q->epoch;
        }
    }
    return newest;
}

void rz_questions_drop_asker(struct rz_questions *questions, uint32_t asker, uint32_t incarnation)
{
    for (uint32_t i = 0; i < questions->n;) {
        const struct rz_daemon_question *q = &questions->list[i];
        if (q->asker == asker && q->asker_incarnation == incarnation &&
            q->kind != RZ_QUESTION_EP_ADDRESS_REMOTE) {
            remove_at(questions, i);
        } else {
            i++;
        }
    }
}

void rz_questions_clear(struct rz_questions *questions)
{
    free(questions->list);
    *questions = (struct rz_questions){0};
}
