/* SPDX-License-Identifier: BSD-3-Clause */
/* The job around the process under test: transport, daemon link, board and doorbell, all of them
 * played. */
#include "fake_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mpi/impl.h"
#include "link/waits.h"
#include "mpi/comm/comm.h"
#include "mpi/engine/waiting.h"
#include "mpi/p2p/p2p_inside.h"
#include "net/shm/shm.h"
#include "net/tcp/tcp.h"
#include "proto/recover/recover.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS_MAX 200000

struct fake_world fake;

/* ---- The transport ---- */

struct rz_net_token {
    unsigned char *data;
    size_t bytes;
    uint32_t from;
};

struct pending {
    struct pending *next;
    struct rz_net_op *op;
    bool by_peer;
    rz_peer_t peer;
    void *into;
    unsigned char *from;
    size_t bytes;
};

struct arrival {
    struct arrival *next;
    unsigned char header[RZ_ENVELOPE_BYTES];
    struct rz_net_token *token; /* always holds the payload */
    bool by_token;
};

static struct {
    struct rz_net_host host;
    void (*stranger)(void *arg, struct rz_identity identity);
    struct pending *pending;
    struct arrival *first, **last;
    uint32_t world_of_peer[4096];
    bool gone[4096];
} net;

struct rz_net {
    int nothing;
};
static struct rz_net the_net;

static rz_status_t fake_ep_address(struct rz_net *n, void *ep_address, size_t *bytes)
{
    (void)n;
    memset(ep_address, 0, sizeof(struct rz_shm_ep_address));
    *bytes = sizeof(struct rz_shm_ep_address);
    return RZ_OK;
}

static rz_status_t fake_connect(struct rz_net *n, rz_peer_t peer, const void *ep_address,
                                size_t bytes)
{
    (void)n;
    assert_int_equal(bytes, sizeof(struct rz_shm_ep_address));
    net.world_of_peer[peer] = ((const struct rz_shm_ep_address *)ep_address)->peer.rank;
    net.gone[peer] = false;
    return RZ_OK;
}

static void pend(struct rz_net_op *op, bool by_peer, rz_peer_t peer, void *into,
                 unsigned char *from, size_t bytes)
{
    struct pending *p = calloc(1, sizeof(*p));
    *p = (struct pending){net.pending, op, by_peer, peer, into, from, bytes};
    net.pending = p;
    fake.ops_pending++;
}

static rz_status_t fake_send(struct rz_net *n, rz_peer_t peer, const void *data, size_t bytes,
                             struct rz_net_op *op)
{
    (void)n;
    assert_false(net.gone[peer]);
    for (int i = 0; i < 6; i++) {
        assert_null(op->net_private[i]);
    }
    assert_true(fake.n_sent < FAKE_SENT_MAX);
    struct fake_sent *sent = &fake.sent[fake.n_sent++];
    sent->peer = peer;
    sent->world = net.world_of_peer[peer];
    sent->bytes = bytes;
    assert_true(rz_envelope_decode(&sent->envelope, op->header, op->header_bytes));
    if (bytes > 0) {
        memcpy(sent->data, data, bytes < sizeof(sent->data) ? bytes : sizeof(sent->data));
    }
    if (!fake.slow_sends) {
        return RZ_OK;
    }
    pend(op, true, peer, NULL, NULL, 0);
    return RZ_IN_PROGRESS;
}

static void token_free(struct rz_net_token *token)
{
    free(token->data);
    free(token);
}

static rz_status_t fake_fetch(struct rz_net *n, rz_net_token_t token, void *data, size_t bytes,
                              struct rz_net_op *op)
{
    (void)n;
    assert_true(bytes <= token->bytes);
    fake.tokens_out--;
    if (!fake.slow_fetches) {
        memcpy(data, token->data, bytes);
        token_free(token);
        return RZ_OK;
    }
    for (int i = 0; i < 6; i++) {
        assert_null(op->net_private[i]);
    }
    rz_peer_t peer = 0;
    while (peer < 4096 && (net.gone[peer] || net.world_of_peer[peer] != token->from)) {
        peer++;
    }
    pend(op, true, peer, data, token->data, bytes);
    free(token);
    return RZ_IN_PROGRESS;
}

static void fake_drop(struct rz_net *n, rz_net_token_t token)
{
    (void)n;
    fake.tokens_out--;
    token_free(token);
}

static unsigned finish_pending(void)
{
    unsigned events = 0;
    while (net.pending) {
        struct pending *p = net.pending;
        net.pending = p->next;
        if (p->into) {
            memcpy(p->into, p->from, p->bytes);
        }
        free(p->from);
        fake.ops_pending--;
        p->op->done(p->op, RZ_OK);
        free(p);
        events++;
    }
    return events;
}

static unsigned deliver(void)
{
    unsigned events = 0;
    struct arrival *a;
    while ((a = net.first) != NULL) {
        net.first = a->next;
        if (!net.first) {
            net.last = &net.first;
        }
        struct rz_net_token *token = a->token;
        if (a->by_token && token->bytes > 0) {
            fake.tokens_out++;
            net.host.arrived(net.host.arg, a->header, sizeof(a->header), NULL, token->bytes, token);
        } else {
            net.host.arrived(net.host.arg, a->header, sizeof(a->header), token->data, token->bytes,
                             NULL);
            token_free(token);
        }
        free(a);
        events++;
    }
    return events;
}

static unsigned fake_progress(struct rz_net *n)
{
    (void)n;
    unsigned events = deliver() + finish_pending();
    if (fake.turn && (events == 0 || fake.turns_always)) {
        fake.turn(fake.turn_arg);
    }
    if (events == 0 && ++fake.rounds_without_turn > ROUNDS_MAX) {
        fprintf(stderr, "hung: nothing will ever end this wait\n");
        abort();
    }
    return events;
}

static bool fake_arm(struct rz_net *n)
{
    (void)n;
    return false; /* the test goes on by rounds of progress, never by sleep */
}

static void fake_renew(struct rz_net *n, rz_peer_t peer, rz_status_t status)
{
    (void)n;
    assert_false(net.gone[peer]);
    struct pending **at = &net.pending;
    while (*at) {
        struct pending *p = *at;
        if (!p->by_peer || p->peer != peer) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p->from);
        fake.ops_pending--;
        p->op->done(p->op, status);
        free(p);
        at = &net.pending;
    }
}

static void fake_disconnect(struct rz_net *n, rz_peer_t peer, bool drain, rz_status_t status)
{
    if (drain) {
        deliver();
    }
    fake_renew(n, peer, status);
    net.gone[peer] = true;
}

static enum rz_net_withdrawn fake_withdraw(struct rz_net *n, rz_peer_t peer, rz_net_token_t token,
                                           struct rz_net_op *op)
{
    (void)n, (void)peer, (void)token, (void)op;
    return RZ_NET_NOT_WITHDRAWN;
}

static bool fake_quiet(struct rz_net *n)
{
    (void)n;
    return !net.pending;
}

/* What is still under way ends. */
static void fake_close(struct rz_net *n)
{
    (void)n;
    while (net.pending) {
        struct pending *p = net.pending;
        net.pending = p->next;
        free(p->from);
        fake.ops_pending--;
        p->op->done(p->op, RZ_ERR_CLOSED);
        free(p);
    }
}

const struct rz_net_ops rz_shm_ops = {.name = "fake",
                                      .eager_max = 1024,
                                      .ep_address = fake_ep_address,
                                      .connect = fake_connect,
                                      .send = fake_send,
                                      .fetch = fake_fetch,
                                      .drop = fake_drop,
                                      .withdraw = fake_withdraw,
                                      .progress = fake_progress,
                                      .arm = fake_arm,
                                      .disconnect = fake_disconnect,
                                      .renew = fake_renew,
                                      .quiet = fake_quiet,
                                      .close = fake_close};

rz_status_t rz_shm_open(struct rz_net **out, const struct rz_shm_config *config)
{
    net.host = config->host;
    net.stranger = config->stranger;
    net.first = NULL;
    net.last = &net.first;
    *out = &the_net;
    return RZ_OK;
}

void rz_shm_forget(struct rz_net *n, struct rz_identity identity, rz_status_t status)
{
    (void)n;
    (void)identity;
    (void)status;
}

bool rz_shm_shares(const struct rz_net *n)
{
    (void)n;
    return false;
}

void rz_shm_descriptors(const struct rz_net *net, void (*visit)(void *arg, int fd), void *arg)
{
    (void)net, (void)visit, (void)arg;
}

rz_status_t rz_shm_lane_over(struct rz_net *n, uint32_t lane, struct rz_identity identity)
{
    (void)n;
    (void)lane;
    (void)identity;
    fake.lanes_given_back += fake.lane_refusal == RZ_OK;
    return fake.lane_refusal;
}

rz_status_t rz_tcp_open(const struct rz_tcp_config *config, struct rz_net **out,
                        const struct rz_net_ops **ops)
{
    fake.net_tries++;
    if (fake.net_refusal == RZ_OK) {
        return RZ_ERR_UNSUPPORTED;
    }
    if (fake.net_tries <= fake.net_refusals) {
        config->complain(config->host.arg, "refused by the test");
        return fake.net_refusal;
    }
    *out = &the_net;
    *ops = &rz_shm_ops;
    return RZ_OK;
}

/* ---- The daemon ---- */

struct rz_link {
    struct rz_link_info info;
    rz_link_handler_t handlers[RZ_LINK_TYPE_COUNT];
    uint32_t asked[256];
    size_t n_asked;
    struct rz_link_message said[16];
    size_t n_said;
};

static struct rz_link the_link;
static struct rz_doorbell bell;
static union {
    struct rz_waits waits;
    unsigned char room[sizeof(struct rz_waits) + FAKE_SLOTS * sizeof(struct rz_pair_counts)];
} shown;

/* ---- What rewinding needs of a link: no test here rewinds ---- */

rz_status_t rz_link_join(struct rz_link **out)
{
    return rz_link_open(out);
}

rz_status_t rz_link_hold(struct rz_link *l)
{
    (void)l;
    return RZ_OK;
}

void rz_link_hand_over(const struct rz_link *l, void *handover)
{
    (void)l, (void)handover;
}

rz_status_t rz_link_take_over(struct rz_link *l, const void *handover)
{
    (void)l, (void)handover;
    return RZ_ERR_UNSUPPORTED;
}

void rz_link_descriptors(const struct rz_link *l, void (*visit)(void *arg, int fd), void *arg)
{
    (void)l, (void)visit, (void)arg;
}

void rz_link_renumber(struct rz_link *l, int (*move)(int fd))
{
    (void)l, (void)move;
}

int rz_link_thread(const struct rz_link *l)
{
    (void)l;
    return 0;
}

rz_status_t rz_link_open(struct rz_link **link)
{
    *link = &the_link;
    return RZ_OK;
}

void rz_link_close(struct rz_link *link, bool bye)
{
    (void)link;
    (void)bye;
}

const struct rz_link_info *rz_link_info(const struct rz_link *link)
{
    return &link->info;
}

void rz_link_handle(struct rz_link *link, enum rz_link_type type, rz_link_handler_t handler,
                    void *arg)
{
    (void)arg;
    link->handlers[type] = handler;
}

rz_status_t rz_link_send(struct rz_link *link, const struct rz_link_message *message, int fd)
{
    (void)fd;
    fake.last_link = *message;
    if (fake.heard) {
        fake.heard(message);
    }
    if (message->type == RZ_LINK_OPEN && !fake.mute_daemon) {
        assert_true(link->n_asked < 256);
        link->asked[link->n_asked++] = message->open.rank;
        atomic_fetch_or(&bell.reasons, RZ_DOORBELL_LINK);
    }
    if (message->type == RZ_LINK_REACHED) {
        fake.n_reached++;
        fake.last_reached = message->reached;
    }
    return RZ_OK;
}

rz_status_t rz_link_send_through(const struct rz_link *link, const struct rz_link_message *message,
                                 int fd, void *room, size_t bytes)
{
    (void)room;
    (void)bytes;
    return rz_link_send((struct rz_link *)link, message, fd);
}

rz_status_t rz_link_progress(struct rz_link *link)
{
    for (size_t i = 0; i < link->n_asked; i++) {
        uint32_t rank = link->asked[i];
        struct rz_link_message message = {
            .type = RZ_LINK_OPENED,
            .opened = {.rank = rank,
                       .incarnation = rz_board_incarnation(fake.board->rank[rank]),
                       .pid = 1,
                       .lane = rank}};
        int fds[2] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};
        link->handlers[RZ_LINK_OPENED](NULL, &message, fds, 2);
    }
    link->n_asked = 0;
    if (link->n_said > 0 && fake.before_read) {
        fake.before_read();
    }
    for (size_t i = 0; i < link->n_said; i++) {
        assert_non_null(link->handlers[link->said[i].type]);
        link->handlers[link->said[i].type](NULL, &link->said[i], NULL, 0);
    }
    link->n_said = 0;
    return RZ_OK;
}

rz_status_t rz_link_await(struct rz_link *link, const bool *answered)
{
    (void)link, (void)answered;
    return RZ_ERR_CLOSED; /* no process here begins again */
}

rz_status_t rz_link_check(struct rz_link *link)
{
    (void)link;
    return RZ_OK;
}

/* ---- The job ---- */

static void news(void)
{
    atomic_fetch_add(&fake.board->news, 1);
}

static void rank_news(void)
{
    atomic_fetch_add(&fake.board->rank_news, 1);
    news();
}

void fake_say(const struct rz_link_message *message)
{
    assert_true(the_link.n_said < 16);
    the_link.said[the_link.n_said++] = *message;
    if (!fake.quiet_daemon) {
        atomic_fetch_or(&bell.reasons, RZ_DOORBELL_LINK);
    }
}

void fake_world_begin(uint32_t n)
{
    fake_world_begin_as(n, 1);
}

void fake_world_begin_as(uint32_t n, uint32_t incarnation)
{
    static uint64_t jobs; /* no communicator of one job is taken for an ended one of another */
    memset(&fake, 0, sizeof(fake));
    memset(&net, 0, sizeof(net));
    memset(&the_link, 0, sizeof(the_link));
    memset(&bell, 0, sizeof(bell));
    memset(&rz_engine, 0, sizeof(rz_engine));
    fake.n = n;
    fake.board = calloc(1, rz_board_bytes(FAKE_SLOTS));
    fake.board->n_ranks = n;
    fake.board->n_slots = FAKE_SLOTS;
    fake.board->lease_ns = RZ_SECOND;
    fake.board->epoch_phase = 1 << 8 | RZ_PHASE_RUN;
    for (uint32_t i = 0; i < n; i++) {
        fake.board->rank[i] = rz_board_rank_word(i == 0 ? incarnation : 1, 0, RZ_PROCESS_ALIVE);
    }
    the_link.info = (struct rz_link_info){
        .self = {.job = ++jobs, .rank = 0, .incarnation = incarnation},
        .restarted = incarnation > 1,
        .n_ranks = n,
        .n_slots = FAKE_SLOTS,
        .n_nodes = FAKE_SLOTS,
        .job_token = 99,
        .doorbell = &bell,
        .doorbell_fd = -1,
        .fd = -1,
        .board = fake.board,
        .waits = &shown.waits,
    };
    int provided;
    assert_int_equal(rzm_init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
}

static void end_turn(void *arg)
{
    (void)arg;
    fake_epoch(rz_engine.epoch, RZ_PHASE_LEFT);
}

void fake_world_end(void)
{
    fake.turn = end_turn;
    fake.rounds_without_turn = 0;
    assert_int_equal(rzm_finalize(), MPI_SUCCESS);
    assert_int_equal(fake.tokens_out, 0);
    assert_int_equal(fake.ops_pending, 0);
    free(fake.board);
}

int fake_world_setup(void **state)
{
    (void)state;
    fake_world_begin(8);
    return 0;
}

int fake_world_teardown(void **state)
{
    (void)state;
    fake_world_end();
    return 0;
}

struct rz_comm *fake_comm(void)
{
    return rz_comm_predefined(0x101);
}

struct rz_comm *fake_duplicate(void)
{
    struct rz_comm *made;
    uint64_t operation = rz_comm_begin(fake_comm(), "");
    assert_int_equal(rz_comm_derive(fake_comm(), fake_comm()->group, operation, 0, &made),
                     MPI_SUCCESS);
    return made;
}

struct rz_datatype *fake_bytes(void)
{
    return rz_datatype_of(MPI_BYTE);
}

static struct rz_p2p_message inside(void *data, size_t bytes, int peer, int tag,
                                    struct rz_comm *comm)
{
    return (struct rz_p2p_message){.buffer = data,
                                   .count = (MPI_Count)bytes,
                                   .datatype = fake_bytes(),
                                   .peer = peer,
                                   .tag = tag,
                                   .comm = comm,
                                   .context_offset = RZ_CONTEXT_OFFSET_COLLECTIVE};
}

int fake_send_inside(const void *data, size_t bytes, int dest, int tag, struct rz_comm *comm)
{
    const struct rz_p2p_message message = inside((void *)(uintptr_t)data, bytes, dest, tag, comm);
    struct rz_request *request;
    int error = rz_p2p_isend(&message, &request);
    return error != MPI_SUCCESS ? error : rz_p2p_wait(&request, 1);
}

int fake_recv_inside(void *data, size_t bytes, int source, int tag, struct rz_comm *comm)
{
    const struct rz_p2p_message message = inside(data, bytes, source, tag, comm);
    struct rz_request *request;
    int error = rz_p2p_irecv(&message, &request);
    return error != MPI_SUCCESS ? error : rz_p2p_wait(&request, 1);
}

void fake_rounds(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        rz_engine_progress();
    }
}

struct rz_envelope fake_envelope(uint32_t from, uint64_t context, int tag)
{
    return (struct rz_envelope){.job_token = 99,
                                .epoch = rz_engine.epoch,
                                .incarnation = rz_board_incarnation(fake.board->rank[from]),
                                .slot = from,
                                .context = context,
                                .source = (int32_t)from,
                                .tag = tag,
                                .kind = RZ_ENVELOPE_MESSAGE};
}

void fake_inject(const struct rz_envelope *envelope, const void *data, size_t bytes, bool by_token)
{
    struct arrival *a = calloc(1, sizeof(*a));
    rz_envelope_encode(envelope, a->header);
    a->token = calloc(1, sizeof(*a->token));
    a->token->data = malloc(bytes + 1);
    if (bytes > 0) {
        memcpy(a->token->data, data, bytes);
    }
    a->token->bytes = bytes;
    a->token->from = envelope->slot;
    a->by_token = by_token;
    *net.last = a;
    net.last = &a->next;
}

int fake_failed_count(struct rz_comm *comm)
{
    struct rz_group *group;
    assert_int_equal(rzm_comm_get_failed(comm, &group), MPI_SUCCESS);
    int size = group->size;
    rz_group_release(group);
    return size;
}

void fake_process_state(uint32_t rank, enum rz_process_state state)
{
    uint64_t word = fake.board->rank[rank];
    fake.board->rank[rank] =
        rz_board_rank_word(rz_board_incarnation(word), rz_board_node(word), state);
    rank_news();
}

void fake_epoch(uint32_t epoch, uint32_t phase)
{
    fake.board->epoch_phase = (uint64_t)epoch << 8 | phase;
    news();
}

void fake_stranger(uint32_t slot, uint32_t incarnation)
{
    struct rz_identity identity = {
        .job = the_link.info.self.job, .rank = slot, .incarnation = incarnation};
    net.stranger(net.host.arg, identity);
}

uint32_t fake_process(uint32_t slot)
{
    return rz_process(slot, rz_board_incarnation(fake.board->rank[slot]));
}

void fake_reincarnate(uint32_t rank, uint32_t incarnation)
{
    fake_reincarnate_on(rank, incarnation, 0);
}

void fake_reincarnate_on(uint32_t rank, uint32_t incarnation, uint32_t node)
{
    fake.board->rank[rank] = rz_board_rank_word(incarnation, node, RZ_PROCESS_ALIVE);
    rank_news();
}
