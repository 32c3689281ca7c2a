#include "daemon/link_service.h"

#include "base/assert.h"
#include "daemon/spawns.h"
#include "daemon/board_writer.h"
#include "daemon/decision_cache.h"
#include "daemon/groups.h"
#include "daemon/job.h"
#include "daemon/arbiter.h"
#include "daemon/launcher.h"
#include "daemon/names.h"
#include "daemon/questions.h"
#include "daemon/revocations.h"
#include "daemon/share.h"
#include "daemon/store.h"
#include "port/kill_point.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/socket.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Messages of one process per turn of the loop: no process keeps the others waiting. */
#define TURN_MESSAGES 32
/* What can lie in the buffer of a failed process's socket, generously. */
#define DRAIN_MESSAGES 4096
#define EP_ADDRESS_BYTES_MAX 4096

#define KIND(kind) (1u << RZ_QUESTION_##kind)
#define EP_ADDRESS_KINDS (KIND(EP_ADDRESS) | KIND(EP_ADDRESS_REMOTE))

struct rz_link_service {
    struct rz_daemon *daemon;
    struct rz_questions questions;
    uint8_t buffer[RZ_LINK_MESSAGE_MAX];
};

/* ---- sending */

static rz_status_t send_to(struct rz_child *p, const struct rz_link_message *message,
                           const int *fds, unsigned n_fds)
{
    rz_status_t status = rz_link_peer_send(&p->link, message, fds, n_fds);
    if (status == RZ_OK)
        rz_child_ring(p, RZ_DOORBELL_LINK);
    else if (status != RZ_ERR_CLOSED)
        rz_child_kill(p, "it does not read its messages");
    return status;
}

void rz_link_service_send(struct rz_child *p, const struct rz_link_message *message)
{
    send_to(p, message, NULL, 0);
}

void rz_link_service_send_with(struct rz_child *p, const struct rz_link_message *message,
                               const int *fds, unsigned n_fds)
{
    send_to(p, message, fds, n_fds);
}

rz_status_t rz_daemon_link_send(struct rz_daemon *daemon, uint32_t rank,
                                const struct rz_link_message *message, int fd)
{
    struct rz_child *p = rz_child_of(daemon, rank);
    if (!p || p->state != RZ_CHILD_JOINED)
        return RZ_ERR_CLOSED;
    if (message->type == RZ_LINK_PIECE)
        p->piece_source = message->piece.source_node;
    return send_to(p, message, &fd, fd >= 0 ? 1 : 0);
}

/* ---- who reaches whom */

static void send_opened(struct rz_child *asker, struct rz_child *target)
{
    int fds[] = {target->share.inbox_fd, target->share.bell_fd};
    struct rz_link_message message = {.type = RZ_LINK_OPENED,
                                      .opened = {.rank = target->rank,
                                                 .incarnation = target->incarnation,
                                                 .pid = (uint32_t)target->share.pid,
                                                 .lane = target->share.lane}};
    send_to(asker, &message, fds, 2);
}

/* Not to another incarnation than the one that asked. */
static void send_ep_address(struct rz_daemon *daemon, uint32_t asker, uint32_t asker_incarnation,
                            uint32_t rank, uint32_t incarnation, uint32_t epoch,
                            const uint8_t *ep_address, uint32_t bytes)
{
    const struct rz_child *p = rz_child_of(daemon, asker);
    if (!p || p->incarnation != asker_incarnation)
        return;
    struct rz_link_message message = {.type = RZ_LINK_EP_ADDRESS,
                                      .ep_address = {.rank = rank,
                                                     .incarnation = incarnation,
                                                     .epoch = epoch,
                                                     .ep_address = ep_address,
                                                     .ep_address_length = bytes}};
    rz_daemon_link_send(daemon, asker, &message, -1);
}

/* Somebody wants the endpoint address that target has in epoch, or will have; it answers by
 * PUT_EP_ADDRESS. */
static void ask_for_ep_address(struct rz_child *target, uint32_t epoch)
{
    struct rz_link_message message = {.type = RZ_LINK_OPEN_NET, .open_net = {.epoch = epoch}};
    send_to(target, &message, NULL, 0);
}

static bool on_get_ep_address(struct rz_child *p, uint32_t rank, uint32_t epoch);

static void answer_opens(struct rz_child *target)
{
    struct rz_link_service *service = target->daemon->link_service;
    struct rz_daemon_question question;
    while (rz_questions_take(&service->questions, target->rank, target->incarnation, KIND(OPEN), 0,
                             &question)) {
        struct rz_child *asker = rz_child_of(target->daemon, question.asker);
        if (asker && asker->state == RZ_CHILD_JOINED &&
            asker->incarnation == question.asker_incarnation)
            send_opened(asker, target);
    }
}

/* Answers who wants the endpoint address that rank has in epoch; bytes 0: it has ended, there will
 * be none. */
static void answer_ep_addresses(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation,
                                uint32_t epoch, const uint8_t *ep_address, uint32_t bytes)
{
    struct rz_daemon_question question;
    while (rz_questions_take(&daemon->link_service->questions, rank, incarnation, EP_ADDRESS_KINDS,
                             epoch, &question)) {
        if (question.kind == RZ_QUESTION_EP_ADDRESS)
            send_ep_address(daemon, question.asker, question.asker_incarnation, rank, incarnation,
                            epoch, ep_address, bytes);
        else
            rz_recovery_give_ep_address(daemon->recovery, question.asker_node, rank, incarnation,
                                        question.asker, question.asker_incarnation, epoch,
                                        ep_address, bytes);
    }
}

void rz_link_service_ended(struct rz_child *p)
{
    answer_ep_addresses(p->daemon, p->rank, p->incarnation, p->daemon->epoch, (const uint8_t *)"",
                        0);
}

/* An endpoint address of a rank that lives here, or is about to, is wanted. */
static void ep_address_wanted(struct rz_daemon *daemon, struct rz_daemon_question question)
{
    struct rz_child *target = rz_child_of(daemon, question.target);
    uint32_t asked =
        rz_questions_epoch(&daemon->link_service->questions, question.target, EP_ADDRESS_KINDS);
    rz_questions_add(&daemon->link_service->questions, question);
    bool joined = target && target->state == RZ_CHILD_JOINED &&
                  target->incarnation >= question.target_incarnation;
    if (joined && target->ep_address && target->ep_address_epoch >= question.epoch)
        answer_ep_addresses(daemon, target->rank, target->incarnation, target->ep_address_epoch,
                            target->ep_address, target->ep_address_bytes);
    else if (joined && asked < question.epoch)
        ask_for_ep_address(target, question.epoch);
    else if (daemon->places[question.target].incarnation >= question.target_incarnation &&
             rz_child_has_ended(daemon, question.target))
        answer_ep_addresses(daemon, question.target, daemon->places[question.target].incarnation,
                            daemon->epoch, (const uint8_t *)"", 0);
    /* else: answered when it joins */
}

void rz_daemon_ep_address_wanted(struct rz_daemon *daemon, rz_id from,
                                 const struct rz_overlay_get_ep_address *wanted)
{
    if (wanted->rank < daemon->job.n_slots && wanted->asker < daemon->job.n_slots)
        ep_address_wanted(
            daemon, (struct rz_daemon_question){.kind = RZ_QUESTION_EP_ADDRESS_REMOTE,
                                                .target = wanted->rank,
                                                .target_incarnation = wanted->incarnation,
                                                .asker = wanted->asker,
                                                .asker_incarnation = wanted->asker_incarnation,
                                                .asker_node = from,
                                                .epoch = wanted->epoch});
}

void rz_daemon_ep_address_arrived(struct rz_daemon *daemon,
                                  const struct rz_overlay_ep_address *ep_address)
{
    if (ep_address->rank < daemon->job.n_slots && ep_address->asker < daemon->job.n_slots &&
        ep_address->ep_address_length <= EP_ADDRESS_BYTES_MAX)
        send_ep_address(daemon, ep_address->asker, ep_address->asker_incarnation, ep_address->rank,
                        ep_address->incarnation, ep_address->epoch, ep_address->ep_address,
                        ep_address->ep_address_length);
}

/* Processes of this node asked for an endpoint address before their daemon had heard of the spawn.
 */
void rz_link_service_spawned(struct rz_daemon *daemon, uint32_t rank, uint32_t incarnation)
{
    struct rz_daemon_question question;
    while (rz_questions_take(&daemon->link_service->questions, rank, incarnation, KIND(EARLY),
                             UINT32_MAX, &question)) {
        struct rz_child *asker = rz_child_of(daemon, question.asker);
        if (asker && asker->state == RZ_CHILD_JOINED &&
            asker->incarnation == question.asker_incarnation)
            on_get_ep_address(asker, rank, question.epoch);
    }
}

/* ---- joining */

static void refuse(struct rz_child *p, const char *reason)
{
    struct rz_link_message message = {.type = RZ_LINK_REFUSED, .refused = {.reason = reason}};
    rz_daemon_log(p->daemon, 0, "rank %u is refused: %s", p->rank, reason);
    send_to(p, &message, NULL, 0);
}

static const char *hello_problem(const struct rz_child *p, const struct rz_link_hello *hello)
{
    uint8_t key[RZ_JOB_KEY_BYTES];
    const struct rz_daemon_job *job = &p->daemon->job;
    if (hello->version != RZ_LINK_VERSION)
        return "the library speaks another version of the link protocol than rzd: they come from "
               "different releases";
    if (p->joined)
        return "a process of this rank has already joined; one program per rank can use MPI";
    if (hello->job != job->id || hello->rank != p->rank || hello->incarnation != p->incarnation)
        return "it says it is another process than was started here";
    rz_job_process_key(job, p->rank, p->incarnation, key);
    if (hello->key_length != sizeof key || sodium_memcmp(hello->key, key, sizeof key) != 0)
        return "it did not prove that it belongs to this job (RZ_JOB_KEY)";
    return NULL;
}

static void on_hello(struct rz_child *p, const struct rz_link_hello *hello)
{
    struct rz_daemon *daemon = p->daemon;
    rz_kill_here(RZ_KILL_DAEMON_HELLO);
    const char *why = hello_problem(p, hello);
    uint8_t ring_key[RZ_JOB_KEY_BYTES], net_key[RZ_JOB_KEY_BYTES];
    struct rz_address node = {0};
    int ring_fd = -1;
    if (!why && rz_arbiter_join(p, ring_key, &ring_fd) != RZ_OK)
        why = "its node has no socket left for its heartbeats (--detector flat)";
    if (why || rz_child_join(p, (pid_t)hello->pid, &why) != RZ_OK) {
        refuse(p, why);
        if (ring_fd >= 0)
            close(ring_fd);
        return;
    }
    rz_job_net_key(&daemon->job, net_key);
    rz_address_parse(daemon->job.peers[daemon->job.node].address, &node); /* the overlay has it */
    int fds[] = {rz_board_writer_fd(daemon->board), p->share.inbox_fd, p->share.bell_fd,
                 rz_child_watch_fd(daemon),         p->share.waits_fd, ring_fd};
    unsigned n_fds = sizeof fds / sizeof *fds;
    struct rz_link_message message = {
        .type = RZ_LINK_WELCOME,
        .welcome = {.version = RZ_LINK_VERSION,
                    .n_ranks = daemon->job.n_ranks,
                    .n_slots = daemon->job.n_slots,
                    .n_nodes = daemon->job.n_nodes,
                    .node = daemon->job.node,
                    .epoch = daemon->epoch,
                    .lane = p->share.lane,
                    .lanes_max = rz_share_lanes_max(daemon->job.n_slots),
                    .watch_slot = p->share.slot,
                    .job = daemon->job.id,
                    .job_token = daemon->job.token,
                    .restarted = rz_spawns_replaces(daemon, p->rank, p->incarnation),
                    .hb_timeout_ns = daemon->job.hb_timeout_ns,
                    .node_ip = node.ip,
                    .net_key = net_key,
                    .net_key_length = sizeof net_key,
                    .ring_key = ring_key,
                    .ring_key_length = ring_fd >= 0 ? sizeof ring_key : 0}};
    send_to(p, &message, fds, ring_fd >= 0 ? n_fds : n_fds - 1);
    rz_kill_here(RZ_KILL_DAEMON_WELCOME);
    if (p->rank >= daemon->job.n_ranks &&
        rz_spawns_cohort(daemon, p->rank, p->incarnation, &message))
        send_to(p, &message, NULL, 0);
    if (ring_fd >= 0)
        close(ring_fd);
    sodium_memzero(ring_key, sizeof ring_key);
    sodium_memzero(net_key, sizeof net_key);
    rz_daemon_record(daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_JOINED,
                                                       .epoch = daemon->epoch,
                                                       .rank = p->rank,
                                                       .node = RZ_ID_NONE,
                                                       .incarnation = p->incarnation,
                                                       .note = ""});
    answer_opens(p);
    uint32_t wanted =
        rz_questions_epoch(&daemon->link_service->questions, p->rank, EP_ADDRESS_KINDS);
    if (wanted > 0)
        ask_for_ep_address(p, wanted);
}

/* ---- the other messages of a process that has joined; false: it broke the protocol */

static bool on_put_ep_address(struct rz_child *p, const struct rz_link_put_ep_address *put)
{
    if (put->ep_address_length == 0 || put->ep_address_length > EP_ADDRESS_BYTES_MAX)
        return false;
    uint8_t *ep_address = malloc(put->ep_address_length);
    rz_assert(ep_address != NULL);
    memcpy(ep_address, put->ep_address, put->ep_address_length);
    free(p->ep_address);
    p->ep_address = ep_address;
    p->ep_address_bytes = put->ep_address_length;
    p->ep_address_epoch = put->epoch;
    answer_ep_addresses(p->daemon, p->rank, p->incarnation, put->epoch, ep_address,
                        put->ep_address_length);
    return true;
}

static bool on_get_ep_address(struct rz_child *p, uint32_t rank, uint32_t epoch)
{
    struct rz_daemon *daemon = p->daemon;
    if (rank >= daemon->job.n_slots)
        return false;
    const struct rz_daemon_place *place = &daemon->places[rank];
    struct rz_daemon_question question = {.kind = RZ_QUESTION_EP_ADDRESS,
                                          .target = rank,
                                          .target_incarnation = place->incarnation,
                                          .asker = p->rank,
                                          .asker_incarnation = p->incarnation,
                                          .epoch = epoch};
    rz_id node = rz_recovery_daemon_of(daemon->recovery, rank);
    if (place->incarnation == 0 || node == RZ_ID_NONE) {
        question.kind = RZ_QUESTION_EARLY;
        rz_questions_add(&daemon->link_service->questions, question);
    } else if (node == daemon->job.node) {
        ep_address_wanted(daemon, question);
    } else {
        rz_recovery_get_ep_address(daemon->recovery, rank, place->incarnation, p->rank,
                                   p->incarnation, epoch);
    }
    return true;
}

static bool on_open(struct rz_child *p, uint32_t rank)
{
    struct rz_daemon *daemon = p->daemon;
    if (rank >= daemon->job.n_slots)
        return false;
    struct rz_child *target = rz_child_of(daemon, rank);
    if (target && target->state == RZ_CHILD_JOINED)
        send_opened(p, target);
    else if (!target || target->state == RZ_CHILD_SPAWNED)
        rz_questions_add(
            &daemon->link_service->questions,
            (struct rz_daemon_question){.kind = RZ_QUESTION_OPEN,
                                        .target = rank,
                                        .target_incarnation = daemon->places[rank].incarnation,
                                        .asker = p->rank,
                                        .asker_incarnation = p->incarnation});
    return true;
}

static bool on_reached(struct rz_child *p, const struct rz_link_reached *reached)
{
    if (reached->phase > RZ_PHASE_LEFT)
        return false;
    p->reached_epoch = reached->epoch;
    p->reached_phase = (enum rz_recover_phase)reached->phase;
    if (p->reached_phase == RZ_PHASE_RUN)
        rz_groups_process_left(p); /* it is in MPI_Finalize */
    if (p->reached_phase == RZ_PHASE_ENTER)
        rz_daemon_record(p->daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_AT_START,
                                                              .epoch = reached->epoch,
                                                              .rank = p->rank,
                                                              .node = p->daemon->job.node,
                                                              .incarnation = p->incarnation,
                                                              .note = ""});
    rz_children_recount(p->daemon);
    return true;
}

static void on_revoked_ask(struct rz_child *p, uint64_t revocation)
{
    struct rz_link_message message = {.type = RZ_LINK_REVOKED,
                                      .revoked = {.revocation = revocation}};
    if (rz_revocations_known(p->daemon->revocations, revocation))
        send_to(p, &message, NULL, 0);
}

static void on_mark(struct rz_child *p, uint64_t iteration)
{
    struct rz_launch_message message = {.type = RZ_LAUNCH_MARK,
                                        .mark = {.rank = p->rank,
                                                 .iteration = iteration,
                                                 .epoch = p->daemon->epoch,
                                                 .at_ns = rz_clock_now()}};
    p->marked = true;
    p->iteration = iteration;
    rz_daemon_tell_launcher(p->daemon, &message);
}

/* Checkpoints that the daemons keep belong to MPIX_Reinit: all processes of an epoch store, and all
 * find their pieces again. Who was spawned in the midst of one has none, and gives none. */
static bool refuses_store(struct rz_child *p)
{
    struct rz_link_message message = {
        .type = RZ_LINK_REFUSED,
        .refused = {.reason = "a process that was replaced or spawned has no part in the "
                              "checkpoints of MPIX_Reinit"}};
    if (!rz_spawns_is_spawned_process(p->daemon, p->rank, p->incarnation))
        return false;
    if (!p->store_refused)
        rz_daemon_log(p->daemon, 0, "process %u, incarnation %u: %s", p->rank, p->incarnation,
                      message.refused.reason);
    p->store_refused = true;
    send_to(p, &message, NULL, 0);
    return true;
}

static void on_want_piece(struct rz_child *p, uint32_t epoch)
{
    const struct rz_link_message none = {.type = RZ_LINK_PIECE, .piece = {.epoch = epoch}};
    if (refuses_store(p))
        send_to(p, &none, NULL, 0);
    else
        rz_store_want(p->daemon->recovery, p->rank, epoch);
}

static bool on_store(struct rz_child *p, const struct rz_link_store *store, int *fd)
{
    if (refuses_store(p))
        return true;
    int piece = *fd;
    *fd = -1;
    return piece >= 0 && rz_store_piece(p->daemon->recovery, p->rank, store, piece);
}

static void on_restored(struct rz_child *p, const struct rz_link_restored *restored)
{
    char note[32];
    if (p->piece_source == RZ_STORE_FROM_FILE)
        snprintf(note, sizeof note, "file");
    else if (p->piece_source == RZ_STORE_FROM_PARITIES)
        snprintf(note, sizeof note, "parities");
    else
        snprintf(note, sizeof note, "node %u", p->piece_source);
    struct rz_launch_event event = {.kind = RZ_EVENT_RECORD_RESTORED,
                                    .epoch = restored->epoch,
                                    .rank = p->rank,
                                    .node = p->daemon->job.node,
                                    .incarnation = p->incarnation,
                                    .value = restored->generation,
                                    .note = restored->generation ? note : "nothing to restore"};
    rz_daemon_record(p->daemon, &event);
}

static bool on_silent(struct rz_child *p, const struct rz_link_silent *silent)
{
    if (silent->rank >= p->daemon->job.n_ranks || silent->rank == p->rank)
        return false;
    rz_arbiter_reported(p->daemon, silent->epoch, silent->rank, silent->incarnation);
    return true;
}

/* Pairs of a message, in memory of its own; NULL: they are none, or name no slots of the job. */
static struct rz_link_process *pairs_of(const struct rz_child *p, const uint8_t *bytes,
                                        uint32_t length, uint32_t *n)
{
    *n = length / RZ_LINK_PAIR_BYTES;
    struct rz_link_process *pairs = calloc(*n + 1, sizeof *pairs);
    rz_assert(pairs != NULL);
    rz_link_get_pairs(bytes, length, pairs, *n);
    bool good = length % RZ_LINK_PAIR_BYTES == 0;
    for (uint32_t i = 0; good && i < *n; i++)
        good = pairs[i].slot < p->daemon->job.n_slots && pairs[i].incarnation > 0;
    if (good)
        return pairs;
    free(pairs);
    return NULL;
}

static bool on_acknowledged(struct rz_child *p, const struct rz_link_acknowledged *told)
{
    uint32_t n;
    struct rz_link_process *pairs = pairs_of(p, told->processes, told->processes_length, &n);
    for (uint32_t i = 0; pairs && i < n; i++)
        rz_daemon_record(p->daemon, &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_ACKNOWLEDGED,
                                                              .epoch = p->daemon->epoch,
                                                              .rank = pairs[i].slot,
                                                              .node = p->daemon->job.node,
                                                              .incarnation = pairs[i].incarnation,
                                                              .value = p->rank,
                                                              .note = ""});
    free(pairs);
    return pairs != NULL;
}

static bool on_abort(struct rz_child *p, const struct rz_link_abort *told)
{
    struct rz_daemon *daemon = p->daemon;
    if (told->processes_length == 0) {
        rz_child_leave(p);
        rz_daemon_tell_aborted(daemon, p->rank, told->code, told->reason);
        return true;
    }
    char by[256];
    uint32_t n, code = told->code; /* copies: the message's memory serves the next one below */
    struct rz_link_process *pairs = pairs_of(p, told->processes, told->processes_length, &n);
    snprintf(by, sizeof by, "%s %u: %s", p->rank < daemon->job.n_ranks ? "rank" : "process",
             p->rank, told->reason);
    for (uint32_t i = 0; pairs && i < n; i++)
        rz_spawns_end(daemon, pairs[i].slot, pairs[i].incarnation, code, by);
    free(pairs);
    return pairs != NULL;
}

/* fd: the one that came with the message, or -1; taken over. */
static bool dispatch(struct rz_child *p, const struct rz_link_message *message, int *fd)
{
    struct rz_daemon *daemon = p->daemon;
    switch (message->type) {
    case RZ_LINK_PUT_EP_ADDRESS:
        return on_put_ep_address(p, &message->put_ep_address);
    case RZ_LINK_GET_EP_ADDRESS:
        return on_get_ep_address(p, message->get_ep_address.rank, message->get_ep_address.epoch);
    case RZ_LINK_OPEN:
        return on_open(p, message->open.rank);
    case RZ_LINK_REPAIRING:
        p->entered = !(daemon->job.flags & RZ_JOB_REPAIR_NEVER);
        rz_children_recount(daemon);
        return true;
    case RZ_LINK_REACHED:
        return on_reached(p, &message->reached);
    case RZ_LINK_MARK:
        on_mark(p, message->mark.iteration);
        return true;
    case RZ_LINK_STORE:
        return on_store(p, &message->store, fd);
    case RZ_LINK_WANT_PIECE:
        on_want_piece(p, message->want_piece.epoch);
        return true;
    case RZ_LINK_REPLACE:
        return rz_spawns_replace(p, &message->replace);
    case RZ_LINK_SPAWN:
        return rz_spawns_spawn(p, &message->spawn);
    case RZ_LINK_ACKNOWLEDGED:
        return on_acknowledged(p, &message->acknowledged);
    case RZ_LINK_RESTORED:
        on_restored(p, &message->restored);
        return true;
    case RZ_LINK_NAME:
        rz_names_ask(daemon->names, p->rank, p->incarnation, &message->name);
        return true;
    case RZ_LINK_SILENT:
        return on_silent(p, &message->silent);
    case RZ_LINK_HEARD:
        rz_arbiter_heard(daemon, p->rank, &message->heard);
        return message->heard.rank < daemon->job.n_ranks;
    case RZ_LINK_ABORT:
        return on_abort(p, &message->abort);
    case RZ_LINK_REVOKE:
        rz_revocations_add(daemon->revocations, message->revoke.revocation);
        return true;
    case RZ_LINK_REVOKED_ASK:
        on_revoked_ask(p, message->revoked_ask.revocation);
        return true;
    case RZ_LINK_DECISION_ASK:
        return rz_decision_cache_ask(p, &message->decision_ask);
#if RZ_GROUP
    case RZ_LINK_GROUP_JOIN:
        rz_groups_join(p, message->group_join.question);
        return true;
    case RZ_LINK_GROUP_ARRIVE:
        return rz_groups_arrive(p, &message->group_arrive);
    case RZ_LINK_GROUP_LEAVE:
        return rz_groups_leave(p, &message->group_leave);
#endif
    case RZ_LINK_LANE_CLOSED:
        return rz_child_closed_lane(p, message->lane_closed.lane, message->lane_closed.rank,
                                    message->lane_closed.incarnation);
    case RZ_LINK_BYE:
        rz_kill_here(RZ_KILL_DAEMON_BYE);
        rz_groups_process_left(p);
        rz_child_leave(p);
        return true;
    default:
        return false;
    }
}

static void on_message(struct rz_child *p, const void *bytes, size_t n, int *fd)
{
    struct rz_link_message message;
    if (rz_link_decode(&message, bytes, n) != RZ_OK) {
        if (p->joined)
            rz_child_kill(p, "malformed message on its link");
        else
            refuse(p, "malformed message");
    } else if (message.type == RZ_LINK_HELLO) {
        on_hello(p, &message.hello);
    } else if (!p->joined) {
        refuse(p, "HELLO must come first");
    } else if (p->state == RZ_CHILD_JOINED && (!p->daemon->ending || message.type == RZ_LINK_BYE) &&
               !dispatch(p, &message, fd)) {
        rz_child_kill(p, "its message breaks the link protocol");
    }
}

/* One message; false: there is none now, or the link has ended. */
static bool receive(struct rz_child *p)
{
    struct rz_link_service *service = p->daemon->link_service;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    size_t n;
    if (p->link.fd < 0)
        return false;
    rz_status_t status =
        rz_channel_receive(p->link.fd, service->buffer, sizeof service->buffer, &n, fds, &n_fds);
    if (status == RZ_IN_PROGRESS)
        return false;
    if (status == RZ_ERR_MALFORMED) {
        rz_child_kill(p, "oversized message on its link");
        return true;
    }
    if (status != RZ_OK) {
        rz_link_peer_close(&p->link);
        rz_child_link_closed(p);
        return false;
    }
    int fd = n_fds > 0 ? fds[0] : -1;
    for (unsigned i = 1; i < n_fds; i++)
        close(fds[i]);
    on_message(p, service->buffer, n, &fd);
    if (fd >= 0)
        close(fd);
    return true;
}

static void link_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_child *p = arg;
    (void)fd, (void)what;
    for (int i = 0; i < TURN_MESSAGES && receive(p); i++)
        ;
}

static void link_sent(void *arg)
{
    rz_child_ring(arg, RZ_DOORBELL_LINK);
}

/* ---- life */

rz_status_t rz_link_service_attach(struct rz_child *p, int fd)
{
    return rz_link_peer_open(&p->link, p->daemon->base, fd, link_readable, link_sent, p);
}

void rz_link_service_drain(struct rz_child *p)
{
    for (int i = 0; i < DRAIN_MESSAGES && receive(p); i++)
        ;
}

void rz_link_service_forget(struct rz_child *p)
{
    rz_link_peer_close(&p->link);
    rz_questions_drop_asker(&p->daemon->link_service->questions, p->rank, p->incarnation);
}

rz_status_t rz_link_service_open(struct rz_link_service **result, struct rz_daemon *daemon)
{
    struct rz_link_service *service = calloc(1, sizeof *service);
    if (!service)
        return RZ_ERR_NO_MEMORY;
    service->daemon = daemon;
    *result = service;
    return RZ_OK;
}

void rz_link_service_close(struct rz_link_service *service)
{
    if (!service)
        return;
    rz_questions_clear(&service->questions);
    free(service);
}
