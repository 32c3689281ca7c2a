/* SPDX-License-Identifier: BSD-3-Clause */
/* A node's inboxes, and processes that join them over the shared-memory transport. */
#include "../../patience.h"
#include "shm_rig.h"

#include "base/assert.h"
#include "port/clock.h"
#include "port/memory.h"

#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

void rig_open(struct rig *rig, unsigned n, enum rz_shm_copy copy)
{
    rz_assert(n <= RIG_LANES_MAX);
    *rig = (struct rig){.n = n, .copy = copy};
    for (unsigned i = 0; i < n; i++) {
        void *bell;
        rig->incarnation[i] = 1;
        rz_status_t status =
            rz_memory_create("rhizome-test-inbox", rz_shm_inbox_bytes(n), &rig->inbox_fd[i]);
        rz_assert(status == RZ_OK);
        status = rz_memory_map(rig->inbox_fd[i], sizeof(struct rz_doorbell), true, &bell, NULL);
        rz_assert(status == RZ_OK);
        rig->bell[i] = bell;
        rig->event_fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        rz_assert(rig->event_fd[i] >= 0);
    }
}

void rig_close(struct rig *rig)
{
    for (unsigned i = 0; i < rig->n; i++) {
        close(rig->inbox_fd[i]);
        close(rig->event_fd[i]);
        rz_memory_unmap(rig->bell[i], sizeof(struct rz_doorbell));
    }
}

static void rig_arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                        size_t bytes, rz_net_token_t token)
{
    struct rig_user *user = arg;
    user->arrived(user, header, header_bytes, data, bytes, token);
}

static void rig_broken(void *arg, rz_peer_t peer)
{
    struct rig_user *user = arg;
    user->broken++;
    user->broken_peer = peer;
}

static void rig_stranger(void *arg, struct rz_identity identity)
{
    struct rig_user *user = arg;
    user->strangers++;
    user->stranger = identity;
}

static bool rig_shares(void *arg)
{
    return ((const struct rig_user *)arg)->shares;
}

struct rz_net *rig_join(const struct rig *rig, unsigned self, struct rig_user *user)
{
    struct rz_shm_config config = {
        .self = {.job = 77, .rank = self, .incarnation = rig->incarnation[self]},
        .job_token = 0xCAFE,
        .lane = self,
        .lanes_max = rig->n,
        .inbox_fd = rig->inbox_fd[self],
        .event_fd = rig->event_fd[self],
        .copy = rig->copy,
        .host = {.arg = user, .arrived = rig_arrived, .broken = rig_broken},
        .stranger = rig_stranger,
        .asks = rig_shares,
        .helps = rig_shares,
    };
    struct rz_net *net;
    rz_status_t status = rz_shm_open(&net, &config);
    rz_assert(status == RZ_OK);
    return net;
}

rz_status_t rig_connect(const struct rig *rig, struct rz_net *net, unsigned i, rz_peer_t peer,
                        uint32_t pid)
{
    struct rz_shm_ep_address ep_address = {
        .peer = {.job = 77, .rank = i, .incarnation = rig->incarnation[i]},
        .pid = pid,
        .lane = i,
        .inbox_fd = rig->inbox_fd[i],
        .event_fd = rig->event_fd[i],
    };
    return rz_shm_ops.connect(net, peer, &ep_address, sizeof(ep_address));
}

static void rig_op_done(struct rz_net_op *op, rz_status_t status)
{
    struct rig_op *own = op->user;
    own->ended++;
    own->status = status;
}

void rig_op_init(struct rig_op *op, const void *header, uint32_t header_bytes)
{
    *op = (struct rig_op){
        .op.done = rig_op_done, .op.user = op, .op.header_bytes = header_bytes, .op.waits = true};
    memcpy(op->op.header, header, header_bytes);
}

bool rig_turn(const struct rig *rig, struct rz_net *net, unsigned self)
{
    enum { SPINS = 200, YIELDS = 20 };
    for (unsigned i = 0; i < SPINS + YIELDS; i++) {
        if (rz_shm_ops.progress(net) > 0) {
            return true;
        }
        if (i >= SPINS) {
            sched_yield();
        }
    }
    static unsigned turn; /* both ways of sleeping take their turns */
    struct rz_doorbell *bell = rig->bell[self];
    uint32_t value = rz_doorbell_prepare(bell, turn++ % 2 ? RZ_DOORBELL_POLL : RZ_DOORBELL_FUTEX);
    if (!rz_shm_ops.arm(net)) {
        rz_doorbell_awake(bell);
        return true;
    }
    rz_time before = rz_clock_now();
    rz_doorbell_sleep(bell, value, rig->event_fd[self], NULL, 0, TEST_HANG_S * RZ_SECOND);
    return rz_clock_now() - before < TEST_HANG_S * RZ_SECOND;
}

unsigned rig_progress(struct rz_net *net)
{
    unsigned events = 0, more;
    while ((more = rz_shm_ops.progress(net)) > 0) {
        events += more;
    }
    return events;
}
