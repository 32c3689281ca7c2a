/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Children of the agreement context of a communicator: for the same members, or a part of them,
 * with an order of their own.
 */
#include "mpi/agree/agreement_context_state.h"

#include "base/random.h"

#include <stdlib.h>

/* Distinguishes contexts made here from those of communicators. */
#define CHILD UINT64_C(0xbe51de)

static uint64_t child_context(uint64_t context, uint64_t word)
{
    return rz_mix(rz_mix(context, word), CHILD) & ~(uint64_t)(RZ_CONTEXT_OFFSET_ROOM - 1);
}

int rz_agreement_context_open_child(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                                    struct rz_agreement_context **owner)
{
    struct rz_group *groups[2] = {part, NULL};
    if (!part) {
        rz_agreement_context_order_groups(comm, groups);
    }
    if (!rz_agreement_context_new(comm, groups, child_context(comm->context, word), owner)) {
        return MPI_ERR_NO_MEM;
    }
    (*owner)->comm = NULL;
    (*owner)->of = comm->context;
    (*owner)->part = part != NULL;
    if (!rz_agreement_context_open_engine(*owner, rz_comm_agreement(comm))) {
        rz_agreement_context_end(*owner);
        return MPI_ERR_NO_MEM;
    }
    rz_agreement_contexts_comm_begun(); /* protocol messages for it may have arrived already */
    return MPI_SUCCESS;
}

bool rz_agreement_context_was_child(const struct rz_comm *comm, uint64_t word)
{
    uint64_t context = child_context(comm->context, word);
    return rz_agreement_context_at(context) || rz_comm_has_ended(context);
}

void rz_agreement_context_put(struct rz_agreement_context *agreement_context,
                              struct rz_proposal *proposal)
{
    rz_agreement_context_append(agreement_context, proposal);
}

void rz_agreement_context_ready(struct rz_agreement_context *agreement_context,
                                struct rz_proposal *proposal)
{
    proposal->reserved = false;
    rz_agreement_context_continue(agreement_context);
}

struct rz_proposal *rz_agreement_context_withdraw(struct rz_agreement_context *agreement_context)
{
    rz_assert(!agreement_context->voting || agreement_context->over);
    return agreement_context->proposals ? rz_agreement_context_take_first(agreement_context) : NULL;
}

void rz_agreement_context_leave(struct rz_agreement_context *agreement_context)
{
    rz_agreement_context_end(agreement_context);
    rz_comm_note_end(agreement_context->context);
}

void rz_agreement_context_announce(const struct rz_agreement_context *agreement_context,
                                   uint64_t word)
{
    uint32_t n = rz_agreement_context_size(agreement_context);
    uint64_t *items = malloc(n * sizeof(*items));
    if (!items) {
        rz_agreement_context_no_memory();
    }
    struct rz_message message = {.protocol = RZ_PROTOCOL_SPREAD,
                                 .type = RZ_AGREEMENT_CONTEXT_ANNOUNCED,
                                 .from = agreement_context->self,
                                 .origin = agreement_context->self,
                                 .word = {word},
                                 .n_items = agreement_context->part ? n : 0};
    for (rz_id member = 0; member < n; member++) {
        items[member] = rz_agreement_context_process(agreement_context, member);
    }
    for (rz_id member = 0; member < n; member++) {
        if (member != agreement_context->self) {
            rz_protocol_message_send((uint32_t)items[member], agreement_context->of, &message,
                                     items);
        }
    }
    free(items);
}

bool rz_agreement_context_is_idle(const struct rz_agreement_context *agreement_context)
{
    return !agreement_context->proposals;
}

struct rz_proposal *
rz_agreement_context_own_proposal(struct rz_agreement_context *agreement_context)
{
    return &agreement_context->own;
}

struct rz_agreement_context **
rz_agreement_context_owner(const struct rz_agreement_context *agreement_context)
{
    return agreement_context->owner;
}

/* ---- Protocol messages ---- */

void rz_agreement_context_announced_too_late(const struct rz_protocol_message *protocol_message)
{
    uint64_t context = child_context(protocol_message->context, protocol_message->message.word[0]);
    if (rz_agreement_context_at(context)) {
        return; /* the context has outlived its communicator, and still answers */
    }
    struct rz_message over = {.protocol = RZ_PROTOCOL_AGREE, .type = RZ_AGREEMENT_CONTEXT_OVER};
    rz_protocol_message_send(protocol_message->process, context, &over, NULL);
}

void rz_agreement_context_announced(struct rz_agreement_context *agreement_context,
                                    const struct rz_protocol_message *protocol_message)
{
    uint32_t n = protocol_message->message.n_items;
    struct rz_comm *comm = agreement_context->comm;
    struct rz_group *part = NULL;
    if (!comm) {
        rz_agreement_context_announced_too_late(protocol_message);
        return;
    }
    if (n > 0) {
        uint32_t *process = malloc(n * sizeof(*process));
        for (uint32_t i = 0; process && i < n; i++) {
            process[i] = (uint32_t)protocol_message->items[i];
        }
        part = process ? rz_group_new((int)n, process) : NULL;
        free(process);
        if (!part) {
            rz_agreement_context_no_memory();
        }
    }
    rz_child_context_events->announced(comm, part, protocol_message->message.word[0],
                                       protocol_message->process);
    if (part) {
        rz_group_release(part);
    }
}
