/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPIX_Reinit: the program's loop is entered again after each failure. This file has the frame to
 * which roll-backs jump, because it must stay on the stack while the loop runs, and the clean-up
 * handlers, which run before the jump; mpi/ft has the rest (mpi/ft/restart.h). Global restart:
 * Georgakoudis, Guo, Laguna, "Reinit++", ISC 2020; the form of the call is that of its
 * implementation, the clean-up handlers are those of Laguna and others' proposal of 2016.
 */
#include "abi/reinit.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "abi/entry.h"
#include "impl_weak.h"
#include "mpi/ft/restart.h"
#include "mpi/ft/reinit_async.h"

/* One per process: the restart point belongs to the job. */
static jmp_buf reinit_round;
static _Thread_local bool reinit_is_here;
static atomic_bool reinit_is_open;

bool rz_reinit_is_here(void)
{
    return reinit_is_here;
}

bool rz_reinit_is_open(void)
{
    return atomic_load(&reinit_is_open);
}

/* ---- Clean-up handlers ---- */

struct cleanup {
    MPIX_Cleanup_handler handler;
    void *arg;
};

static struct {
    struct cleanup *stack; /* [n], the last one runs first */
    size_t n, max;
    bool run;
} cleanups;

bool rz_reinit_cleans_up(void)
{
    return reinit_is_here && cleanups.run;
}

/* Runs the handlers while the frames of the restart point are still on the stack: handlers may use
 * its locals. */
static void clean_up(void)
{
    cleanups.run = true;
    while (cleanups.n > 0) {
        struct cleanup last = cleanups.stack[--cleanups.n];
        last.handler(MPIX_REINIT_REINITED, last.arg);
    }
}

static bool cleanups_have_room(void)
{
    if (cleanups.n == cleanups.max) {
        size_t more = cleanups.max == 0 ? 16 : cleanups.max * 2;
        struct cleanup *bigger = realloc(cleanups.stack, more * sizeof(*bigger));
        if (!bigger) {
            return false;
        }
        cleanups.stack = bigger;
        cleanups.max = more;
    }
    return true;
}

/* For calls that are only allowed below the restart point. */
static bool reinit_is_inside(struct rz_call *call)
{
    if (rz_phase != RZ_PHASE_RUNNING) {
        return rz_call_out_of_phase(call);
    }
    if (!reinit_is_here) {
        return rz_arg_refuse(call, MPI_ERR_OTHER,
                             "called outside of the restart point of MPIX_Reinit, or in another "
                             "thread than it runs in");
    }
    return !cleanups.run ||
           rz_arg_refuse(call, MPI_ERR_OTHER, "called in a clean-up handler of MPIX_Reinit");
}

RZ_PUBLIC int PMPIX_Reinit_cleanup_push(MPIX_Cleanup_handler handler, void *arg)
{
    struct rz_call call = {.name = "MPIX_Reinit_cleanup_push"};
    if (reinit_is_inside(&call) &&
        rz_arg_pointer(&call, "handler", (const void *)(uintptr_t)handler)) {
        if (cleanups_have_room()) {
            /* A roll-back may only happen in the program's code, which does not run in between. */
            cleanups.stack[cleanups.n++] = (struct cleanup){handler, arg};
        } else {
            call.error = MPI_ERR_NO_MEM;
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPIX_Reinit_cleanup_push);

RZ_PUBLIC int PMPIX_Reinit_cleanup_pop(int execute)
{
    struct rz_call call = {.name = "MPIX_Reinit_cleanup_pop"};
    if (reinit_is_inside(&call) &&
        (cleanups.n > 0 || rz_arg_refuse(&call, MPI_ERR_OTHER, "no clean-up handler is left"))) {
        struct cleanup last = cleanups.stack[--cleanups.n];
        if (execute) {
            int state;
            rzm_reinit_state(&state);
            rz_reinit_mask();
            last.handler((MPIX_Reinit_state_t)state, last.arg);
            rz_reinit_unmask();
        }
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPIX_Reinit_cleanup_pop);

/* ---- Roll-back ---- */

_Noreturn void rz_ft_rollback(void)
{
    rz_assert(reinit_is_here);
    rz_reinit_mask(); /* handlers are the program's code, and the roll-back has already begun */
    clean_up();
    longjmp(reinit_round, 1);
}

/* The interruption of a computation: as if the program had called MPIX_Reinit_test there. */
static void reinit_go_back(void)
{
    struct rz_call call = {.name = "MPIX_Reinit_async"};
    if (reinit_is_here) {
        rz_call_lock(&call);
        call.error = rzm_reinit_test();
        rz_call_end(&call);
    }
}

RZ_PUBLIC int PMPIX_Reinit_mask(void)
{
    struct rz_call call = {.name = "MPIX_Reinit_mask"};
    if (reinit_is_inside(&call)) {
        rz_reinit_mask();
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPIX_Reinit_mask);

RZ_PUBLIC int PMPIX_Reinit_unmask(void)
{
    struct rz_call call = {.name = "MPIX_Reinit_unmask"};
    if (reinit_is_inside(&call) &&
        (rz_reinit_unmask() || rz_arg_refuse(&call, MPI_ERR_OTHER, "not masked")) &&
        !rz_reinit_is_masked()) {
        rz_call_lock(&call);
        call.error = rzm_reinit_test();
    }
    return rz_call_end(&call);
}
RZ_TWIN(MPIX_Reinit_unmask);

/* ---- The rounds ---- */

/* The program's loop, in one of its two forms. */
struct restart_point {
    MPIX_Restart_point plain;
    RZ_Restart_point_failed told; /* NULL: plain */
};

/* For a process restarted in this round: the last arguments of restart_point.told. */
static struct {
    int n, *ranks, *states;
} failed;

/* All processes exchange their states. MPI_SUCCESS, an error class or RZM_ROLLBACK. */
static int ask_which_failed(struct rz_call *call, int state)
{
    struct rz_comm *world = rz_comm_predefined(0x101);
    struct rz_datatype *datatype = rz_datatype_predefined((unsigned)(uintptr_t)MPI_INT);
    int size = rz_comm_size(world);
    if (!failed.states &&
        (failed.states = malloc(2 * (size_t)size * sizeof(failed.states[0]))) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    failed.ranks = failed.states + size;
    failed.n = 0;
    rz_call_lock(call);
    int error = rzm_allgather(&state, 1, datatype, failed.states, 1, datatype, world);
    rz_call_unlock(call);
    for (int i = 0; i < size && error == MPI_SUCCESS; i++) {
        if (failed.states[i] == MPIX_REINIT_RESTARTED) {
            failed.ranks[failed.n++] = i;
        }
    }
    return error;
}

static int enter_point(const struct restart_point *point, int argc, char **argv, int state)
{
    MPIX_Reinit_state_t how = (MPIX_Reinit_state_t)state;
    return point->told ? point->told(argc, argv, how, failed.n, failed.ranks)
                       : point->plain(argc, argv, how);
}

/* Calls a step of the implementation with the engine lock held. */
static int reinit_step(struct rz_call *call, int (*step)(void))
{
    rz_call_lock(call);
    int error = step();
    rz_call_unlock(call);
    return error;
}

/* The handlers of the last round are removed: those that did not run, because the restart point has
 * returned, would find its locals gone. */
static int reinit_wait(struct rz_call *call, int *state)
{
    cleanups.n = 0;
    rz_call_lock(call);
    int error = rz_ft_reinit_wait(state);
    rz_call_unlock(call);
    cleanups.run = false;
    rz_reinit_mask_forget();
    return error;
}

/*
 * Rounds until one ends in every process. Each local is set again in the round that reads it:
 * values that a jump leaves undefined are never read. Returns MPI_SUCCESS with what the restart
 * point returned, or an error class.
 */
static int reinit_rounds(struct rz_call *call, int argc, char **argv,
                         const struct restart_point *point, int *returned)
{
    (void)setjmp(reinit_round);
    for (;;) {
        int state;
        int error = reinit_wait(call, &state);
        if (error == MPI_SUCCESS && point->told) {
            error = ask_which_failed(call, state);
        }
        if (error == MPI_SUCCESS) {
            *returned = enter_point(point, argc, argv, state);
            error = reinit_step(call, rz_ft_reinit_leave);
        }
        if (error != RZM_ROLLBACK) {
            return error;
        }
    }
}

static int reinit_async_begin(void)
{
    return rz_reinit_async_begin(reinit_go_back);
}

static int reinit_async_end(void)
{
    rz_reinit_async_end();
    return MPI_SUCCESS;
}

/* In a job that rewinds: a failure takes all processes back to images of their memory, inside the
 * restart point or not. It is called once, and nothing interrupts it. */
static int reinit_once(struct rz_call *call, int argc, char **argv,
                       const struct restart_point *point)
{
    call->error = reinit_step(call, rz_ft_reinit_once);
    if (call->error != MPI_SUCCESS) {
        return rz_call_end(call);
    }
    reinit_is_here = true;
    atomic_store(&reinit_is_open, true);
    int returned = enter_point(point, argc, argv, MPIX_REINIT_NEW);
    atomic_store(&reinit_is_open, false);
    reinit_is_here = false;
    cleanups.n = 0;
    rz_reinit_mask_forget();
    return returned;
}

static int reinit(struct rz_call *call, bool async, int argc, char **argv,
                  const struct restart_point *point)
{
    int returned = 0;
    if (rz_phase != RZ_PHASE_RUNNING) {
        rz_call_out_of_phase(call);
    } else if (point->told ||
               rz_arg_pointer(call, "point", (const void *)(uintptr_t)point->plain)) {
        if (rz_ft_is_rewound()) {
            return reinit_once(call, argc, argv, point);
        }
        call->error = async ? reinit_step(call, reinit_async_begin) : MPI_SUCCESS;
    }
    bool runs_async = async && call->error == MPI_SUCCESS;
    if (call->error == MPI_SUCCESS) {
        call->error = reinit_step(call, rz_ft_reinit_enter);
        if (call->error == RZM_ROLLBACK) {
            call->error =
                MPI_SUCCESS; /* a failure at the entry: the first round waits for its repair */
        }
    }
    if (call->error == MPI_SUCCESS) {
        reinit_is_here = true;
        atomic_store(&reinit_is_open, true);
        call->error = reinit_rounds(call, argc, argv, point, &returned);
        atomic_store(&reinit_is_open, false);
        reinit_is_here = false;
    }
    if (runs_async) {
        reinit_step(call, reinit_async_end);
    }
    return call->error == MPI_SUCCESS ? returned : rz_call_end(call);
}

RZ_PUBLIC int PMPIX_Reinit(int argc, char **argv, MPIX_Restart_point point)
{
    struct rz_call call = {.name = "MPIX_Reinit"};
    return reinit(&call, false, argc, argv, &(struct restart_point){.plain = point});
}
RZ_TWIN(MPIX_Reinit);

RZ_PUBLIC int PRZ_Reinit_failed(int argc, char **argv, RZ_Restart_point_failed point)
{
    struct rz_call call = {.name = "RZ_Reinit_failed"};
    return reinit(&call, false, argc, argv, &(struct restart_point){.told = point});
}
RZ_TWIN(RZ_Reinit_failed);

RZ_PUBLIC int PMPIX_Reinit_async(int argc, char **argv, MPIX_Restart_point point)
{
    struct rz_call call = {.name = "MPIX_Reinit_async"};
    return reinit(&call, true, argc, argv, &(struct restart_point){.plain = point});
}
RZ_TWIN(MPIX_Reinit_async);
