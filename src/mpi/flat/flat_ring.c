/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that observes another process, and sends heartbeats: mpi/flat/flat.h.
 */
#include "mpi/flat/flat_state.h"

#include "base/assert.h"
#include "base/no_memory.h"
#include "base/lateness.h"
#include "port/clock.h"
#include "port/thread.h"
#include "proto/recover/recover.h"
#include "proto/ring/ring.h"
#include "proto/spread/spread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A longer timeout at the beginning, as among the daemons: an epoch does not begin everywhere at
 * once. */
#define START_SLACK (2 * RZ_SECOND)

RZ_PROTOCOL(ring, RZ_PROTOCOL_RING);
RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);

/* So many messages are read before the clock is read again. */
#define TURN_MESSAGES 256

#define STACK_BYTES (128 * 1024)

/* ---- the cores ---- */

static void find(struct rz_flat *flat, enum rz_flat_what what, uint64_t item)
{
    if (flat->n_finds == flat->finds_max) {
        flat->finds_max = flat->finds_max > 0 ? 2 * flat->finds_max : 16;
        flat->finds = realloc(flat->finds, flat->finds_max * sizeof(*flat->finds));
        rz_need_memory(flat->finds, "for a failure report");
    }
    flat->finds[flat->n_finds++] = (struct rz_flat_find){
        .what = what, .rank = (uint32_t)item, .incarnation = (uint32_t)(item >> 32)};
}

static uint64_t board_rank(const struct rz_flat *flat, uint32_t rank)
{
    return atomic_load_explicit(&flat->info->board->rank[rank], memory_order_acquire);
}

/* The item of a rank's present incarnation, equal at all processes. */
static uint64_t item_of(const struct rz_flat *flat, uint32_t rank)
{
    return (uint64_t)rz_board_incarnation(board_rank(flat, rank)) << 32 | rank;
}

struct flat_step {
    struct rz_flat *flat;
    const struct rz_embedded *core;
};

static void notice(const struct flat_step *step, const struct rz_action *action)
{
    struct rz_flat *flat = step->flat;
    bool ring = step->core == &flat->ring;
    if (ring && action->what != RZ_RING_FENCED) {
        find(flat, action->what == RZ_RING_SUSPECT ? RZ_FLAT_SUSPECT : RZ_FLAT_LEFT,
             item_of(flat, (uint32_t)action->arg[0]));
    }
    for (uint32_t i = 0; !ring && i < action->n_items; i++) {
        find(flat, RZ_FLAT_HEARD, action->items[i]);
    }
}

static void carry_out(void *arg, const struct rz_actions *actions)
{
    const struct flat_step *step = arg;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct rz_action *action = &actions->v[i];
        if (action->kind == RZ_ACTION_NOTIFY) {
            notice(step, action);
        }
        for (uint32_t k = 0; action->kind == RZ_ACTION_SEND && k < action->n_to; k++) {
            rz_post_send(&step->flat->post, action->to[k], &action->message, action->items);
        }
    }
}

static void step(struct rz_flat *flat, struct rz_embedded *core, const struct rz_event *event)
{
    struct flat_step one = {flat, core};
    bool done = rz_embedded_step(core, event, carry_out, &one);
    rz_assert(done);
}

/* Removes a member from the ring: the board shows it as failed, or others report it as silent. */
static void put_out(struct rz_flat *flat, rz_id rank, rz_time now)
{
    const struct rz_event event = {.kind = RZ_EVENT_FAILURE, .now = now, .ids = &rank, .n_ids = 1};
    if (flat->out[rank]) {
        return;
    }
    flat->out[rank] = true;
    /* the report names this process: it is fenced, and becomes silent */
    step(flat, &flat->ring, &event);
    if (rank != flat->info->self.rank) {
        step(flat, &flat->spread, &event);
    }
}

/* The daemon is told first, since it is the failure arbiter: if this process fails right after, the
 * daemon has the report. */
static void follow_one(struct rz_flat *flat, const struct rz_flat_find *find, rz_time now)
{
    uint64_t item = (uint64_t)find->incarnation << 32 | find->rank;
    if (find->what != RZ_FLAT_LEFT) {
        rz_flat_report(flat, &(struct rz_flat_report){
                                 .find = *find, .epoch = flat->epoch, .at = rz_clock_now()});
    }
    if (find->what == RZ_FLAT_SUSPECT) {
        step(flat, &flat->spread,
             &(struct rz_event){.kind = RZ_EVENT_CALL,
                                .call = RZ_SPREAD_BROADCAST,
                                .now = now,
                                .items = &item,
                                .n_items = 1});
    } else {
        put_out(flat, find->rank, now);
    }
}

/* Handles what the last steps have found, which may find more. */
static void follow_up(struct rz_flat *flat, rz_time now)
{
    for (uint32_t i = 0; i < flat->n_finds; i++) {
        const struct rz_flat_find find = flat->finds[i];
        if (find.rank < flat->info->n_ranks) {
            follow_one(flat, &find, now);
        }
    }
    flat->n_finds = 0;
}

/* ---- epochs ---- */

static void ring_end(struct rz_flat *flat)
{
    rz_datagrams_close(flat->post.datagrams);
    flat->post.datagrams = NULL;
    rz_embedded_close(&flat->ring);
    rz_embedded_close(&flat->spread);
    flat->n_finds = 0;
    flat->epoch = 0;
}

static void ring_begin(struct rz_flat *flat, uint32_t epoch, rz_time now)
{
    const struct rz_link_info *info = flat->info;
    const struct rz_ring_config ring = {.n_members = info->n_ranks,
                                        .view = epoch,
                                        .hb_period = info->board->hb_period_ns,
                                        .hb_timeout = info->hb_timeout,
                                        .start_slack = START_SLACK,
                                        .lateness_max = RZ_LATENESS_MAX};
    const struct rz_spread_config spread = {.n_members = info->n_ranks, .view = epoch};
    uint8_t key[RZ_DATAGRAM_KEY_BYTES];
    /* in each epoch all members count their messages from the start again */
    rz_datagram_derive(info->ring_key, epoch, key);
    rz_status_t status =
        rz_datagrams_open(&flat->post.datagrams, info->n_ranks, info->self.rank, key);
    rz_need_memory(status == RZ_OK, "for the failure detector");
    explicit_bzero(key, sizeof(key));
    bool opened = rz_embedded_open(&flat->ring, &rz_protocol_ring, &ring, info->self.rank, now,
                                   info->self.job) &&
                  rz_embedded_open(&flat->spread, &rz_protocol_spread, &spread, info->self.rank,
                                   now, info->self.job);
    rz_need_memory(opened, "for the failure detector");
    memset(flat->out, 0, info->n_ranks * sizeof(*flat->out));
    flat->epoch = epoch;
    flat->news = 0;
}

/* Removes the processes that are no members any more by the daemons' knowledge: failed, or ended on
 * this node. */
static void look_at_ranks(struct rz_flat *flat, rz_time now)
{
    uint64_t news = atomic_load_explicit(&flat->info->board->news, memory_order_acquire);
    if (news == flat->news) {
        return;
    }
    flat->news = news;
    for (uint32_t rank = 0; rank < flat->info->n_ranks; rank++) {
        if (rz_board_state(board_rank(flat, rank)) != RZ_PROCESS_ALIVE) {
            put_out(flat, rank, now);
        }
    }
}

/* An epoch that does not run yet has no ring, since not all of its processes exist. */
static void look_at_board(struct rz_flat *flat, rz_time now)
{
    uint64_t word = atomic_load_explicit(&flat->info->board->epoch_phase, memory_order_acquire);
    uint32_t epoch = (uint32_t)(word >> 8);
    bool runs = (word & 0xFF) != RZ_PHASE_ENTER;
    if (flat->epoch != 0 && (flat->epoch != epoch || !runs)) {
        ring_end(flat);
    }
    if (flat->epoch == 0 && runs) {
        ring_begin(flat, epoch, now);
    }
    if (flat->epoch != 0) {
        look_at_ranks(flat, now);
    }
}

/* ---- the thread ---- */

/* The time of the cores: if the thread overslept by more than a period, that time does not count,
 * since it could not receive. */
static rz_time flat_now(struct rz_flat *flat)
{
    rz_time now = rz_clock_now() - flat->slept;
    rz_time bound = flat->meant + flat->info->board->hb_period_ns;
    if (flat->meant > 0 && now > bound) {
        flat->late = now - flat->meant;
        flat->slept += flat->late;
        now = flat->meant;
    }
    flat->meant = now; /* until the next sleep begins */
    return now;
}

static void read_messages(struct rz_flat *flat, rz_time now)
{
    struct rz_message message;
    uint64_t items[RZ_POST_ITEMS_MAX];
    for (int i = 0; i < TURN_MESSAGES && rz_post_receive(&flat->post, &message, items); i++) {
        const struct rz_event event = {
            .kind = RZ_EVENT_RECEIVE, .now = now, .message = &message, .items = items};
        if (message.protocol == RZ_PROTOCOL_RING) {
            step(flat, &flat->ring, &event);
        } else if (message.protocol == RZ_PROTOCOL_SPREAD) {
            step(flat, &flat->spread, &event);
        }
        follow_up(flat, now);
    }
}

static void tick(struct rz_flat *flat, rz_time now)
{
    if (flat->epoch != 0 && flat->late > 0) {
        step(flat, &flat->ring,
             &(struct rz_event){
                 .kind = RZ_EVENT_CALL, .call = RZ_RING_LATENESS, .arg = {flat->late}, .now = now});
    }
    flat->late = 0;
    if (flat->epoch != 0 && rz_ring_deadline(flat->ring.state) <= now) {
        step(flat, &flat->ring, &(struct rz_event){.kind = RZ_EVENT_TICK, .now = now});
        follow_up(flat, now);
    }
}

/* Sleeps until a message comes, the deadline of the ring, or a period is over; then reads the
 * board. True when the thread is to end. */
static bool rest(struct rz_flat *flat)
{
    rz_time now = flat_now(flat), wake = now + flat->info->board->hb_period_ns;
    rz_time deadline = flat->epoch != 0 ? rz_ring_deadline(flat->ring.state) : RZ_TIME_NEVER;
    wake = deadline < wake ? deadline : wake;
    rz_time wait = wake > now ? wake - now : 0;
    struct timespec until = {.tv_sec = (time_t)(wait / RZ_SECOND),
                             .tv_nsec = (long)(wait % RZ_SECOND)};
    struct pollfd polled[] = {{.fd = flat->end_fd, .events = POLLIN},
                              {.fd = flat->info->ring_fd, .events = POLLIN}};
    flat->meant = wake > now ? wake : now;
    int n = ppoll(polled, 2, &until, NULL);
    rz_assert(n >= 0 || errno == EINTR);
    return n > 0 && polled[0].revents != 0;
}

static void leave(struct rz_flat *flat, rz_time now)
{
    if (flat->epoch != 0) {
        step(flat, &flat->ring,
             &(struct rz_event){.kind = RZ_EVENT_CALL, .call = RZ_RING_LEAVE, .now = now});
        ring_end(flat);
    }
}

static void *flat_run(void *arg)
{
    struct rz_flat *flat = arg;
    bool ends;
    do {
        ends = rest(flat);
        rz_time now = flat_now(flat);
        if (flat->epoch == 0) { /* a message may be the first sign that the epoch runs */
            look_at_board(flat, now);
        }
        read_messages(flat, now); /* messages that have arrived are handled before the tick, and
                                     before a new epoch */
        look_at_board(flat, now);
        follow_up(flat, now);
        tick(flat, now);
        rz_flat_flush(flat);
    } while (!ends);
    leave(flat, flat_now(flat));
    return NULL;
}

/* ---- begin and end ---- */

static void flat_free(struct rz_flat *flat)
{
    if (flat->end_fd >= 0) {
        close(flat->end_fd);
    }
    free(flat->out);
    free(flat->finds);
    free(flat->reports);
    free(flat);
}

static rz_status_t flat_open(struct rz_flat **result, const struct rz_link_info *info)
{
    struct rz_flat *flat = calloc(1, sizeof(*flat));
    if (!flat) {
        return RZ_ERR_NO_MEMORY;
    }
    flat->info = info;
    flat->post = (struct rz_post){.fd = info->ring_fd, .address = rz_flat_address, .arg = flat};
    flat->out = calloc(info->n_ranks, sizeof(*flat->out));
    flat->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rz_status_t status = !flat->out ? RZ_ERR_NO_MEMORY : RZ_OK;
    if (status == RZ_OK &&
        (flat->end_fd < 0 ||
         rz_thread_start(&flat->thread, "rz-flat", STACK_BYTES, flat_run, flat) != 0)) {
        status = RZ_ERR_SYSTEM;
    }
    if (status != RZ_OK) {
        flat_free(flat);
        return status;
    }
    *result = flat;
    return RZ_OK;
}

static void flat_close(struct rz_flat *flat)
{
    uint64_t one = 1;
    ssize_t written = write(flat->end_fd, &one, sizeof(one));
    rz_assert(written == sizeof(one));
    pthread_join(flat->thread, NULL);
    flat_free(flat);
}

__attribute__((visibility("default"))) const struct rz_flat_entry rz_flat_entry = {
    .version = RZ_FLAT_MODULE_VERSION, .open = flat_open, .close = flat_close};
