/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement contexts: the queue of proposals of each and its engine, revocation by the spread core,
 * protocol messages that come early or late, and the goodbye after the end of a communicator.
 */
#include "mpi/agree/agreement_context_state.h"

#include "base/linked_list.h"
#include "base/no_memory.h"
#include "base/trace.h"
#include "mpi/comm/comm_hints.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "proto/spread/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The item that a revocation spreads; it has no other content. */
#define ITEM_REVOKED UINT64_C(1)

RZ_PROTOCOL(spread, RZ_PROTOCOL_SPREAD);

static struct rz_agreement_context *agreement_contexts;
/* By their ids, whose bits are well mixed; linked by same_place. */
enum { ID_PLACES = 1 << 8 };
static struct rz_agreement_context *contexts_by_id[ID_PLACES];
static struct rz_protocol_message *early_messages,
    **early_last = &early_messages; /* for communicators that do not exist here yet */
static unsigned busy; /* stack frames that may refer to an agreement context: as long as there are
                         any, none is freed */
static unsigned n_timed; /* agreement contexts whose engine may have a deadline */
static bool to_speak;    /* set by rz_agreement_contexts_wake */
static struct rz_agreement_context *over_first; /* those that are over, and not freed yet */

const struct rz_child_context_events *rz_child_context_events;

void rz_agreement_context_no_memory(void)
{
    rz_no_memory("for what communicators agree on");
}

/* ---- Agreement contexts ---- */

struct rz_agreement_context *rz_agreement_contexts_first(void)
{
    return agreement_contexts;
}

static struct rz_agreement_context **id_place(uint64_t context)
{
    return &contexts_by_id[context / RZ_CONTEXT_OFFSET_ROOM % ID_PLACES];
}

struct rz_agreement_context *rz_agreement_context_at(uint64_t context)
{
    struct rz_agreement_context *agreement_context = *id_place(context);
    while (agreement_context && agreement_context->context != context) {
        agreement_context = agreement_context->same_place;
    }
    return agreement_context;
}

void rz_agreement_context_end(struct rz_agreement_context *agreement_context)
{
    if (!agreement_context->over) {
        agreement_context->over = true;
        agreement_context->over_next = over_first;
        over_first = agreement_context;
    }
}

/* NULL: no memory. */
struct rz_agreement_context *rz_agreement_context_new(struct rz_comm *comm,
                                                      struct rz_group *const groups[2],
                                                      uint64_t context,
                                                      struct rz_agreement_context **owner)
{
    struct rz_agreement_context *agreement_context = calloc(1, sizeof(*agreement_context));
    if (!agreement_context) {
        return NULL;
    }
    agreement_context->context = context;
    agreement_context->comm = comm;
    agreement_context->owner = owner;
    agreement_context->first = groups[0];
    agreement_context->second = groups[1];
    rz_group_retain(agreement_context->first);
    if (agreement_context->second) {
        rz_group_retain(agreement_context->second);
    }
    agreement_context->self = rz_agreement_context_find_member(agreement_context, rz_engine.self);
    agreement_context->per_node = rz_agreement_context_rows_of_nodes(agreement_context);
    agreement_context->proposals_last = &agreement_context->proposals;
    rz_list_push(&agreement_contexts, agreement_context);
    agreement_context->same_place = *id_place(context);
    *id_place(context) = agreement_context;
    *owner = agreement_context;
    return agreement_context;
}

/* The agreement context of comm, which is made at the first use; NULL: no memory. */
static struct rz_agreement_context *agreement_context_of(struct rz_comm *comm)
{
    struct rz_group *groups[2];
    rz_agreement_context_order_groups(comm, groups);
    return comm->agreement_context
               ? comm->agreement_context
               : rz_agreement_context_new(comm, groups, comm->context, &comm->agreement_context);
}

static void protocol_messages_free(struct rz_protocol_message *protocol_message)
{
    while (protocol_message) {
        struct rz_protocol_message *next = protocol_message->next;
        free(protocol_message);
        protocol_message = next;
    }
}

static void agreement_context_free(struct rz_agreement_context *agreement_context)
{
    struct rz_agreement_context **link = id_place(agreement_context->context);
    while (*link != agreement_context) {
        link = &(*link)->same_place;
    }
    *link = agreement_context->same_place;
    rz_list_remove(agreement_context);
    if (agreement_context->owner) {
        *agreement_context->owner = NULL;
    }
    rz_group_release(agreement_context->first);
    if (agreement_context->second) {
        rz_group_release(agreement_context->second);
    }
    n_timed -= agreement_context->timed;
    rz_agreement_context_ask_no_more(agreement_context);
    rz_agreement_close(agreement_context->agreement);
    protocol_messages_free(agreement_context->early);
    rz_embedded_close(&agreement_context->spread);
    free(agreement_context);
}

/* ---- Revocation ---- */

static void send_action(void *arg, const struct rz_action *action)
{
    const struct rz_agreement_context *agreement_context = arg;
    for (uint32_t i = 0; i < action->n_to; i++) {
        rz_protocol_message_send(rz_agreement_context_process(agreement_context, action->to[i]),
                                 agreement_context->context, &action->message, action->items);
    }
}

static void spread_stepped(void *arg, const struct rz_actions *actions)
{
    const struct rz_agreement_context *agreement_context = arg;
    rz_kill_here(RZ_KILL_STEP);
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->v[i].kind == RZ_ACTION_SEND) {
            send_action(arg, &actions->v[i]);
        } else if (agreement_context->comm) {
            rz_comm_revoked(agreement_context->comm);
        }
    }
}

static void step_spread(struct rz_agreement_context *agreement_context,
                        const struct rz_event *event)
{
    if (!rz_embedded_step(&agreement_context->spread, event, spread_stepped, agreement_context)) {
        rz_agreement_context_no_memory();
    }
}

static void spread_failure(struct rz_agreement_context *agreement_context, rz_id member)
{
    if (agreement_context->spread.state) {
        step_spread(agreement_context,
                    &(struct rz_event){
                        .kind = RZ_EVENT_FAILURE, .ids = &member, .n_ids = 1, .arg = {true}});
    }
}

/* Tells a new core of the failures that were learnt before it existed. */
static void catch_up(struct rz_agreement_context *agreement_context,
                     void (*failure)(struct rz_agreement_context *agreement_context, rz_id member))
{
    for (rz_id member = 0; member < rz_agreement_context_size(agreement_context); member++) {
        if (rz_process_failed(rz_agreement_context_process(agreement_context, member))) {
            failure(agreement_context, member);
        }
    }
}

static bool spread_open(struct rz_agreement_context *agreement_context)
{
    const struct rz_spread_config config = {.n_members =
                                                rz_agreement_context_size(agreement_context),
                                            .view = (uint32_t)agreement_context->context,
                                            .order = RZ_SPREAD_TREE_FIRST};
    if (agreement_context->spread.state) {
        return true;
    }
    if (!rz_embedded_open(&agreement_context->spread, &rz_protocol_spread, &config,
                          agreement_context->self, 0, 0)) {
        return false;
    }
    catch_up(agreement_context, spread_failure);
    return true;
}

/* ---- The engine of agreement ---- */

static void agreement_failure(struct rz_agreement_context *agreement_context, rz_id member)
{
    if (agreement_context->agreement) {
        rz_agreement_failure(agreement_context->agreement, rz_clock_now(), member);
    }
}

static void agreement_protocol_message(struct rz_agreement_context *agreement_context,
                                       const struct rz_protocol_message *protocol_message)
{
    rz_agreement_message(agreement_context->agreement, rz_clock_now(), &protocol_message->message,
                         protocol_message->items);
}

/* Opened with the first proposal of this process: by then the communicator's hints determine the
 * engine, equally at all members. Messages of other members wait until then. */
bool rz_agreement_context_open_engine(struct rz_agreement_context *agreement_context,
                                      enum rz_agreement_engine wanted)
{
    uint32_t n = rz_agreement_context_size(agreement_context);
    const struct rz_agreement_config config = {.engine = rz_agreement_for(wanted, n),
                                               .n_members = n,
                                               .per_node = agreement_context->per_node,
                                               .self = agreement_context->self,
                                               .context = agreement_context->context};
    const struct rz_agreement_host host = {
        .send = send_action, .no_memory = rz_agreement_context_no_memory, .arg = agreement_context};
    if (agreement_context->agreement) {
        return true;
    }
    agreement_context->agreement = rz_agreement_open(&config, &host);
    if (!agreement_context->agreement) {
        return false;
    }
    agreement_context->timed = config.engine >= RZ_AGREEMENT_GOSSIP1;
    n_timed += agreement_context->timed;
    catch_up(agreement_context, agreement_failure);
    for (struct rz_protocol_message *protocol_message;
         (protocol_message = agreement_context->early) != NULL; free(protocol_message)) {
        agreement_context->early = protocol_message->next;
        agreement_protocol_message(agreement_context, protocol_message);
    }
    return true;
}

static void keep_early(struct rz_agreement_context *agreement_context,
                       struct rz_protocol_message *protocol_message)
{
    struct rz_protocol_message **last = &agreement_context->early;
    while (*last) {
        last = &(*last)->next;
    }
    protocol_message->next = NULL;
    *last = protocol_message;
}

static void wake_at(rz_time deadline)
{
    rz_engine.wake_at = deadline;
    rz_work_set(RZ_WORK_DEADLINE, deadline != RZ_TIME_NEVER);
}

static bool any_deadline(void)
{
    return n_timed > 0 || rz_agreement_contexts_hurrying > 0;
}

static rz_time deadline_of(const struct rz_agreement_context *agreement_context)
{
    rz_time at = agreement_context->timed ? rz_agreement_deadline(agreement_context->agreement)
                                          : RZ_TIME_NEVER;
    return agreement_context->asking.hurry && agreement_context->asking.at < at
               ? agreement_context->asking.at
               : at;
}

static void set_deadline(void)
{
    rz_time deadline = to_speak ? 0 : RZ_TIME_NEVER;
    for (const struct rz_agreement_context *agreement_context = any_deadline() ? agreement_contexts
                                                                               : NULL;
         agreement_context; agreement_context = agreement_context->next) {
        rz_time at = deadline_of(agreement_context);
        deadline = at < deadline ? at : deadline;
    }
    wake_at(deadline);
}

/* After an event of one of thousands: a deadline that is past or later now is found when it comes
 * (rz_agreement_contexts_tick). */
static void set_deadline_with(const struct rz_agreement_context *agreement_context)
{
    if (!any_deadline()) {
        set_deadline();
        return;
    }
    rz_time at = deadline_of(agreement_context);
    if (at < rz_engine.wake_at) {
        wake_at(at);
    }
}

/* ---- Proposals ---- */

static void vote(struct rz_agreement_context *agreement_context)
{
    struct rz_proposal *proposal = agreement_context->proposals;
    agreement_context->voting = true;
    rz_time now = rz_clock_now();
    RZ_TRACE(AGREEMENT_BEGIN, agreement_context->context, 0,
             rz_agreement_context_size(agreement_context));
    rz_agreement_propose(agreement_context->agreement, now, proposal->and, proposal->min,
                         proposal->max);
    rz_agreement_context_ask_later(agreement_context, now);
}

struct rz_proposal *rz_agreement_context_take_first(struct rz_agreement_context *agreement_context)
{
    struct rz_proposal *proposal = agreement_context->proposals;
    agreement_context->proposals = proposal->next;
    if (!agreement_context->proposals) {
        agreement_context->proposals_last = &agreement_context->proposals;
    }
    return proposal;
}

static rz_id *copy_failed(const struct rz_decision *decision)
{
    rz_id *copy = malloc((decision->n_failed + 1) * sizeof(*copy));
    if (!copy) {
        rz_agreement_context_no_memory();
    }
    memcpy(copy, decision->failed, decision->n_failed * sizeof(*copy));
    return copy;
}

/*
 * Learns the failed members of the decision. A member that had ended in order before is listed as
 * failed from now on, too: the user is told that a member is missing, and must be able to find out
 * which one.
 */
static void learn_failed(const struct rz_agreement_context *agreement_context, const rz_id *failed,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t process = rz_agreement_context_process(agreement_context, failed[i]);
        rz_liveness_learn_failure(process);
        if (rz_process_failed(process)) {
            rz_liveness_list_failed(process);
        }
    }
}

/*
 * The first proposal was decided. No core is on the stack: the function called here may call this
 * module again. While the failures are learnt, this agreement context does not start the next
 * proposal, since the receiver of this decision may withdraw that.
 */
static void announce(struct rz_agreement_context *agreement_context,
                     const struct rz_decision *decision)
{
    rz_kill_here(RZ_KILL_DECIDED);
    rz_assert(agreement_context->voting && agreement_context->proposals);
    struct rz_proposal *proposal = rz_agreement_context_take_first(agreement_context);
    rz_id *failed = copy_failed(decision);
    RZ_TRACE(AGREEMENT_END, agreement_context->context, decision->number, decision->n_failed);
    proposal->number = decision->number;
    proposal->and = decision->and;
    proposal->min = decision->min;
    proposal->max = decision->max;
    proposal->n_failed = decision->n_failed;
    agreement_context->owes = proposal != &agreement_context->goodbye && agreement_context->of == 0;
    learn_failed(agreement_context, failed, proposal->n_failed);
    agreement_context->voting = false;
    proposal->failed = failed;
    proposal->decided(proposal, agreement_context);
    free(failed);
}

/* After each event: delivers decisions, and starts the next proposal. */
static void agreement_context_go_on(struct rz_agreement_context *agreement_context)
{
    struct rz_decision decision;
    if (!agreement_context->agreement || agreement_context->over) {
        return;
    }
    if (rz_agreement_knows_failed(agreement_context->agreement, agreement_context->self)) {
        rz_engine_exit(RZ_ERR_FENCED); /* the other members consider this process failed */
    }
    for (;;) {
        if (rz_agreement_take(agreement_context->agreement, &decision)) {
            rz_agreement_context_ask_no_more(agreement_context);
            rz_agreement_context_cached(agreement_context, decision.number);
            announce(agreement_context, &decision);
        } else if (!agreement_context->voting && agreement_context->proposals &&
                   !agreement_context->proposals->reserved) {
            vote(agreement_context);
        } else {
            break;
        }
    }
    set_deadline_with(agreement_context);
}

static void proposal_append(struct rz_agreement_context *agreement_context,
                            struct rz_proposal *proposal)
{
    proposal->next = NULL;
    *agreement_context->proposals_last = proposal;
    agreement_context->proposals_last = &proposal->next;
    agreement_context_go_on(agreement_context);
}

/* Frees the agreement contexts that are over, when no code uses them any more. */
static void sweep(void)
{
    while (busy == 0 && over_first) {
        struct rz_agreement_context *agreement_context = over_first;
        over_first = agreement_context->over_next;
        agreement_context_free(agreement_context);
        if (!any_deadline()) {
            set_deadline();
        }
    }
}

enum rz_agreement_engine rz_comm_agreement(const struct rz_comm *comm)
{
    if (rz_agreement_context_has_proposed(comm)) {
        return rz_agreement_engine_of(comm->agreement_context->agreement);
    }
    unsigned value = rz_comm_hint(comm, RZ_HINT_AGREE);
    int n = comm->group->size + (comm->remote != comm->group ? comm->remote->size : 0);
    return rz_agreement_for(value == 0 ? rz_agreement_of_job()
                                       : rz_agreement_find(rz_hint_value(RZ_HINT_AGREE, value)),
                            (uint32_t)n);
}

int rz_agreement_context_propose(struct rz_comm *comm, struct rz_proposal *proposal)
{
    struct rz_agreement_context *agreement_context = agreement_context_of(comm);
    if (!agreement_context ||
        !rz_agreement_context_open_engine(agreement_context, rz_comm_agreement(comm))) {
        return MPI_ERR_NO_MEM;
    }
    rz_agreement_context_append(agreement_context, proposal);
    return MPI_SUCCESS;
}

void rz_agreement_context_append(struct rz_agreement_context *agreement_context,
                                 struct rz_proposal *proposal)
{
    busy++;
    proposal_append(agreement_context, proposal);
    busy--;
    sweep();
}

void rz_agreement_context_continue(struct rz_agreement_context *agreement_context)
{
    busy++;
    agreement_context_go_on(agreement_context);
    busy--;
    sweep();
}

void rz_agreement_context_waits_for(const struct rz_agreement_context *agreement_context,
                                    struct rz_blocked *blocked)
{
    if (!agreement_context || !agreement_context->voting) {
        return;
    }
    rz_id member = rz_agreement_awaited(agreement_context->agreement);
    blocked->operation = rz_agreement_proposed(agreement_context->agreement);
    if (member != RZ_ID_NONE) {
        blocked->peer = rz_agreement_context_process(agreement_context, member);
    }
}

bool rz_agreement_context_owes(const struct rz_comm *comm)
{
    return comm->agreement_context && comm->agreement_context->owes;
}

const struct rz_agreement_context *rz_agreement_context_in_debt(void)
{
    const struct rz_agreement_context *agreement_context = agreement_contexts;
    while (agreement_context && !(!agreement_context->owner && agreement_context->owes)) {
        agreement_context = agreement_context->next;
    }
    return agreement_context;
}

bool rz_agreement_context_has_proposed(const struct rz_comm *comm)
{
    return comm->agreement_context && comm->agreement_context->agreement;
}

/* ---- Protocol messages ---- */

/* In RZ_AGREEMENT_CONTEXT_OVER: its sender tells all members. */
#define TOLD_ALL 1

/* Members that have sent this process their proposals wait for it, and will not ask again. All are
 * told; they need not tell one another. */
static void pass_on_over(const struct rz_agreement_context *agreement_context,
                         enum rz_protocol_number protocol, rz_id from)
{
    const struct rz_message over = {
        .protocol = protocol, .type = RZ_AGREEMENT_CONTEXT_OVER, .word = {TOLD_ALL}};
    for (rz_id i = 0; i < rz_agreement_context_size(agreement_context); i++) {
        uint32_t process = rz_agreement_context_process(agreement_context, i);
        if (i != agreement_context->self && i != from && !rz_process_failed(process)) {
            rz_protocol_message_send(process, agreement_context->context, &over, NULL);
        }
    }
}

/* That member has ended the communicator. For the ring of the remaining members, which carries a
 * revocation to all of them, that counts as a failure. */
static void is_over(struct rz_agreement_context *agreement_context,
                    const struct rz_message *message, rz_id member)
{
    enum rz_protocol_number protocol = message->protocol;
    if (member != RZ_ID_NONE && rz_agreement_speaks(protocol)) {
        if (!agreement_context->owner && !agreement_context->over) {
            rz_agreement_context_end(agreement_context);
            if (message->word[0] != TOLD_ALL) {
                pass_on_over(agreement_context, protocol, member);
            }
        }
        if (agreement_context->owner && agreement_context->of != 0) {
            rz_child_context_events->given_up(agreement_context->owner);
        }
    } else if (member != RZ_ID_NONE && protocol == RZ_PROTOCOL_SPREAD) {
        spread_failure(agreement_context, member);
    }
}

/* Frees the protocol message, or keeps it for later. */
static void read_protocol_message(struct rz_agreement_context *agreement_context,
                                  struct rz_protocol_message *protocol_message)
{
    const struct rz_message *message = &protocol_message->message;
    if (message->type == RZ_AGREEMENT_CONTEXT_OVER) {
        is_over(agreement_context, message,
                rz_agreement_context_find_member(agreement_context, protocol_message->process));
    } else if (message->protocol == RZ_PROTOCOL_SPREAD &&
               message->type == RZ_AGREEMENT_CONTEXT_ANNOUNCED) {
        rz_agreement_context_announced(agreement_context, protocol_message);
    } else if (message->from >= rz_agreement_context_size(agreement_context) ||
               rz_agreement_context_process(agreement_context, message->from) !=
                   protocol_message->process) {
        rz_engine.counters.foreign++;
    } else if (rz_agreement_speaks(message->protocol) && !agreement_context->agreement) {
        keep_early(agreement_context, protocol_message);
        return;
    } else if (rz_agreement_speaks(message->protocol)) {
        agreement_protocol_message(agreement_context, protocol_message);
    } else if (message->protocol == RZ_PROTOCOL_SPREAD && spread_open(agreement_context)) {
        step_spread(agreement_context, &(struct rz_event){.kind = RZ_EVENT_RECEIVE,
                                                          .message = message,
                                                          .items = protocol_message->items});
    } else {
        rz_engine.counters.foreign++;
    }
    free(protocol_message);
    agreement_context_go_on(agreement_context);
}

static struct rz_comm *comm_find(uint64_t context)
{
    struct rz_comm *comm = rz_comm_by_context(context);
    return comm && comm->context == context ? comm : NULL;
}

/*
 * The communicator is not known here: it has ended, or does not exist yet. The sender of a message
 * about a second agreement has seen our decision of the first, so this process took part and has
 * ended the communicator; otherwise it does not exist here yet.
 */
static void protocol_message_without_agreement_context(struct rz_protocol_message *protocol_message)
{
    const struct rz_message *message = &protocol_message->message;
    bool announces =
        message->protocol == RZ_PROTOCOL_SPREAD && message->type == RZ_AGREEMENT_CONTEXT_ANNOUNCED;
    bool was_here = message->type == RZ_AGREEMENT_CONTEXT_OVER ||
                    rz_comm_has_ended(protocol_message->context) ||
                    (rz_agreement_speaks(message->protocol) &&
                     rz_agreement_proposal_of(protocol_message->context, message) > 1);
    if (was_here && announces) {
        rz_agreement_context_announced_too_late(protocol_message);
    } else if (was_here && message->type != RZ_AGREEMENT_CONTEXT_OVER) {
        struct rz_message over = {.protocol = message->protocol,
                                  .type = RZ_AGREEMENT_CONTEXT_OVER,
                                  .view = message->view,
                                  .seq = message->seq};
        rz_protocol_message_send(protocol_message->process, protocol_message->context, &over, NULL);
    }
    if (was_here) {
        free(protocol_message);
        return;
    }
    protocol_message->next = NULL;
    *early_last = protocol_message;
    early_last = &protocol_message->next;
}

void rz_agreement_context_message(struct rz_protocol_message *protocol_message)
{
    struct rz_agreement_context *agreement_context =
        rz_agreement_context_at(protocol_message->context);
    struct rz_comm *comm = !agreement_context ? comm_find(protocol_message->context) : NULL;
    agreement_context = comm ? agreement_context_of(comm) : agreement_context;
    if (comm && !agreement_context) {
        rz_agreement_context_no_memory();
    }
    if (!agreement_context) {
        protocol_message_without_agreement_context(protocol_message);
        return;
    }
    busy++;
    read_protocol_message(agreement_context, protocol_message);
    busy--;
    sweep();
}

unsigned rz_agreement_contexts_read(void)
{
    unsigned n = 0;
    struct rz_protocol_message *protocol_message;
    while ((protocol_message = rz_protocol_queue_take(&rz_agree_unread)) != NULL) {
        rz_kill_here(RZ_KILL_READ);
        rz_agreement_context_message(protocol_message);
        n++;
    }
    return n;
}

void rz_agreement_contexts_comm_begun(void)
{
    struct rz_protocol_message *protocol_messages = early_messages;
    early_messages = NULL;
    early_last = &early_messages;
    while (protocol_messages) {
        struct rz_protocol_message *protocol_message = protocol_messages;
        protocol_messages = protocol_message->next;
        rz_agreement_context_message(protocol_message);
    }
}

/* ---- The end of communicators and of members ---- */

void rz_agreement_contexts_failure(uint32_t process)
{
    busy++;
    for (struct rz_agreement_context *agreement_context = agreement_contexts; agreement_context;
         agreement_context = agreement_context->next) {
        rz_id member = rz_agreement_context_find_member(agreement_context, process);
        if (member != RZ_ID_NONE) {
            agreement_failure(agreement_context, member);
            spread_failure(agreement_context, member);
            agreement_context_go_on(agreement_context);
            rz_agreement_context_ask_soon(agreement_context, rz_clock_now());
        }
    }
    set_deadline();
    busy--;
    sweep();
}

void rz_agreement_contexts_wake(void)
{
    to_speak = true;
    set_deadline();
}

unsigned rz_agreement_contexts_tick(void)
{
    rz_time now = rz_clock_now();
    if (now < rz_engine.wake_at) {
        return 0;
    }
    busy++;
    if (to_speak) {
        to_speak = false;
        rz_child_context_events->woken();
    }
    for (struct rz_agreement_context *agreement_context = agreement_contexts; agreement_context;
         agreement_context = agreement_context->next) {
        if (agreement_context->timed &&
            rz_agreement_deadline(agreement_context->agreement) <= now) {
            rz_agreement_tick(agreement_context->agreement, now);
            agreement_context_go_on(agreement_context);
        }
        rz_agreement_context_ask(agreement_context, now);
    }
    busy--;
    sweep();
    set_deadline();
    return 1;
}

int rz_agreement_context_revoke(struct rz_comm *comm)
{
    struct rz_agreement_context *agreement_context = agreement_context_of(comm);
    if (!agreement_context || !spread_open(agreement_context)) {
        return MPI_ERR_NO_MEM;
    }
    uint64_t item = ITEM_REVOKED;
    busy++;
    step_spread(agreement_context, &(struct rz_event){.kind = RZ_EVENT_CALL,
                                                      .call = RZ_SPREAD_BROADCAST,
                                                      .items = &item,
                                                      .n_items = 1});
    busy--;
    sweep();
    return MPI_SUCCESS;
}

void rz_agreement_context_open(struct rz_comm *comm)
{
    struct rz_agreement_context *agreement_context = agreement_context_of(comm);
    if (agreement_context) {
        rz_agreement_context_open_engine(agreement_context, rz_comm_agreement(comm));
    }
}

static void goodbye(struct rz_agreement_context *agreement_context);

/*
 * Not all members have ended the communicator: those that still have it may make several more
 * agreements, and each of these waits for all members. A proposal of such a member has a minimum
 * that is not above the maximum.
 */
static void goodbye_decided(struct rz_proposal *proposal,
                            struct rz_agreement_context *agreement_context)
{
    if (agreement_context->of == 0 && proposal->min <= proposal->max) {
        goodbye(agreement_context);
    } else {
        rz_agreement_context_end(agreement_context);
    }
}

/* In agreements of the other members meanwhile, this process proposes the flag 0. */
static void goodbye(struct rz_agreement_context *agreement_context)
{
    agreement_context->goodbye =
        (struct rz_proposal){.and = UINT64_MAX, .decided = goodbye_decided};
    if (agreement_context->of == 0) {
        agreement_context->goodbye.and = 0;
        agreement_context->goodbye.min = UINT64_MAX;
    }
    rz_agreement_context_append(agreement_context, &agreement_context->goodbye);
}

/*
 * Decisions are kept for members that may still ask. This process takes part in further agreements
 * of the others without waiting for them; the first one that contains only goodbyes shows that all
 * members have all earlier decisions.
 */
void rz_agreement_context_dismiss(struct rz_agreement_context **owner)
{
    struct rz_agreement_context *agreement_context = *owner;
    *owner = NULL;
    agreement_context->owner = NULL;
    agreement_context->comm = NULL;
    rz_comm_note_end(agreement_context->context);
    if (!agreement_context->agreement) {
        /* a revocation needs nothing of a process that has ended the communicator */
        rz_agreement_context_end(agreement_context);
        sweep();
        return;
    }
    goodbye(agreement_context);
}

void rz_agreement_context_comm_ends(struct rz_comm *comm, bool goodbye)
{
    if (comm->agreement_context) {
        comm->agreement_context->owes &= goodbye;
        rz_agreement_context_dismiss(&comm->agreement_context);
    }
}

void rz_agreement_contexts_close(void)
{
    over_first = NULL;
    while (agreement_contexts) {
        agreement_context_free(agreement_contexts);
    }
    protocol_messages_free(early_messages);
    early_messages = NULL;
    early_last = &early_messages;
    set_deadline();
}
