/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer "transport": passes the events of the transports on to the epoch check and the peers,
 * and follows processes that appear or are gone.
 */
#include "mpi/engine/transport.h"

#include "mpi/engine/control_message.h"
#include "mpi/engine/epoch_check.h"
#include "mpi/engine/lane_ends.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/unstarted.h"
#include "port/clock.h"

/* A process to which we never sent sends to us: fetching from it, and its flow control, need a
 * connection to it. */
static void stranger(void *arg, struct rz_identity identity)
{
    (void)arg;
    if (identity.rank >= rz_engine.info->n_slots || rz_engine.rollback) {
        return;
    }
    uint32_t present = rz_board_incarnation(rz_liveness.members[identity.rank].word);
    if (identity.incarnation == present) {
        rz_peer_meet(rz_engine_number(identity.rank, identity.incarnation));
    } else if (identity.incarnation > present) {
        rz_unstarted_met(identity);
    }
}

rz_status_t rz_transport_open(void)
{
    static const struct rz_path_events events = {
        .arrived = rz_epoch_check_arrived, .broken = rz_peer_broken, .stranger = stranger};
    if (rz_engine.info->alone) {
        return RZ_OK;
    }
    rz_peers_open();
    rz_lane_ends_open();
    return rz_paths_open(&events);
}

void rz_transport_close(void)
{
    rz_lane_ends_close();
    rz_paths_close();
    rz_peers_forget();
}

/* The system ends the connections of a process that has exited. */
#define LAST_BYTES_NS (2 * RZ_SECOND)

/* A message that has arrived counts although its sender has failed since, so receive what lies here
 * while the epoch check still admits it. Of a process that has ended in order also what is still on
 * its way: the news of its end may be faster. */
static void leaving(uint32_t process, bool exited)
{
    uint32_t slot = rz_process_slot(process), incarnation = rz_process_incarnation(process);
    for (int i = 0; i < 64 && rz_paths_progress() > 0; i++) {
    }
    rz_time bound = rz_clock_now() + LAST_BYTES_NS;
    while (exited && rz_paths_hear(slot, incarnation) && rz_clock_now() < bound) {
        rz_paths_progress();
    }
    rz_peer_close(rz_process_slot(process), true, RZ_ERR_PROC_FAILED);
}

static void adopted(uint32_t slot)
{
    rz_unstarted_adopted(slot, rz_epoch_check_passed);
}

const struct rz_hooks rz_transport_hooks = {
    .is_sent = rz_control_messages_quiet,
    .work = {[RZ_WORK_LANES] = rz_lane_ends_look},
    .check = rz_peers_overdue,
    .leaving = leaving,
    .adopted = adopted,
    .forget = rz_unstarted_close,
};
