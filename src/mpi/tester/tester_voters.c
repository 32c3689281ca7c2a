/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection to the daemon: the daemons decide which members vote on rejoins, in the same way
 * as computing rounds (proto/view_change, in a group with a number of its own), whenever members
 * request it (rz_diagnose_asks_for_voters).
 */
#include "mpi/tester/tester_state.h"

#include "base/random.h"
#include "port/channel.h"
#include "wire/cursor.h"
#include "wire/link_messages.h"

#include <stdlib.h>
#include <unistd.h>

/* The number of the voters' group is made of that of the monitor's group and this constant. */
enum { KIND_VOTERS = 0x6d03 };

/* Time to the next try of a message for which the connection was full. */
#define AGAIN (10 * RZ_MILLISECOND)

bool rz_tester_voters_open(struct rz_tester *tester)
{
    uint32_t n = tester->config.n;
    tester->voters.set = calloc((n + 63) / 64, sizeof(*tester->voters.set));
    tester->processes = calloc(n, RZ_LINK_PAIR_BYTES);
    tester->message = malloc(RZ_LINK_MESSAGE_MAX);
    if (!tester->voters.set || !tester->processes || !tester->message) {
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        const struct rz_tester_peer *peer = &tester->config.peer[k];
        const struct rz_link_process process = {peer->slot, peer->incarnation};
        rz_link_put_pairs(tester->processes + (size_t)k * RZ_LINK_PAIR_BYTES, &process, 1);
    }
    /* sends all counters, so that the daemons know all members */
    tester->voters.asked = tester->untold = true;
    return true;
}

void rz_tester_voters_close(struct rz_tester *tester)
{
    free(tester->voters.set);
    free(tester->processes);
    free(tester->message);
}

/* The daemon is gone, or this process is of an earlier epoch: the present voters stay. */
static void hang_up(struct rz_tester *tester)
{
    close(tester->config.line_fd);
    tester->config.line_fd = -1;
}

/* ---- Decisions of the daemons ---- */

static void take(struct rz_tester *tester, const struct rz_link_message *message, rz_time now)
{
    const struct rz_link_group_round *told = &message->group_round;
    uint32_t words = (tester->config.n + 63) / 64;
    struct rz_wire_reader r;
    if (message->type != RZ_LINK_GROUP_ROUND || told->status != RZ_OK ||
        told->round <= tester->voters.number || told->view_length != words * sizeof(uint64_t)) {
        return;
    }
    rz_wire_reader_init(&r, told->view, told->view_length);
    for (uint32_t i = 0; i < words; i++) {
        tester->voters.set[i] = rz_wire_get_u64(&r);
    }
    rz_diagnose_take_voters(&tester->voters, told->round);
    tester->untold = false;
    rz_tester_electorate(tester, now);
}

static void listen_to_line(struct rz_tester *tester, rz_time now)
{
    struct rz_link_message message;
    rz_status_t status = RZ_OK;
    while (status == RZ_OK && tester->config.line_fd >= 0) {
        size_t n = 0;
        int fds[RZ_CHANNEL_FDS_MAX];
        unsigned n_fds = 0;
        status = rz_channel_receive(tester->config.line_fd, tester->message, RZ_LINK_MESSAGE_MAX,
                                    &n, fds, &n_fds);
        while (n_fds > 0) {
            close(fds[--n_fds]);
        }
        if (status == RZ_OK && rz_link_decode(&message, tester->message, n) == RZ_OK) {
            take(tester, &message, now);
        }
    }
    if (status != RZ_IN_PROGRESS && tester->config.line_fd >= 0) {
        hang_up(tester);
    }
}

/* ---- Requests to the daemon ---- */

static uint32_t put_counters(const struct rz_tester *tester, uint8_t *bytes, size_t room)
{
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, bytes, room);
    for (rz_id k = 0; k < tester->config.n; k++) {
        uint32_t counter = rz_diagnose_counter(tester->diagnose.state, k);
        if (counter > 0) {
            rz_wire_put_u64(&w, RZ_DIAGNOSE_ITEM(k, counter));
        }
    }
    return (uint32_t)(w.at - w.start);
}

static void ask(struct rz_tester *tester)
{
    size_t room = (size_t)tester->config.n * sizeof(uint64_t);
    uint8_t *counters = malloc(room);
    if (!counters) {
        return; /* it is tried again later */
    }
    const struct rz_link_message message = {
        .type = RZ_LINK_GROUP_ARRIVE,
        .group_arrive = {.group = rz_mix(tester->config.number, KIND_VOTERS),
                         .round = tester->voters.number,
                         .rank = tester->config.self,
                         .name = "",
                         .processes = tester->processes,
                         .processes_length = tester->config.n * RZ_LINK_PAIR_BYTES,
                         .counters = counters,
                         .counters_length = put_counters(tester, counters, room)}};
    size_t n = rz_link_encode(&message, tester->message, RZ_LINK_MESSAGE_MAX);
    rz_status_t status =
        n > 0 ? rz_channel_send(tester->config.line_fd, tester->message, n, NULL, 0) : RZ_OK;
    free(counters);
    tester->untold = status == RZ_IN_PROGRESS;
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        hang_up(tester);
    }
}

void rz_tester_voters_look(struct rz_tester *tester, rz_time now)
{
    if (tester->told) {
        listen_to_line(tester, now);
    }
    if (rz_diagnose_asks_for_voters(tester->diagnose.state, &tester->voters)) {
        tester->untold = true;
    }
    if (tester->untold && tester->config.line_fd >= 0) {
        ask(tester);
    }
}

rz_time rz_tester_voters_deadline(const struct rz_tester *tester, rz_time now)
{
    return tester->untold && tester->config.line_fd >= 0 ? now + AGAIN : RZ_TIME_NEVER;
}
