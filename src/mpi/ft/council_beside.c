/* Councils beside that of a communicator: the same members, or a part of them, and another order.
 */
#include "mpi/ft/comm_uniform.h"
#include "mpi/ft/council_state.h"

#include "base/random.h"

#include <stdlib.h>

/* Tells contexts made here from those of communicators. */
#define BESIDE UINT64_C(0xbe51de)

static uint64_t context_beside(uint64_t context, uint64_t word)
{
    return rz_mix(rz_mix(context, word), BESIDE) & ~(uint64_t)(RZ_PLANE_COUNT - 1);
}

int rz_council_beside(struct rz_comm *comm, struct rz_group *part, uint64_t word,
                      struct rz_council **owner)
{
    struct rz_group *groups[2] = {part, NULL};
    if (part == NULL) {
        rz_council_order_groups(comm, groups);
    }
    if (rz_council_new(comm, groups, context_beside(comm->context, word), owner) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    (*owner)->comm = NULL;
    (*owner)->of = comm->context;
    (*owner)->part = part != NULL;
    if (!rz_council_open_engine(*owner, rz_comm_agreement(comm))) {
        (*owner)->over = true;
        return MPI_ERR_NO_MEM;
    }
    rz_councils_comm_begun(); /* letters for it may have come already */
    return MPI_SUCCESS;
}

bool rz_council_was_beside(const struct rz_comm *comm, uint64_t word)
{
    uint64_t context = context_beside(comm->context, word);
    return rz_council_at(context) != NULL || rz_comm_has_ended(context);
}

void rz_council_put(struct rz_council *council, struct rz_motion *motion)
{
    rz_council_append(council, motion);
}

void rz_council_ready(struct rz_council *council, struct rz_motion *motion)
{
    motion->reserved = false;
    rz_council_continue(council);
}

struct rz_motion *rz_council_withdraw(struct rz_council *council)
{
    rz_assert(!council->voting || council->over);
    return council->motions != NULL ? rz_council_take_first(council) : NULL;
}

void rz_council_leave(struct rz_council *council)
{
    council->over = true;
    rz_comm_note_end(council->context);
}

void rz_council_announce(const struct rz_council *council, uint64_t word)
{
    uint32_t n = rz_council_size(council);
    uint64_t *items = malloc(n * sizeof(*items));
    if (items == NULL) {
        rz_council_no_memory();
    }
    struct rz_message message = {.room = RZ_ROOM_SPREAD,
                                 .type = RZ_COUNCIL_ANNOUNCED,
                                 .from = council->self,
                                 .origin = council->self,
                                 .word = {word},
                                 .n_items = council->part ? n : 0};
    for (rz_id member = 0; member < n; member++) {
        items[member] = rz_council_process(council, member);
    }
    for (rz_id member = 0; member < n; member++) {
        if (member != council->self) {
            rz_letter_send((uint32_t)items[member], council->of, &message, items);
        }
    }
    free(items);
}

bool rz_council_is_idle(const struct rz_council *council)
{
    return council->motions == NULL;
}

struct rz_motion *rz_council_own_motion(struct rz_council *council)
{
    return &council->own;
}

struct rz_council **rz_council_owner(const struct rz_council *council)
{
    return council->owner;
}

/* ---- Letters ---- */

void rz_council_announced_too_late(const struct rz_letter *letter)
{
    uint64_t context = context_beside(letter->context, letter->message.word[0]);
    if (rz_council_at(context) != NULL) {
        return; /* it outlived the communicator, and still answers */
    }
    struct rz_message over = {.room = RZ_ROOM_AGREE, .type = RZ_COUNCIL_OVER};
    rz_letter_send(letter->process, context, &over, NULL);
}

void rz_council_announced(struct rz_council *council, const struct rz_letter *letter)
{
    uint32_t n = letter->message.n_items;
    struct rz_comm *comm = council->comm;
    struct rz_group *part = NULL;
    if (comm == NULL) {
        rz_council_announced_too_late(letter);
        return;
    }
    if (n > 0) {
        uint32_t *process = malloc(n * sizeof(*process));
        for (uint32_t i = 0; process != NULL && i < n; i++) {
            process[i] = (uint32_t)letter->items[i];
        }
        part = process != NULL ? rz_group_new((int)n, process) : NULL;
        free(process);
        if (part == NULL) {
            rz_council_no_memory();
        }
    }
    rz_rulings_announced(comm, part, letter->message.word[0], letter->process);
    if (part != NULL) {
        rz_group_release(part);
    }
}
