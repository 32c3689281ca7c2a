/*
 * Checkpoints, the process's side. A piece is written into one of two memfds, which the daemon then
 * holds, too: they outlive this process. Which of the two may be overwritten follows from the
 * board's count of committed checkpoints.
 */
#include "mpi/ft/checkpoint.h"

#include <unistd.h>

#include "base/assert.h"
#include "ckpt/piece.h"
#include "mpi/chapter.h"
#include "mpi/core/engine.h"
#include "port/memory.h"

#include <rhizome/checkpoint.h>

/* A memfd for pieces, mapped. */
struct slot {
    int fd; /* valid when at != NULL */
    void *at;
    size_t bytes;
    uint64_t generation; /* whose piece was written here last, 0: none */
};

static struct {
    struct rz_region regions[RZ_CHECKPOINT_REGIONS_MAX];
    uint32_t n_regions; /* up to the last one in use */
    struct slot slots[2];
    uint32_t epoch;  /* for which the daemon has told where checkpoints stand */
    uint64_t base;   /* checkpoint k of this epoch is generation base + k */
    uint64_t number; /* checkpoints taken in this epoch */
    bool answered;   /* its answer for the epoch asked about has come */
    struct rz_link_piece piece;
    int piece_fd; /* what to restore; -1: none, or restored already */
} state = {.piece_fd = -1};

int rzm_checkpoint_protect(int id, void *memory, size_t bytes)
{
    if (id < 0 || id >= RZ_CHECKPOINT_REGIONS_MAX)
        return rzm_error(MPI_ERR_ARG, "id %d is not from 0 to %d", id,
                         RZ_CHECKPOINT_REGIONS_MAX - 1);
    if (!memory && bytes > 0)
        return rzm_error(MPI_ERR_ARG, "the memory to protect is NULL");
    state.regions[id] = (struct rz_region){.memory = memory, .bytes = bytes};
    for (state.n_regions = RZ_CHECKPOINT_REGIONS_MAX; state.n_regions > 0; state.n_regions--)
        if (state.regions[state.n_regions - 1].bytes > 0)
            break;
    return MPI_SUCCESS;
}

/* ---- where checkpoints stand in this epoch */

static void on_piece(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg;
    for (unsigned i = 0; i < n_fds; i++)
        if (i > 0 || message->piece.epoch != rz_engine.epoch)
            close(fds[i]);
    if (message->piece.epoch != rz_engine.epoch)
        return;
    state.piece = message->piece;
    state.piece_fd = n_fds > 0 ? fds[0] : -1;
    state.answered = true;
}

static bool answer_came(void *arg)
{
    (void)arg;
    return state.answered;
}

/* Once per epoch: ask the daemon what there is to restore and how generations are counted. */
static int ask_daemon(void)
{
    if (state.epoch == rz_engine.epoch)
        return MPI_SUCCESS;
    if (state.piece_fd >= 0)
        close(state.piece_fd);
    state.piece_fd = -1;
    state.answered = false;
    struct rz_link_message want = {.type = RZ_LINK_WANT_PIECE,
                                   .want_piece = {.epoch = rz_engine.epoch}};
    struct rz_blocked wait = {.call = "RZ_Restore", .peer = MPI_PROC_NULL};
    rz_link_handle(rz_engine.link, RZ_LINK_PIECE, on_piece, NULL);
    rz_status_t status = rz_link_send(rz_engine.link, &want, -1);
    if (status != RZ_OK)
        return rzm_status_class(status);
    int error = rz_engine_wait(&wait, answer_came, NULL);
    if (error != MPI_SUCCESS)
        return error;
    state.epoch = rz_engine.epoch;
    state.base = state.piece.base;
    state.number = 0;
    return MPI_SUCCESS;
}

/* ---- taking one */

static bool is_committed(void)
{
    return atomic_load_explicit(&rz_engine.board->committed, memory_order_acquire) >= state.number;
}

/* Without repair the death of a process or of a node ends all commits: nobody waits for one then.
 */
static bool previous_settled(void *arg)
{
    (void)arg;
    bool deaths = rz_engine.n_dead > 0 ||
                  atomic_load_explicit(&rz_engine.board->nodes_dead, memory_order_acquire) > 0;
    return is_committed() || (deaths && !rz_engine.reinit_open);
}

static void slot_close(struct slot *slot)
{
    if (!slot->at)
        return;
    rz_memory_unmap(slot->at, slot->bytes);
    close(slot->fd);
    *slot = (struct slot){0};
}

/* The slot that does not hold the generation to which a recovery would go back now, with room for
 * bytes. */
static int slot_for(size_t bytes, struct slot **result)
{
    struct slot *slot = &state.slots[state.slots[0].generation == state.base + state.number];
    if (slot->bytes != bytes) {
        slot_close(slot);
        rz_status_t status = rz_memory_create("rz-checkpoint", bytes, &slot->fd);
        if (status != RZ_OK)
            return rzm_status_class(status);
        status = rz_memory_reserve(slot->fd, 0, bytes);
        if (status == RZ_OK)
            status = rz_memory_map(slot->fd, bytes, true, &slot->at, NULL);
        if (status != RZ_OK) {
            close(slot->fd);
            slot->at = NULL;
            return rzm_status_class(status);
        }
        slot->bytes = bytes;
    }
    *result = slot;
    return MPI_SUCCESS;
}

int rzm_checkpoint(uint64_t *generation)
{
    struct rz_blocked wait = {.call = "RZ_Checkpoint", .peer = MPI_PROC_NULL};
    if (generation)
        *generation = 0;
    if (rz_engine.info->alone || !rz_engine_fault_tolerant())
        return MPI_SUCCESS;
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS)
        error = ask_daemon();
    if (error == MPI_SUCCESS)
        error = rz_engine_wait(&wait, previous_settled, NULL);
    if (error == MPI_SUCCESS && !is_committed())
        error =
            rzm_error(MPI_ERR_PROC_FAILED, "a process died, and this job does not repair itself");
    struct slot *slot = NULL;
    size_t bytes = rz_piece_bytes(state.regions, state.n_regions);
    if (error == MPI_SUCCESS)
        error = slot_for(bytes, &slot);
    if (error != MPI_SUCCESS)
        return error;
    rz_piece_write(slot->at, state.regions, state.n_regions);
    state.number++;
    slot->generation = state.base + state.number;
    struct rz_link_message store = {.type = RZ_LINK_STORE,
                                    .store = {.epoch = state.epoch,
                                              .number = state.number,
                                              .bytes = bytes,
                                              .hash = rz_piece_hash(slot->at, bytes)}};
    rz_status_t status = rz_link_send(rz_engine.link, &store, slot->fd);
    if (status != RZ_OK)
        return rzm_status_class(status);
    if (generation)
        *generation = slot->generation;
    return MPI_SUCCESS;
}

/* ---- going back to one */

static int copy_back(void)
{
    void *at;
    uint32_t id;
    size_t bytes = (size_t)state.piece.bytes;
    rz_status_t status = rz_memory_map(state.piece_fd, bytes, false, &at, NULL);
    if (status != RZ_OK)
        return rzm_status_class(status);
    bool intact = rz_piece_hash(at, bytes) == state.piece.hash;
    status =
        intact ? rz_piece_read(at, bytes, state.regions, state.n_regions, &id) : RZ_ERR_MALFORMED;
    rz_memory_unmap(at, bytes);
    if (status == RZ_ERR_INVALID) /* with the right regions it can still be restored */
        return rzm_error(MPI_ERR_ARG, "region %u had another size when generation %llu was written",
                         id, (unsigned long long)state.piece.generation);
    close(state.piece_fd);
    state.piece_fd = -1;
    return status == RZ_OK ? MPI_SUCCESS
                           : rzm_error(MPI_ERR_OTHER, "the checkpoint piece is damaged");
}

int rzm_restore(uint64_t *generation)
{
    *generation = 0;
    if (rz_engine.info->alone || !rz_engine_fault_tolerant())
        return MPI_SUCCESS;
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS)
        error = ask_daemon();
    if (error != MPI_SUCCESS || state.piece.generation == 0)
        return error;
    if (state.piece_fd < 0)
        return rzm_error(MPI_ERR_OTHER, "generation %llu was restored already",
                         (unsigned long long)state.piece.generation);
    error = copy_back();
    if (error != MPI_SUCCESS)
        return error;
    struct rz_link_message restored = {
        .type = RZ_LINK_RESTORED,
        .restored = {.epoch = state.epoch, .generation = state.piece.generation}};
    rz_link_send(rz_engine.link, &restored, -1); /* for the record only */
    *generation = state.piece.generation;
    return MPI_SUCCESS;
}

int rzm_progress_mark(uint64_t iteration)
{
    struct rz_link_message mark = {.type = RZ_LINK_MARK, .mark = {.iteration = iteration}};
    if (rz_engine.info->alone)
        return MPI_SUCCESS;
    return rzm_status_class(rz_link_send(rz_engine.link, &mark, -1));
}

int rzm_alive(void)
{
    rz_engine_progress(); /* fenced, or rolled back, here as in any call */
    return rz_engine_begin();
}
