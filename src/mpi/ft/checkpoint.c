/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints, in the process. A piece is written into one of two slots, which the daemon maps as
 * well, so that they outlive this process. The board's count of committed checkpoints determines
 * which of the two may be overwritten.
 */
#include "mpi/ft/checkpoint.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/trace.h"
#include "mpi/impl.h"
#include "mpi/engine/waiting.h"
#include "mpi/ft/checkpoint_slot.h"
#include "mpi/ft/checkpoint_stream.h"
#include "mpi/ft/checkpoint_window.h"
#include "port/kill_point.h"
#include "port/memory.h"

#include <rhizome/checkpoint.h>

_Static_assert(RZ_CHECKPOINT_REGIONS_MAX <= RZ_PIECE_REGIONS_MAX, "a piece holds all regions");

static struct {
    struct rz_region memory[RZ_CHECKPOINT_REGIONS_MAX]; /* protected */
    /* as they were when MPIX_Reinit was entered */
    struct rz_region before[RZ_CHECKPOINT_REGIONS_MAX];
    struct rz_slot slots[2];
    /* the epoch of the last call, in which regions were protected and pieces written */
    uint32_t round;
    uint32_t epoch;  /* for which the daemon has answered where checkpoints are */
    uint64_t base;   /* checkpoint k of this epoch is generation base + k */
    uint64_t number; /* checkpoints taken in this epoch */
    bool busy;       /* a thread is in RZ_Checkpoint or RZ_Restore, and may sleep */
    bool answered;   /* the daemon's answer for the present epoch has arrived */
    struct rz_link_piece piece;
    int piece_fd; /* the piece to restore; -1: none, or it was restored already */
    /* of that piece; n = 0: not read yet; stays valid after the piece is closed */
    struct rz_piece_table table;
    bool looked_at;
} state = {.piece_fd = -1};

/* Whether checkpoints are not stored at all: the calls do the same without a daemon. In a job that
 * rewinds the image of a process has its place. */
static bool for_nothing(void)
{
    return rz_engine.info->alone || !rz_engine_fault_tolerant() || rz_engine.rewinds;
}

static void window_ended(int id)
{
    state.memory[id] = (struct rz_region){0};
}

/* Windows end with a roll-back, also those of before MPIX_Reinit. */
void rz_checkpoints_enter_reinit(void)
{
    rz_ckpt_windows_look(window_ended);
    memcpy(state.before, state.memory, sizeof(state.before));
    for (int id = 0; id < RZ_CHECKPOINT_REGIONS_MAX; id++) {
        if (rz_ckpt_window_is(id)) {
            state.before[id] = (struct rz_region){0};
        }
    }
    rz_streams_enter_reinit();
}

/*
 * Called at the start of each call that uses regions. After a roll-back a survivor has what a
 * restarted process has: the regions that were protected, and the contents of streams, when
 * MPIX_Reinit was entered. Other regions may lie in memory that does not exist any more.
 */
static void notice_epoch(void)
{
    if (state.round != 0 && state.round != rz_engine.epoch) {
        rz_streams_forget();
        rz_ckpt_windows_forget();
        memcpy(state.memory, state.before, sizeof(state.memory));
    }
    state.round = rz_engine.epoch;
    rz_ckpt_windows_look(window_ended);
}

static int check_id(int id)
{
    if (id >= 0 && id < RZ_CHECKPOINT_REGIONS_MAX) {
        return MPI_SUCCESS;
    }
    return rzm_error(MPI_ERR_ARG, "id %d is not from 0 to %d", id, RZ_CHECKPOINT_REGIONS_MAX - 1);
}

/* A size larger than memory is an error of sign; and sums of sizes must not overflow. */
static bool is_possible(const void *memory, size_t bytes)
{
    return bytes <= PTRDIFF_MAX / RZ_CHECKPOINT_REGIONS_MAX &&
           (uintptr_t)memory <= UINTPTR_MAX - bytes;
}

static int set_region(int id, void *memory, size_t bytes)
{
    if (!memory && bytes > 0) {
        return rzm_error(MPI_ERR_ARG, "the memory to protect is NULL");
    }
    if (!is_possible(memory, bytes)) {
        return rzm_error(MPI_ERR_ARG, "%zu bytes are more than memory can have", bytes);
    }
    if (!rz_stream_take_out(id)) {
        return rzm_error(MPI_ERR_ARG, "region %d is being written: close its stream first", id);
    }
    state.memory[id] = (struct rz_region){.memory = memory, .bytes = bytes};
    return MPI_SUCCESS;
}

int rzm_checkpoint_protect(int id, void *memory, size_t bytes)
{
    int error = check_id(id);
    if (error != MPI_SUCCESS) {
        return error;
    }
    notice_epoch();
    error = set_region(id, memory, bytes);
    if (error == MPI_SUCCESS) {
        rz_ckpt_window_set(id, NULL);
    }
    return error;
}

int rzm_checkpoint_protect_win(int id, struct rz_win *win)
{
    int error = check_id(id);
    if (error == MPI_SUCCESS && win->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        error = rzm_error(MPI_ERR_RMA_FLAVOR, "a dynamic window has no memory of its own");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    notice_epoch();
    int other = rz_ckpt_window_id(win);
    if (other >= 0 && other != id) {
        return rzm_error(MPI_ERR_ARG, "the window is region %d already", other);
    }
    error = set_region(id, win->base, (size_t)win->size);
    if (error == MPI_SUCCESS) {
        rz_ckpt_window_set(id, win);
    }
    return error;
}

/* ---- where the checkpoints of this epoch are ---- */

static void on_piece(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg;
    for (unsigned i = 0; i < n_fds; i++) {
        if (i > 0 || message->piece.epoch != rz_engine.epoch) {
            close(fds[i]);
        }
    }
    if (message->piece.epoch != rz_engine.epoch) {
        return;
    }
    state.piece = message->piece;
    state.piece_fd = n_fds > 0 ? fds[0] : -1;
    state.answered = true;
}

static bool answer_came(void *arg)
{
    (void)arg;
    return state.answered;
}

static void forget_piece(void)
{
    if (state.piece_fd >= 0) {
        close(state.piece_fd);
    }
    state.piece_fd = -1;
}

/* After a roll-back only the slot with the piece that the daemon has just checked is known to hold
 * what was written to it. Others may hold damaged pages: they are written completely. */
static void doubt_slots(void)
{
    const struct rz_link_piece *piece = &state.piece;
    for (int i = 0; i < 2; i++) {
        struct rz_slot *slot = &state.slots[i];
        bool looked_at = slot->generation == piece->generation && slot->hash == piece->hash &&
                         piece->source_node == rz_engine.info->node;
        if (!looked_at) {
            slot->known = 0;
        }
    }
}

/* Asks the daemon, once per epoch, which piece can be restored and how generations are counted. */
static int ask_daemon(const char *call)
{
    if (state.epoch == rz_engine.epoch) {
        return MPI_SUCCESS;
    }
    forget_piece();
    state.answered = state.looked_at = false;
    state.table.n = 0;
    struct rz_link_message want = {.type = RZ_LINK_WANT_PIECE,
                                   .want_piece = {.epoch = rz_engine.epoch}};
    struct rz_blocked wait = {.call = call, .peer = MPI_PROC_NULL};
    rz_link_handle(rz_engine.link, RZ_LINK_PIECE, on_piece, NULL);
    rz_status_t status = rz_link_send(rz_engine.link, &want, -1);
    if (status != RZ_OK) {
        return rzm_status_class(status);
    }
    int error = rz_engine_wait(&wait, answer_came, NULL);
    if (error != MPI_SUCCESS) {
        return error;
    }
    state.epoch = rz_engine.epoch;
    state.base = state.piece.base;
    doubt_slots();
    state.number = 0;
    return MPI_SUCCESS;
}

/* Begins a call that waits; there is one at a time. */
static int begin_alone(const char *call)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && state.busy) {
        return rzm_error(MPI_ERR_OTHER, "another thread is in a call of checkpoints");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    notice_epoch();
    state.busy = true;
    error = ask_daemon(call);
    state.busy = error == MPI_SUCCESS;
    return error;
}

/* ---- streams ---- */

int rzm_checkpoint_stream_open(int id, const char *mode, FILE **stream)
{
    int error = check_id(id);
    rz_ckpt_windows_look(window_ended);
    if (error == MPI_SUCCESS && state.memory[id].bytes > 0) {
        return rzm_error(MPI_ERR_ARG, "region %d is protected memory: take it out first", id);
    }
    if (error != MPI_SUCCESS || for_nothing()) {
        return error != MPI_SUCCESS ? error : rz_stream_open(id, mode, true, stream);
    }
    error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    notice_epoch();
    return rz_stream_open(id, mode, false, stream);
}

/* ---- taking a checkpoint ---- */

static bool is_committed(void)
{
    return atomic_load_explicit(&rz_engine.board->committed, memory_order_acquire) >= state.number;
}

/* Without repair the failure of a process or node ends all commits; no call waits for one then. */
static bool previous_settled(void *arg)
{
    (void)arg;
    bool failures = rz_liveness.n_failed > 0 ||
                    atomic_load_explicit(&rz_engine.board->nodes_failed, memory_order_acquire) > 0;
    return is_committed() || (failures && !rz_engine.reinit_open);
}

/* The slot that does not hold the generation to which a recovery would return now. */
static struct rz_slot *slot_to_overwrite(void)
{
    return &state.slots[state.slots[0].generation == state.base + state.number];
}

/* How many generations ago the piece in the slot was written, so that the next piece, of so many
 * bytes, can share pages with it; 0: the daemons do not know that piece. */
static uint32_t back_of(const struct rz_slot *slot, size_t bytes)
{
    uint64_t next = state.base + state.number + 1;
    bool known = slot->epoch == state.epoch ||
                 (slot->generation == state.piece.generation && slot->hash == state.piece.hash);
    bool near = slot->generation > 0 && slot->generation < next &&
                next - slot->generation <= UINT32_MAX && slot->bytes == bytes;
    return known && near ? (uint32_t)(next - slot->generation) : 0;
}

/* Writes the next piece; *back: the field of the STORE message. */
static int write_piece(struct rz_slot **written, uint32_t *back)
{
    static struct rz_region regions[RZ_CHECKPOINT_REGIONS_MAX];
    struct rz_slot *slot = slot_to_overwrite();
    memcpy(regions, state.memory, sizeof(regions));
    uint32_t n = rz_streams_hold(regions);
    size_t bytes = rz_piece_bytes(regions, n);
    rz_status_t status = rz_slot_reserve(slot, bytes);
    *back = back_of(slot, bytes);
    if (status == RZ_OK) {
        rz_slot_write(slot, regions, n);
    }
    rz_streams_release();
    *written = slot;
    if (status == RZ_ERR_NO_MEMORY) {
        return rzm_error(MPI_ERR_NO_MEM, "no memory for a checkpoint of %zu bytes", bytes);
    }
    return rzm_status_class(status);
}

static int store_piece(struct rz_slot *slot, uint32_t back)
{
    state.number++;
    slot->generation = state.base + state.number;
    slot->epoch = state.epoch;
    struct rz_link_message store = {.type = RZ_LINK_STORE,
                                    .store = {.epoch = state.epoch,
                                              .number = state.number,
                                              .bytes = slot->bytes,
                                              .hash = slot->hash,
                                              .back = back}};
    RZ_TRACE(CHECKPOINT, slot->generation, slot->bytes, 0);
    rz_kill_here(RZ_KILL_STORE);
    rz_status_t status = rz_link_send(rz_engine.link, &store, slot->fd);
    rz_kill_here(RZ_KILL_STORED);
    return rzm_status_class(status);
}

static int take_one(uint64_t *generation)
{
    struct rz_blocked wait = {.call = "RZ_Checkpoint", .peer = MPI_PROC_NULL};
    struct rz_slot *slot;
    uint32_t back;
    int error = rz_streams_settled();
    if (error == MPI_SUCCESS) {
        error = rz_ckpt_windows_stop(wait.call);
    }
    if (error == MPI_SUCCESS) {
        error = rz_engine_wait(&wait, previous_settled, NULL);
    }
    if (error == MPI_SUCCESS && !is_committed()) {
        error =
            rzm_error(MPI_ERR_PROC_FAILED, "a process failed, and this job does not repair itself");
    }
    if (error == MPI_SUCCESS) { /* another thread may have begun to write a stream */
        error = rz_streams_settled();
    }
    if (error == MPI_SUCCESS) {
        error = write_piece(&slot, &back);
    }
    if (error == MPI_SUCCESS) {
        error = store_piece(slot, back);
    }
    if (error == MPI_SUCCESS && generation) {
        *generation = slot->generation;
    }
    return error == MPI_SUCCESS ? rz_ckpt_windows_go(wait.call) : error;
}

/* Where checkpoints are discarded. */
static int take_none(void)
{
    int error = rz_streams_settled();
    error = error != MPI_SUCCESS ? error : rz_ckpt_windows_stop("RZ_Checkpoint");
    return error != MPI_SUCCESS ? error : rz_ckpt_windows_go("RZ_Checkpoint");
}

int rzm_checkpoint(uint64_t *generation)
{
    if (generation) {
        *generation = 0;
    }
    if (for_nothing()) {
        return take_none();
    }
    int error = begin_alone("RZ_Checkpoint");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = take_one(generation);
    state.busy = false;
    return error;
}

/* ---- restoring a checkpoint ---- */

/* The piece may be in a slot, and the second checkpoint of an epoch overwrites it. */
static int check_not_too_late(void)
{
    if (state.number == 0) {
        return MPI_SUCCESS;
    }
    return rzm_error(MPI_ERR_OTHER,
                     "generation %llu cannot be restored any more: a checkpoint was taken since",
                     (unsigned long long)state.piece.generation);
}

/* Maps the piece to restore, and checks it at the first time. */
static int map_piece(void **at)
{
    size_t bytes = (size_t)state.piece.bytes;
    rz_status_t status = rz_memory_map(state.piece_fd, bytes, false, at, NULL);
    if (status != RZ_OK) {
        return rzm_status_class(status);
    }
    if (!state.looked_at && rz_piece_hash(*at, bytes) == state.piece.hash) {
        state.looked_at = rz_piece_open(*at, bytes, &state.table) == RZ_OK &&
                          state.table.n <= RZ_CHECKPOINT_REGIONS_MAX;
    }
    if (state.looked_at) {
        return MPI_SUCCESS;
    }
    rz_memory_unmap(*at, bytes);
    state.table.n = 0;
    return rzm_error(MPI_ERR_OTHER, "the piece of generation %llu is damaged",
                     (unsigned long long)state.piece.generation);
}

int rzm_checkpoint_region_bytes(int id, size_t *bytes)
{
    void *at;
    int error = check_id(id);
    if (error == MPI_SUCCESS && for_nothing()) {
        *bytes = 0;
    }
    if (error != MPI_SUCCESS || for_nothing()) {
        return error;
    }
    error = begin_alone("RZ_Checkpoint_region_bytes");
    if (error != MPI_SUCCESS) {
        return error;
    }
    state.busy = false;
    if (state.piece_fd >= 0 && !state.looked_at) {
        error = check_not_too_late();
        if (error == MPI_SUCCESS) {
            error = map_piece(&at);
        }
        if (error != MPI_SUCCESS) {
            return error;
        }
        rz_memory_unmap(at, (size_t)state.piece.bytes);
    }
    *bytes = (uint32_t)id < state.table.n ? state.table.entry[id].bytes : 0;
    return MPI_SUCCESS;
}

/* The error for the first region that does not fit the piece. */
static int misfit(uint32_t id)
{
    static const char *const kinds[RZ_REGION_KINDS] = {"memory", "of a stream"};
    const struct rz_piece_entry none = {0};
    const struct rz_piece_entry *stored = id < state.table.n ? &state.table.entry[id] : &none;
    return rzm_error(MPI_ERR_ARG,
                     "region %u is %zu bytes of protected memory, and in generation %llu it is "
                     "%zu bytes %s",
                     id, state.memory[id].bytes, (unsigned long long)state.piece.generation,
                     stored->bytes, kinds[stored->kind]);
}

static int copy_back(void)
{
    void *at;
    uint32_t id;
    size_t bytes = (size_t)state.piece.bytes;
    int error = map_piece(&at);
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_kill_here(RZ_KILL_RESTORE);
    rz_status_t status = rz_piece_fits(&state.table, state.memory, RZ_CHECKPOINT_REGIONS_MAX, &id);
    if (status != RZ_OK) {
        error = misfit(id);
    } else if (!rz_streams_restore(at, &state.table)) {
        error = rzm_error(MPI_ERR_NO_MEM, "no memory for what streams had written");
    } else {
        rz_piece_take(at, &state.table, state.memory, RZ_CHECKPOINT_REGIONS_MAX);
    }
    rz_memory_unmap(at, bytes);
    if (error == MPI_SUCCESS) {
        forget_piece();
    }
    return error;
}

static int restore_it(uint64_t *generation)
{
    int error = rz_streams_settled();
    if (error != MPI_SUCCESS || state.piece.generation == 0) {
        return error;
    }
    if (state.piece_fd < 0) {
        return rzm_error(MPI_ERR_OTHER, "generation %llu was restored already",
                         (unsigned long long)state.piece.generation);
    }
    error = check_not_too_late();
    if (error == MPI_SUCCESS) {
        error = copy_back();
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    RZ_TRACE(RESTORED, state.piece.generation, 0, 0);
    rz_kill_here(RZ_KILL_RESTORED);
    struct rz_link_message restored = {
        .type = RZ_LINK_RESTORED,
        .restored = {.epoch = state.epoch, .generation = state.piece.generation}};
    rz_link_send(rz_engine.link, &restored, -1); /* for the record only */
    *generation = state.piece.generation;
    return MPI_SUCCESS;
}

int rzm_restore(uint64_t *generation)
{
    int error;
    *generation = 0;
    if (for_nothing()) {
        error = rz_streams_settled();
        return error != MPI_SUCCESS ? error : rz_ckpt_windows_go("RZ_Restore");
    }
    error = begin_alone("RZ_Restore");
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = restore_it(generation);
    error = error != MPI_SUCCESS ? error : rz_ckpt_windows_go("RZ_Restore");
    state.busy = false;
    return error;
}

int rzm_progress_mark(uint64_t iteration)
{
    struct rz_link_message mark = {.type = RZ_LINK_MARK, .mark = {.iteration = iteration}};
    if (rz_engine.info->alone) {
        return MPI_SUCCESS;
    }
    return rzm_status_class(rz_link_send(rz_engine.link, &mark, -1));
}

int rzm_alive(void)
{
    if (rz_engine.reductions > 0) {
        if (rz_engine.info->waits) {
            rz_waits_alive(rz_engine.info->waits);
        }
        return MPI_SUCCESS;
    }
    rz_engine_progress(); /* so that fencing and roll-backs take effect here as in any call */
    return rz_engine_begin();
}
