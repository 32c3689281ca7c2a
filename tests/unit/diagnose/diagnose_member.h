/* SPDX-License-Identifier: BSD-3-Clause */
/* One member of a dynamic group, alone with a test: it is stepped by hand. After cmocka.h. */
#ifndef RZ_TESTS_DIAGNOSE_MEMBER_H
#define RZ_TESTS_DIAGNOSE_MEMBER_H

#include "proto/diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

#define VIEW 4
#define MS RZ_MILLISECOND

struct fixture {
    struct rz_diagnose *diagnose;
    struct rz_action actions[128];
    uint32_t count;
    struct rz_diagnose_config config;
};

static inline struct fixture *make_of(const struct rz_diagnose_config *config, rz_id self)
{
    struct fixture *f = calloc(1, sizeof(*f));
    f->config = *config;
    f->config.view = VIEW;
    f->config.interval = RZ_SECOND;
    f->config.mode = RZ_DIAGNOSE_MULTIPLY;
    f->config.factor = 2500;
    f->diagnose = malloc(rz_diagnose_size(&f->config));
    memset(f->diagnose, 0xA5, rz_diagnose_size(&f->config));
    rz_diagnose_init(f->diagnose, &f->config, self, 0, 1);
    return f;
}

static inline struct fixture *make(uint32_t n, rz_id self)
{
    return make_of(&(struct rz_diagnose_config){.n_members = n}, self);
}

static inline void release(struct fixture *f)
{
    free(f->diagnose);
    free(f);
}

static inline void step(struct fixture *f, const struct rz_event *first)
{
    struct rz_event event = *first;
    enum rz_more more;
    f->count = 0;
    do {
        struct rz_actions out = {.v = f->actions + f->count, .max = RZ_ACTIONS_MIN};
        more = rz_diagnose_step(f->diagnose, &event, &out);
        assert_int_not_equal(more, RZ_NEED);
        f->count += out.count;
        event = (struct rz_event){.kind = RZ_EVENT_CONTINUE, .now = first->now};
    } while (more == RZ_MORE);
}

static inline void tick(struct fixture *f, rz_time now)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = now});
}

static inline void reply(struct fixture *f, rz_id from, uint64_t seq, rz_time began, rz_time now,
                         uint32_t counter)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_DIAGNOSE,
                                 .type = RZ_DIAGNOSE_REPLY,
                                 .view = VIEW,
                                 .from = from,
                                 .seq = seq,
                                 .word = {began, counter}};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .now = now, .message = &message});
}

static inline void test(struct fixture *f, rz_id from, const uint64_t *items, uint32_t n)
{
    struct rz_message message = {.protocol = RZ_PROTOCOL_DIAGNOSE,
                                 .type = RZ_DIAGNOSE_TEST,
                                 .view = VIEW,
                                 .from = from,
                                 .seq = 1,
                                 .n_items = n};
    step(f, &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = &message, .items = items});
}

static inline void readmit(struct fixture *f, rz_id k, uint32_t counter)
{
    step(f, &(struct rz_event){
                .kind = RZ_EVENT_CALL, .call = RZ_DIAGNOSE_READMIT, .arg = {k, counter}});
}

static inline const struct rz_action *find(const struct fixture *f, enum rz_action_kind kind,
                                           uint32_t what)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const struct rz_action *action = &f->actions[i];
        uint32_t is = kind == RZ_ACTION_SEND ? action->message.type : action->what;
        if (action->kind == kind && is == what) {
            return action;
        }
    }
    return NULL;
}

static inline void crash(struct fixture *f, const rz_id *ids, uint32_t n)
{
    step(f, &(struct rz_event){.kind = RZ_EVENT_FAILURE, .ids = ids, .n_ids = n});
}

/* One interval in which all of 1..n-1 answer in time except `silent` (RZ_ID_NONE: none). */
static inline void interval(struct fixture *f, rz_time *now, rz_id silent)
{
    tick(f, *now);
    for (rz_id k = 1; k < f->config.n_members; k++) {
        if (k != silent) {
            reply(f, k, rz_diagnose_interval(f->diagnose), *now, *now + 48 * MS, 0);
        }
    }
    *now += RZ_SECOND;
}

#endif
