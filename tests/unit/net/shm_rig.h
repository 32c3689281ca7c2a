/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of the shared-memory transport share: inboxes of a node, and processes (or threads)
 * that join it. */
#ifndef RZ_TESTS_SHM_RIG_H
#define RZ_TESTS_SHM_RIG_H

#include "net/shm/shm.h"

enum { RIG_LANES_MAX = 128 };

/* Makes n inboxes, as a daemon would; before fork, so that all know them. Inbox i has lane i, rank
 * i. */
struct rig {
    unsigned n;
    int inbox_fd[RIG_LANES_MAX], event_fd[RIG_LANES_MAX];
    struct rz_doorbell *bell[RIG_LANES_MAX];
    uint32_t incarnation[RIG_LANES_MAX];
    enum rz_shm_copy copy;
};
void rig_open(struct rig *rig, unsigned n, enum rz_shm_copy copy);
void rig_close(struct rig *rig);

/* Where messages go; the callbacks of host and of rz_shm_config. */
struct rig_user {
    void (*arrived)(struct rig_user *user, const void *header, uint32_t header_bytes,
                    const void *data, size_t bytes, rz_net_token_t token);
    void *arg;
    bool shares; /* it asks senders to copy as well, and helps receivers */
    unsigned strangers, broken;
    struct rz_identity stranger;
    rz_peer_t broken_peer;
};
struct rz_net *rig_join(const struct rig *rig, unsigned self, struct rig_user *user);

/* Connects net to process i of rig with this pid, as peer number `peer`. */
rz_status_t rig_connect(const struct rig *rig, struct rz_net *net, unsigned i, rz_peer_t peer,
                        uint32_t pid);

/* Ops count their ends. */
struct rig_op {
    struct rz_net_op op;
    unsigned ended;
    rz_status_t status;
};
void rig_op_init(struct rig_op *op, const void *header, uint32_t header_bytes);

/* One turn of a wait: progress, and sleep on the doorbell after many idle turns. False: nothing
 * came within the bound. */
bool rig_turn(const struct rig *rig, struct rz_net *net, unsigned self);

/* Progress until nothing is left; returns the number of events. */
unsigned rig_progress(struct rz_net *net);

#endif
