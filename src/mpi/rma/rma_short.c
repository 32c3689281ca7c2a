/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The short forms of calls on windows (mpi/impl.h): the target is of this node, its memory is
 * within reach of loads and stores, and nothing has happened that a call would have to report. Each
 * looks at everything that the entry point and the implementation function look at, without saying
 * what is wrong: then the long form finds it again.
 */
#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_direct.h"
#include "mpi/rma/rma_message.h"
#include "mpi/rma/window_info.h"
#include "mpi/rma/window_passive.h"
#include "mpi/rma/window_words.h"

/* All of a short form is compiled into one function. */
#define SHORT __attribute__((flatten))

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

/* ---- What all begin with ---- */

/* The window, if the call is plain and `rank` is a rank of it; NULL: the long form. */
static inline struct rz_win *find_win(MPI_Win handle, int rank)
{
    struct rz_win *win = (struct rz_win *)handle;
    uintptr_t value = (uintptr_t)handle;
    bool plain = rz_phase == RZ_PHASE_RUNNING && !rz_engine_shared;
#if RZ_GROUP
    plain = plain && !atomic_load_explicit(&rz_monitors_untold, memory_order_relaxed);
#endif
    if (!plain || value < RZ_HANDLE_PREDEFINED_END || value % sizeof(void *) != 0 ||
        !rz_object_is(win, RZ_OBJECT_WIN) || (unsigned)rank >= (unsigned)win->members) {
        return NULL;
    }
    return win;
}

/* For operations: the target, if there is an access epoch and its memory is near. */
static inline struct rz_win_target *begin_operation(MPI_Win handle, int rank, struct rz_win **win)
{
    *win = find_win(handle, rank);
    bool begins = *win && LIKELY(rz_engine_begin_calm());
    struct rz_win_target *target = begins ? rz_win_target(*win, rank) : NULL;
    return target && LIKELY(rz_rma_is_near(*win, target)) ? target : NULL;
}

/* Not MPI_BOTTOM or MPI_IN_PLACE. */
static inline bool is_buffer(const void *buffer)
{
    return (uintptr_t)buffer > (uintptr_t)MPI_IN_PLACE;
}

/* ---- Rows ---- */

/* A type that may be used in communication and whose elements are one row; NULL: it is none. */
static inline const struct rz_datatype *row_type(MPI_Datatype handle)
{
    uintptr_t value = (uintptr_t)handle;
    const struct rz_datatype *type = (const struct rz_datatype *)handle;
    if (LIKELY(value < RZ_HANDLE_PREDEFINED_END)) {
        type = rz_datatype_predefined((unsigned)value);
    } else if (value % sizeof(void *) != 0 || !rz_object_is(type, RZ_OBJECT_DATATYPE) ||
               (type->object.flags & (RZ_DATATYPE_COMMITTED | RZ_DATATYPE_HUGE)) !=
                   RZ_DATATYPE_COMMITTED) {
        return NULL;
    }
    return type && type->contiguous ? type : NULL;
}

/* Some data of a call. */
struct row {
    const void *at;
    MPI_Count count;
    MPI_Datatype datatype;
};

/* Both ends of a row that is to be moved; false: the long form. */
struct move {
    char *here, *there;
    MPI_Count bytes;
};

static inline bool find_row(const struct row *here, int rank, MPI_Aint disp,
                            const struct row *there, MPI_Win handle, struct move *move)
{
    struct rz_win *win;
    struct rz_win_target *target = begin_operation(handle, rank, &win);
    const struct rz_datatype *type = row_type(there->datatype), *own = type;
    if (!target || !type || !is_buffer(here->at)) {
        return false;
    }
    if (here->datatype != there->datatype) {
        own = row_type(here->datatype);
    }
    if (!own || there->count <= 0 || there->count > INT32_MAX || here->count > INT32_MAX) {
        return false;
    }
    move->bytes = rz_datatype_bytes(type, there->count);
    move->there = rz_rma_place(target, disp, type->true_lb, move->bytes);
    move->here = rz_datatype_row(own, here->at);
    if (!move->there || move->bytes != rz_datatype_bytes(own, here->count)) {
        return false;
    }
    target->touched = true;
    return true;
}

SHORT bool rzm_put_short(const void *origin_addr, MPI_Count origin_count,
                         MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                         MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    const struct row here = {origin_addr, origin_count, origin_datatype};
    const struct row there = {NULL, target_count, target_datatype};
    struct move move;
    if (!find_row(&here, target_rank, target_disp, &there, win, &move)) {
        return false;
    }
    rz_rma_move_row(move.there, move.here, move.bytes);
    return true;
}

SHORT bool rzm_get_short(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                         int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                         MPI_Datatype target_datatype, MPI_Win win)
{
    const struct row here = {origin_addr, origin_count, origin_datatype};
    const struct row there = {NULL, target_count, target_datatype};
    struct move move;
    if (!find_row(&here, target_rank, target_disp, &there, win, &move)) {
        return false;
    }
    rz_rma_move_row(move.here, move.there, move.bytes);
    return true;
}

/* ---- Elements ---- */

/* An element of a predefined type at the target. */
struct element_place {
    struct rz_win_target *target;
    const struct rz_datatype *type;
    void *at;
};

/* Whether an atomic instruction can change it; false: the long form. */
static inline bool find_element(MPI_Win handle, int rank, MPI_Aint disp, MPI_Datatype datatype,
                                struct element_place *place)
{
    struct rz_win *win;
    struct rz_win_target *target = begin_operation(handle, rank, &win);
    uintptr_t value = (uintptr_t)datatype;
    const struct rz_datatype *type =
        value < RZ_HANDLE_PREDEFINED_END ? rz_datatype_predefined((unsigned)value) : NULL;
    if (!target || !type || !win->atomic) {
        return false;
    }
    void *at = rz_rma_place(target, disp, type->true_lb, type->size);
    *place = (struct element_place){target, type, at};
    return at && rz_rma_is_element(type->size, type->extent, at);
}

SHORT bool rzm_fetch_and_op_short(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                                  int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    struct element_place place;
    bool fit = (uintptr_t)op < RZ_HANDLE_PREDEFINED_END && is_buffer(result_addr) &&
               (is_buffer(origin_addr) || op == MPI_NO_OP);
    if (!fit || !find_element(win, target_rank, target_disp, datatype, &place)) {
        return false;
    }
    const struct rz_rma_element element = {.op = (unsigned)(uintptr_t)op,
                                           .number = rz_number_of(place.type),
                                           .size = place.type->size,
                                           .data = origin_addr,
                                           .result = result_addr};
    bool done = rz_rma_change_element(&element, place.at);
    place.target->touched |= done;
    return done;
}

SHORT bool rzm_compare_and_swap_short(const void *origin_addr, const void *compare_addr,
                                      void *result_addr, MPI_Datatype datatype, int target_rank,
                                      MPI_Aint target_disp, MPI_Win win)
{
    struct element_place place;
    bool fit = is_buffer(origin_addr) && is_buffer(compare_addr) && is_buffer(result_addr);
    if (!fit || !find_element(win, target_rank, target_disp, datatype, &place) ||
        !rz_rma_is_comparable(place.type)) {
        return false;
    }
    rz_rma_swap_element(place.type->size, origin_addr, compare_addr, result_addr, place.at);
    place.target->touched = true;
    return true;
}

/* ---- Synchronisation ---- */

/* For synchronisations, of which a program waits by some in a row: the window, if the call may
 * begin. */
static inline struct rz_win *begin(MPI_Win handle, int rank)
{
    struct rz_win *win = find_win(handle, rank);
    return win && LIKELY(rz_engine_begin_quick_calm()) ? win : NULL;
}

/* Whether a synchronisation with the target has nothing to wait for and nothing to report. */
static inline bool is_calm(const struct rz_win *win, const struct rz_win_target *target)
{
    return target->acks_due == 0 && target->error == MPI_SUCCESS && !win->comm->revoked &&
           !rz_win_target_lost(target);
}

SHORT bool rzm_win_flush_short(int rank, MPI_Win handle)
{
    struct rz_win *win = begin(handle, rank);
    struct rz_win_target *target = win ? rz_win_target(win, rank) : NULL;
    if (!target || (target->hold == RZ_HOLD_NONE && !win->lock_all) || !is_calm(win, target)) {
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    target->touched = false;
    return true;
}

/* Keeps no claim: the long form, which waits, makes its own. */
static inline bool lock_at_once(struct rz_win *win, int rank, bool exclusive)
{
    bool claimed = false;
    bool got = exclusive ? rz_win_try_exclusive(win, rank, win->rank, &claimed)
                         : rz_win_try_shared(win, rank, win->rank);
    if (!got && claimed) {
        rz_win_unlock_word(win, rank, win->rank);
        rz_rma_send_listed();
    }
    return got;
}

SHORT bool rzm_win_lock_short(int lock_type, int rank, int assert, MPI_Win handle)
{
    struct rz_win *win = begin(handle, rank);
    struct rz_win_target *target = win ? rz_win_target(win, rank) : NULL;
    bool exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    bool fit = target && assert == 0 && (exclusive || lock_type == MPI_LOCK_SHARED) &&
               !win->started && !win->lock_all && !rz_win_hint(win, RZ_WIN_HINT_NO_LOCKS) &&
               target->control && target->hold == RZ_HOLD_NONE && !target->asking &&
               !win->comm->revoked && !rz_win_target_lost(target);
    if (!fit || !lock_at_once(win, rank, exclusive)) {
        return false;
    }
    target->hold = exclusive ? RZ_HOLD_EXCLUSIVE : RZ_HOLD_SHARED;
    win->fenced = false;
    win->locks++;
    return true;
}

SHORT bool rzm_win_unlock_short(int rank, MPI_Win handle)
{
    struct rz_win *win = begin(handle, rank);
    struct rz_win_target *target = win ? rz_win_target(win, rank) : NULL;
    if (!target || win->lock_all || target->hold == RZ_HOLD_NONE || target->unchecked ||
        !target->control || !is_calm(win, target)) {
        return false;
    }
    target->touched = false;
    if (rz_win_unlock_word(win, rank, win->rank)) {
        rz_rma_send_listed();
    }
    target->hold = RZ_HOLD_NONE;
    win->locks--;
    return true;
}
