/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions of processes that want to reach a process which has not said HELLO yet, or has no
 * endpoint address yet. Each question is kept once.
 */
#ifndef RZ_DAEMON_QUESTIONS_H
#define RZ_DAEMON_QUESTIONS_H

#include <rhizome/types.h>

enum rz_question_kind {
    RZ_QUESTION_OPEN,              /* a local process wants shared memory with target */
    RZ_QUESTION_EP_ADDRESS,        /* a local process wants target's endpoint address */
    RZ_QUESTION_EP_ADDRESS_REMOTE, /* a process of another node wants target's endpoint address */
    /* A local process wants the endpoint address of one that is not spawned yet. */
    RZ_QUESTION_EARLY
};

struct rz_daemon_question {
    enum rz_question_kind kind;
    uint32_t target, asker; /* slots */
    /* The target's: this incarnation or a newer one. */
    uint32_t target_incarnation, asker_incarnation;
    uint32_t asker_node; /* of RZ_QUESTION_EP_ADDRESS_REMOTE: the node that asks */
    uint32_t epoch;      /* the asker's: it cannot use an older endpoint address */
};

struct rz_questions {
    struct rz_daemon_question *list;
    uint32_t n, room;
};

/* Asserts that there is memory: if a question were lost, its process would wait for ever. */
void rz_questions_add(struct rz_questions *questions, struct rz_daemon_question question);

/* Removes one question about target, or an older incarnation of it, whose kind is among kinds (1u
 * << kind | ...) and that was asked in epoch or before. False: there is none. */
bool rz_questions_take(struct rz_questions *questions, uint32_t target, uint32_t incarnation,
                       unsigned kinds, uint32_t epoch, struct rz_daemon_question *question);

/* The newest epoch in which a question of kinds about target was asked; 0: there is none, or none
 * with an epoch. */
uint32_t rz_questions_epoch(const struct rz_questions *questions, uint32_t target, unsigned kinds);

/* Drops the questions of the local process asker. */
void rz_questions_drop_asker(struct rz_questions *questions, uint32_t asker, uint32_t incarnation);

void rz_questions_clear(struct rz_questions *questions);

#endif
