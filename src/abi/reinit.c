/*
 * MPIX_Reinit: the program's loop is entered again after each death. The frame that roll-backs jump
 * to lives here, because it must stay on the stack while the loop runs; all else is the chapter's
 * (mpi/ft/ft.h). Global restart: Georgakoudis, Guo, Laguna, "Reinit++", ISC 2020; the shape of the
 * call is that of its implementation.
 */
#include "abi/reinit.h"

#include <setjmp.h>

#include "abi/entry.h"
#include "mpi/ft/ft.h"

/* One per process: the restart point is the job's. */
static jmp_buf reinit_round;
static _Thread_local bool reinit_is_here;

bool rz_reinit_is_here(void)
{
    return reinit_is_here;
}

_Noreturn void rz_ft_rollback(void)
{
    rz_assert(reinit_is_here);
    longjmp(reinit_round, 1);
}

/* One step of the chapter under the engine lock. */
static int reinit_step(struct rz_call *call, int (*step)(void))
{
    rz_call_lock(call);
    int error = step();
    rz_call_unlock(call);
    return error;
}

static int reinit_wait(struct rz_call *call, int *state)
{
    rz_call_lock(call);
    int error = rz_ft_reinit_wait(state);
    rz_call_unlock(call);
    return error;
}

/*
 * Rounds until one ends in every process. Each local is set anew in the round that reads it: what a
 * jump would leave undefined is never looked at. Returns MPI_SUCCESS with what the restart point
 * returned, or an error class.
 */
static int reinit_rounds(struct rz_call *call, int argc, char **argv, MPIX_Restart_point point,
                         int *returned)
{
    (void)setjmp(reinit_round);
    for (;;) {
        int state;
        int error = reinit_wait(call, &state);
        if (error == MPI_SUCCESS) {
            *returned = point(argc, argv, (MPIX_Reinit_state_t)state);
            error = reinit_step(call, rz_ft_reinit_leave);
        }
        if (error != RZM_ROLLBACK) {
            return error;
        }
    }
}

RZ_PUBLIC int PMPIX_Reinit(int argc, char **argv, MPIX_Restart_point point)
{
    struct rz_call call = {.name = "MPIX_Reinit"};
    int returned = 0;
    if (rz_phase != RZ_PHASE_RUNNING) {
        rz_call_out_of_phase(&call);
    } else if (rz_arg_pointer(&call, "point", (const void *)(uintptr_t)point)) {
        call.error = reinit_step(&call, rz_ft_reinit_enter);
        if (call.error == RZM_ROLLBACK) {
            call.error =
                MPI_SUCCESS; /* a death on the threshold: the first round waits for its repair */
        }
    }
    if (call.error == MPI_SUCCESS) {
        reinit_is_here = true;
        call.error = reinit_rounds(&call, argc, argv, point, &returned);
        reinit_is_here = false;
    }
    return call.error == MPI_SUCCESS ? returned : rz_call_end(&call);
}
RZ_TWIN(MPIX_Reinit);
