/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waits for whom to join: processes that want to reach a process which has not said HELLO yet,
 * or has no endpoint address yet. Each question stands once.
 */
#ifndef RZ_DAEMON_QUESTIONS_H
#define RZ_DAEMON_QUESTIONS_H

#include <rhizome/types.h>

enum rz_question_kind {
    RZ_QUESTION_OPEN,              /* a local process wants shared memory with target */
    RZ_QUESTION_EP_ADDRESS,        /* a local process wants target's endpoint address */
    RZ_QUESTION_EP_ADDRESS_REMOTE, /* a process of another node wants target's endpoint address */
    RZ_QUESTION_EARLY /* a local process wants the endpoint address of one that is not spawned yet
                       */
};

struct rz_daemon_question {
    enum rz_question_kind kind;
    uint32_t target, asker;                         /* slots */
    uint32_t target_incarnation, asker_incarnation; /* the target's: this one or a newer one */
    uint32_t asker_node; /* of RZ_QUESTION_EP_ADDRESS_REMOTE: which knows where to find it */
    uint32_t epoch;      /* the asker's: an older endpoint address is of no use to it */
};

struct rz_questions {
    struct rz_daemon_question *list;
    uint32_t n, room;
};

/* Asserts that there is memory: a question lost would be a process that waits for ever. */
void rz_questions_add(struct rz_questions *questions, struct rz_daemon_question question);

/* Takes out one question about target, or an older incarnation of it, of one of kinds (1u << kind |
 * ...), asked in epoch or before; false: there is none. */
bool rz_questions_take(struct rz_questions *questions, uint32_t target, uint32_t incarnation,
                       unsigned kinds, uint32_t epoch, struct rz_daemon_question *question);

/* The newest epoch in which one of kinds was asked about target; 0: none was (or only in no epoch).
 */
uint32_t rz_questions_epoch(const struct rz_questions *questions, uint32_t target, unsigned kinds);

/* Forgets what the local process asker wanted to know. */
void rz_questions_drop_asker(struct rz_questions *questions, uint32_t asker, uint32_t incarnation);

void rz_questions_clear(struct rz_questions *questions);

#endif
