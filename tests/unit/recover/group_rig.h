/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of objects of one component, connected by one first-in first-out queue: for hand-written
 * sequences of events. */
#ifndef RZ_TEST_GROUP_RIG_H
#define RZ_TEST_GROUP_RIG_H

#include <rhizome/protocol.h>

#define RIG_MEMBERS_MAX 8
#define RIG_ITEMS_MAX 96

typedef enum rz_more (*rig_step_t)(void *state, const struct rz_event *event,
                                   struct rz_actions *out);
typedef void (*rig_grow_t)(void *state, size_t bytes);

struct rig_notice {
    rz_id member;
    uint32_t what;
    uint64_t arg[4];
    uint64_t items[RIG_ITEMS_MAX];
    uint32_t n_items;
};

struct rig_mail {
    rz_id to;
    struct rz_message message;
    uint64_t items[RIG_ITEMS_MAX];
};

struct rig {
    uint32_t n;
    void *state[RIG_MEMBERS_MAX]; /* malloced; NULL: failed */
    bool cut[RIG_MEMBERS_MAX][RIG_MEMBERS_MAX];
    rig_step_t step;
    rig_grow_t grow;
    struct rig_mail mail[1024];
    uint32_t n_mail, delivered;
    struct rig_notice notice[256];
    uint32_t n_notices, seen;
};

void rig_close(struct rig *rig);
void rig_call(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
              uint64_t arg2);
void rig_call_4(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
                uint64_t arg2, uint64_t arg3);
void rig_call_items(struct rig *rig, rz_id member, uint32_t call, uint64_t arg0, uint64_t arg1,
                    const uint64_t *items, uint32_t n_items);
void rig_tell(struct rig *rig, rz_id member, rz_id failed, bool proof);
void rig_kill(struct rig *rig, rz_id member); /* its mail is lost, too */
void rig_run(struct rig *rig);                /* until no mail is left */

/* The next notice that member was given, of this kind, after those already asked for; NULL: none.
 */
const struct rig_notice *rig_next(struct rig *rig, rz_id member, uint32_t what);
uint32_t rig_count(const struct rig *rig, rz_id member, uint32_t what);

#endif
