/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decisions by way of the daemons. A process that has decided leaves its call and may compute for
 * long. A member whose path to the decision was cut by a failure would wait until that process
 * calls MPI again, and so would a member whose protocol message still waits for a connection. So
 * each process stores its decisions where its daemon finds them (link/decisions.h); a member that
 * waits after a failure, or for long, repeatedly asks its daemon for the decision of the member it
 * waits for. The answer is treated as the protocol message that the other member would send
 * (docs/protocols/agree.md).
 */
#include "mpi/agree/agreement_context_state.h"

#include "port/clock.h"

#include <stdlib.h>
#include <string.h>

/* The other members are mostly in the same call and answer by themselves. */
#define ASK_SOON (2 * RZ_MILLISECOND)   /* after a failure */
#define ASK_LATER (50 * RZ_MILLISECOND) /* without a failure */
#define ASK_EVERY_MAX (250 * RZ_MILLISECOND)

enum { WORD_BYTES = 8 };

unsigned rz_agreement_contexts_hurrying;

static unsigned n_asking; /* agreement contexts that ask, soon or later */

static uint32_t next_cached; /* the entry that is replaced next */

static uint64_t number_of(const struct rz_agreement_context *agreement_context)
{
    return rz_comm_number(agreement_context->context, agreement_context->first->process[0]);
}

/* ---- Storing decisions ---- */

static bool has_daemon(void)
{
    return rz_engine.info->waits && rz_engine_fault_tolerant();
}

static struct rz_cached_decision *cached_of(struct rz_agreement_context *agreement_context,
                                            uint64_t communicator)
{
    struct rz_cached_decision *cached = rz_engine.info->waits->decisions.cached;
    struct rz_cached_decision *own =
        agreement_context->cached > 0 ? &cached[agreement_context->cached - 1] : NULL;
    if (own && atomic_load_explicit(&own->communicator, memory_order_relaxed) == communicator) {
        return own;
    }
    agreement_context->cached = 1 + next_cached++ % RZ_DECISIONS_MAX;
    return &cached[agreement_context->cached - 1];
}

void rz_agreement_context_cached(struct rz_agreement_context *agreement_context, uint64_t number)
{
    uint64_t words[RZ_DECISION_WORDS_MAX];
    struct rz_message message;
    const uint64_t *items =
        has_daemon() && agreement_context->owner
            ? rz_agreement_cached(agreement_context->agreement, number, &message)
            : NULL;
    if (!items || message.n_items >= RZ_DECISION_WORDS_MAX) {
        return;
    }
    words[0] = message.word[0];
    memcpy(words + 1, items, message.n_items * sizeof(*items));
    uint64_t communicator = number_of(agreement_context);
    rz_decision_write(cached_of(agreement_context, communicator), communicator, number, words,
                      1 + message.n_items);
}

/* ---- Asking ---- */

void rz_agreement_context_ask_no_more(struct rz_agreement_context *agreement_context)
{
    n_asking -= agreement_context->asking.at != 0;
    rz_agreement_contexts_hurrying -= agreement_context->asking.hurry;
    agreement_context->asking.at = 0;
    agreement_context->asking.hurry = false;
}

static void ask_from(struct rz_agreement_context *agreement_context, rz_time at, rz_time wait,
                     bool hurry)
{
    rz_agreement_context_ask_no_more(agreement_context);
    if (has_daemon() && agreement_context->voting && agreement_context->owner) {
        agreement_context->asking.at = at;
        agreement_context->asking.wait = wait;
        agreement_context->asking.hurry = hurry;
        n_asking++;
        rz_agreement_contexts_hurrying += hurry;
    }
}

void rz_agreement_context_ask_later(struct rz_agreement_context *agreement_context, rz_time now)
{
    ask_from(agreement_context, now + ASK_LATER, ASK_LATER, false);
}

void rz_agreement_context_ask_soon(struct rz_agreement_context *agreement_context, rz_time now)
{
    ask_from(agreement_context, now + ASK_SOON, ASK_SOON, true);
}

void rz_agreement_contexts_ask_slowly(rz_time now)
{
    for (struct rz_agreement_context *agreement_context =
             n_asking > 0 ? rz_agreement_contexts_first() : NULL;
         agreement_context; agreement_context = agreement_context->next) {
        rz_agreement_context_ask(agreement_context, now);
    }
}

static void ask_about(const struct rz_agreement_context *agreement_context, uint32_t process)
{
    const struct rz_member *member = rz_member_of(process);
    if (member->process != process) {
        return; /* its slot has another process; the daemon will report its failure */
    }
    struct rz_link_message message = {
        .type = RZ_LINK_DECISION_ASK,
        .decision_ask = {.communicator = number_of(agreement_context),
                         .number = rz_agreement_proposed(agreement_context->agreement),
                         .rank = rz_process_slot(process),
                         .incarnation = rz_board_incarnation(member->word)}};
    rz_engine_tell_daemon(&message);
}

void rz_agreement_context_ask(struct rz_agreement_context *agreement_context, rz_time now)
{
    if (agreement_context->asking.at == 0 || agreement_context->asking.at > now) {
        return;
    }
    if (!agreement_context->voting || !agreement_context->owner) {
        rz_agreement_context_ask_no_more(agreement_context);
        return;
    }
    rz_id member =
        rz_agreement_asked(agreement_context->agreement, agreement_context->asking.turn++);
    if (member != RZ_ID_NONE) {
        ask_about(agreement_context, rz_agreement_context_process(agreement_context, member));
    }
    rz_time wait = 2 * agreement_context->asking.wait;
    agreement_context->asking.wait = wait < ASK_EVERY_MAX ? wait : ASK_EVERY_MAX;
    agreement_context->asking.at = now + agreement_context->asking.wait;
}

/* ---- The daemon's answer ---- */

static uint64_t word_at(const uint8_t *value, uint32_t i)
{
    uint64_t word = 0;
    for (int byte = WORD_BYTES - 1; byte >= 0; byte--) {
        word = word << 8 | value[i * WORD_BYTES + (uint32_t)byte];
    }
    return word;
}

/* The protocol message that the process would send; NULL: the stored decision answers no question
 * of ours. */
static struct rz_protocol_message *
protocol_message_of(const struct rz_agreement_context *agreement_context,
                    const struct rz_link_decision *decision)
{
    uint32_t process = rz_engine_number(decision->rank, decision->incarnation);
    uint32_t n_items = decision->value_length / WORD_BYTES - 1;
    rz_id from = rz_agreement_context_find_member(agreement_context, process);
    struct rz_message message;
    if (!agreement_context->voting || from == RZ_ID_NONE || rz_process_failed(process) ||
        !rz_agreement_is_cached(agreement_context->agreement, from, decision->number,
                                word_at(decision->value, 0), n_items, &message)) {
        return NULL;
    }
    struct rz_protocol_message *protocol_message =
        malloc(sizeof(*protocol_message) + n_items * sizeof(protocol_message->items[0]));
    if (!protocol_message) {
        return NULL; /* the next question is sent later */
    }
    protocol_message->context = agreement_context->context;
    protocol_message->process = process;
    protocol_message->message = message;
    for (uint32_t i = 0; i < n_items; i++) {
        protocol_message->items[i] = word_at(decision->value, i + 1);
    }
    return protocol_message;
}

static void on_decision(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    (void)arg;
    const struct rz_link_decision *decision = &message->decision;
    rz_engine_close_fds(fds, n_fds);
    struct rz_agreement_context *agreement_context = rz_agreement_contexts_first();
    while (agreement_context && (!agreement_context->agreement ||
                                 number_of(agreement_context) != decision->communicator)) {
        agreement_context = agreement_context->next;
    }
    if (!agreement_context || rz_engine.rollback || decision->rank >= rz_engine.info->n_slots ||
        decision->value_length < WORD_BYTES || decision->value_length % WORD_BYTES != 0) {
        return;
    }
    struct rz_protocol_message *protocol_message = protocol_message_of(agreement_context, decision);
    if (protocol_message) {
        rz_protocol_queue_put(&rz_agree_unread, protocol_message);
    }
}

void rz_decision_requests_open(void)
{
    next_cached = 0;
    rz_link_handle(rz_engine.link, RZ_LINK_DECISION, on_decision, NULL);
}
