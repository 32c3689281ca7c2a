/* SPDX-License-Identifier: BSD-3-Clause */
/* A protocol made to test the engine of timing runs: members do what calls request, and notify
 * their host of all events. */
#ifndef RZ_TEST_TIMING_TOY_H
#define RZ_TEST_TIMING_TOY_H

#include "timing/timing.h"

enum toy_call {
    TOY_SEND,  /* one multicast to items; arg: type, seq, items of payload */
    TOY_MANY,  /* arg[0] messages of type TOY_NEWS to member arg[1], one by one, by RZ_MORE */
    TOY_TIMER, /* the deadline is arg[0] from now on */
    TOY_GROW   /* requests arg[0] more bytes, then notifies TOY_GROWN */
};

enum toy_message {
    TOY_NEWS,
    TOY_PING /* the receiver sends NEWS back */
};

enum toy_notice {
    TOY_RECEIVED, /* arg: from, seq, type */
    TOY_TICKED,
    TOY_FAILURE, /* arg: the member, arg[0] of the event */
    TOY_GROWN    /* arg: bytes */
};

#define TOY_LOG_MAX 4096

struct toy_line {
    rz_time at;
    rz_id member;
    uint32_t part, what;
    uint64_t arg[3];
};

/* What happened, in order; the study of a run. */
struct toy_log {
    struct toy_line lines[TOY_LOG_MAX];
    uint32_t n;
    uint64_t hash;
    void (*also)(struct rz_timing *timing, rz_id member, const struct rz_action *notice);
};

/* A run of n members with one part; log must outlive it. */
struct rz_timing_setup toy_setup(uint32_t n, struct toy_log *log);
/* The date with which the member of this state was initialized. */
rz_time toy_started(const void *state);
/* A second part, the same protocol under another number. */
void toy_add_part(struct rz_timing_setup *setup);

void toy_send(struct rz_timing *timing, rz_time at, rz_id from, uint64_t type, uint64_t seq,
              const uint64_t *to, uint32_t n_to);
/* The line number i among those of what (and member, unless RZ_ID_NONE); NULL: so many there are
 * not. */
const struct toy_line *toy_line(const struct toy_log *log, enum toy_notice what, rz_id member,
                                uint32_t i);
uint32_t toy_count(const struct toy_log *log, enum toy_notice what, rz_id member);

#endif
