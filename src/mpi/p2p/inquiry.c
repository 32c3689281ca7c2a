/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inquiries about messages of collective operations after a failure (docs/failure-semantics.md,
 * "How it works"): sends questions and answers, queues those that arrive, and ends the receives
 * that will never get a message.
 */
#include "mpi/p2p/inquiry.h"

#include "base/no_memory.h"
#include "mpi/p2p/message.h"
#include "mpi/engine/control_message.h"
#include "mpi/engine/paths.h"
#include "mpi/p2p/p2p.h"
#include "mpi/engine/peer.h"

#include <stdio.h>
#include <stdlib.h>

/* No process has this number: incarnations count from 1. */
#define NO_PROCESS 0u

struct rz_inquiry {
    struct rz_inquiry *next;
    struct rz_envelope envelope;
};

static struct rz_inquiry *unread;
static struct rz_inquiry **unread_last = &unread;

/* The collective operations of a communicator were stopped because of a message, not of the board:
 * what waits there is to be asked about. */
static bool asks_all;

/* Other processes wait for what these messages say. */
static _Noreturn void no_memory_to_tell(void)
{
    rz_no_memory("to tell others of a failed collective operation");
}

/* ---- Taking part ---- */

static void send_control_message(uint32_t process, enum rz_envelope_kind kind,
                                 struct rz_envelope envelope)
{
    struct rz_control_message *message = rz_control_message_new(0);
    if (!message) {
        no_memory_to_tell();
    }
    envelope.kind = kind;
    message->envelope = envelope;
    rz_control_message_send(process, message);
}

/* A failed process of comm; it is named in the message, so that the receiver learns of its failure
 * as well. */
static uint32_t failed_member(const struct rz_comm *comm)
{
    for (uint32_t i = 0; i < rz_liveness.n_failed; i++) {
        if (rz_comm_holds(comm, rz_liveness.failed[i])) {
            return rz_liveness.failed[i];
        }
    }
    return NO_PROCESS;
}

static void answer(const struct rz_question *question)
{
    send_control_message(question->process, RZ_ENVELOPE_ABSENT,
                         (struct rz_envelope){.context = question->context,
                                              .tag = question->tag,
                                              .serial = NO_PROCESS});
}

static void tell_absence(const struct rz_comm *comm, int peer, int tag, bool connects)
{
    const struct rz_question about = {.process = rz_comm_process(comm, peer),
                                      .context =
                                          rz_comm_context(comm, RZ_CONTEXT_OFFSET_COLLECTIVE),
                                      .tag = tag};
    if (about.process == rz_engine.self || rz_process_failed(about.process) ||
        (!connects && !rz_peer_is_open(about.process)) ||
        rz_participation_is_asked(&rz_comm_whole(comm)->participations, &about)) {
        return;
    }
    send_control_message(about.process, RZ_ENVELOPE_ABSENT,
                         (struct rz_envelope){.context = about.context,
                                              .tag = tag,
                                              .serial = failed_member(rz_comm_whole(comm))});
}

/* If there is no open connection, none is opened for this message: it would not be complete before
 * the next call of MPI, in which this process answers inquiries anyway. */
void rz_absence_tell(const struct rz_comm *comm, int peer, int tag)
{
    tell_absence(comm, peer, tag, false);
}

/* The collective operations of the communicator are stopped, which no failure on the board says. */
static void stop(struct rz_comm *whole)
{
    if (!whole->collectives_failed) {
        rz_comm_stop_collectives(whole);
        asks_all = true;
        rz_work_set(RZ_WORK_INQUIRIES, true);
    }
}

static void tell_group(const struct rz_comm *comm, int tag)
{
    for (int peer = 0; peer < comm->remote->size; peer++) {
        tell_absence(comm, peer, tag, true);
    }
}

/* The others have no failure to ask about, so that each is told, connected or not. */
void rz_absence_tell_all(struct rz_comm *whole, int tag)
{
    stop(whole);
    tell_group(whole, tag);
    if (whole->local) {
        tell_group(whole->local, tag);
    }
}

/* Messages that have arrived for an operation that failed here will meet no receive: drops them. */
static void drop_leftovers(uint64_t context, int source, int tag)
{
    struct rz_match_entry *entry;
    while ((entry = rz_match_find(&rz_matcher, context, source, tag, true)) != NULL) {
        rz_message_drop(RZ_EARLY_OF(entry));
    }
}

void rz_operation_end_asked(struct rz_comm *comm, struct rz_participation *one)
{
    if (!one->on) {
        return;
    }
    comm = rz_comm_whole(comm);
    struct rz_question *question = rz_participation_end(&comm->participations, one);
    if (__builtin_expect(comm->collectives_failed, 0) && !rz_engine.rollback) {
        drop_leftovers(rz_comm_context(comm, RZ_CONTEXT_OFFSET_COLLECTIVE), MPI_ANY_SOURCE,
                       one->tag);
        if (comm->local) {
            drop_leftovers(rz_comm_context(comm->local, RZ_CONTEXT_OFFSET_COLLECTIVE),
                           MPI_ANY_SOURCE, one->tag);
        }
    }
    while (question) {
        struct rz_question *next = question->next;
        if (!rz_engine.rollback) {
            answer(question);
        }
        free(question);
        question = next;
    }
}

/* ---- Sending inquiries ---- */

static bool is_to_be_asked_about(const struct rz_request *request)
{
    uint32_t waits = RZ_REQUEST_POSTED | RZ_REQUEST_SEND;
    return request->class == &rz_p2p_class &&
           request->context_offset == RZ_CONTEXT_OFFSET_COLLECTIVE &&
           request->comm->collectives_failed && request->active && request->flags & waits &&
           !(request->flags & RZ_REQUEST_INQUIRED);
}

/* Whether the process has told us that no message of this operation will come. */
static bool has_been_told(const struct rz_request *request, uint32_t process)
{
    return rz_participation_misses(&rz_comm_whole(request->comm)->participations,
                                   &(struct rz_question){.process = process,
                                                         .context = request->match.context,
                                                         .tag = request->tag});
}

void rz_inquire(struct rz_request *request)
{
    if (!is_to_be_asked_about(request)) {
        return;
    }
    struct rz_comm *comm = request->comm;
    uint32_t process = rz_comm_process(comm, request->peer);
    request->flags |= RZ_REQUEST_INQUIRED;
    if (process == rz_engine.self || rz_process_failed(process)) {
        return;
    }
    if (request->flags & RZ_REQUEST_POSTED && has_been_told(request, process)) {
        rz_p2p_receive_fails(request);
        return;
    }
    send_control_message(
        process, RZ_ENVELOPE_INQUIRY,
        (struct rz_envelope){.context = rz_comm_context(comm, RZ_CONTEXT_OFFSET_COLLECTIVE),
                             .source = comm->group->rank,
                             .tag = request->tag,
                             .serial = failed_member(rz_comm_whole(comm))});
}

/* Sending may end requests, so those that ask are listed first. An operation whose message failed
 * before its communicator was stopped looks at it again. */
void rz_inquire_all(void)
{
    for (struct rz_request *request = rz_engine.active; request; request = request->next) {
        if (is_to_be_asked_about(request)) {
            rz_request_asks(request);
        } else if (request->class->polled_for_parts && request->comm->collectives_failed) {
            rz_request_wake(request);
        }
    }
    while (rz_engine.asking) {
        struct rz_request *request = rz_engine.asking;
        rz_request_asks_no_more(request);
        rz_inquire(request);
    }
}

/* ---- Reading inquiries and answers ---- */

void rz_inquiry_arrived(struct rz_path *path, const struct rz_envelope *envelope, const void *data,
                        size_t bytes, rz_net_token_t token)
{
    (void)data, (void)bytes;
    struct rz_inquiry *inquiry = malloc(sizeof(*inquiry));
    if (!inquiry) {
        no_memory_to_tell();
    }
    *inquiry = (struct rz_inquiry){.envelope = *envelope};
    *unread_last = inquiry;
    unread_last = &inquiry->next;
    rz_work_set(RZ_WORK_INQUIRIES, true);
    rz_path_drop(path, token);
}

static struct rz_inquiry *take_first(void)
{
    struct rz_inquiry *inquiry = unread;
    unread = inquiry->next;
    if (!unread) {
        unread_last = &unread;
    }
    return inquiry;
}

static void learn(uint32_t failed)
{
    if (failed != NO_PROCESS && rz_process_slot(failed) < rz_engine.info->n_slots &&
        failed != rz_engine.self) {
        rz_liveness_learn_failure(failed);
    }
}

/*
 * From here on this process knows of the failed member as well, so it begins no operation on comm
 * that would wait for a message: its answer "I do not take part" stays true. The same holds for a
 * communicator that is not made yet, since it will have a failed member.
 */
static void inquiry_read(const struct rz_envelope *envelope)
{
    learn((uint32_t)envelope->serial);
    struct rz_question question = {
        .process = rz_message_from(envelope), .context = envelope->context, .tag = envelope->tag};
    struct rz_comm *comm = rz_comm_by_context(envelope->context);
    if (comm) {
        comm = rz_comm_whole(comm);
        stop(comm);
        if (!rz_participation_ask(&comm->participations, &question)) {
            return;
        }
    }
    drop_leftovers(envelope->context, envelope->source, envelope->tag);
    answer(&question);
}

/* The receives of messages that will not come fail: of collective operations alone. */
static void fail_receives(const struct rz_comm *comm, const struct rz_question *absence)
{
    if (absence->context != rz_comm_context(comm, RZ_CONTEXT_OFFSET_COLLECTIVE)) {
        return;
    }
    int source = rz_group_find(comm->remote, absence->process);
    struct rz_match_entry *posted = NULL;
    while (source != MPI_UNDEFINED && (posted = rz_match_arrive(&rz_matcher, absence->context,
                                                                source, absence->tag)) != NULL) {
        rz_p2p_receive_fails(
            (struct rz_request *)(void *)((char *)posted - offsetof(struct rz_request, match)));
    }
}

/* The other process knows of a member that has failed, or that has ended amid an operation. */
static void absence_read(const struct rz_envelope *envelope)
{
    learn((uint32_t)envelope->serial);
    struct rz_comm *comm = rz_comm_by_context(envelope->context);
    if (!comm) {
        return;
    }
    stop(rz_comm_whole(comm));
    const struct rz_question absence = {
        .process = rz_message_from(envelope), .context = envelope->context, .tag = envelope->tag};
    rz_participation_miss(&rz_comm_whole(comm)->participations, &absence);
    fail_receives(comm, &absence);
}

unsigned rz_inquiries_read(void)
{
    unsigned n = 0;
    while (unread && !rz_engine.rollback) {
        struct rz_inquiry *inquiry = take_first();
        bool asks = inquiry->envelope.kind == RZ_ENVELOPE_INQUIRY;
        (asks ? inquiry_read : absence_read)(&inquiry->envelope);
        free(inquiry);
        n++;
    }
    rz_work_set(RZ_WORK_INQUIRIES, unread != NULL);
    if (asks_all && !rz_engine.rollback) {
        asks_all = false;
        rz_inquire_all();
    }
    return n;
}

void rz_inquiries_close(void)
{
    while (unread) {
        free(take_first());
    }
    asks_all = false;
    rz_work_set(RZ_WORK_INQUIRIES, false);
}
