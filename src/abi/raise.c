/* The end of a call with an error: error handlers and roll-back run here, with no lock held and no
 * chapter on the stack. */
#include "abi/entry.h"

#include <stdio.h>
#include <unistd.h>

#include "abi/features.h"
#include "abi/reinit.h"
#include "chapter_weak.h"
#include "mpi/ft.h"

const char *rz_error_name(int error)
{
    for (size_t i = 0; i < rz_error_row_count; i++) {
        if (rz_error_rows[i].error_class == error) {
            return rz_error_rows[i].name;
        }
    }
    return NULL;
}

/* The sentence of an error: what the chapter or a check noted, else the text of its class. */
static void error_sentence(int error, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0;
    const char *reason = rzm_error_reason(error);
    if (reason != NULL) {
        snprintf(text, MPI_MAX_ERROR_STRING, "%s", reason);
    } else if (rzm_error_string == NULL || rzm_error_string(error, text, &length) != MPI_SUCCESS) {
        snprintf(text, MPI_MAX_ERROR_STRING, "returned error %d", error);
    }
}

static const char *comm_text(const struct rz_comm *comm)
{
    if (rz_world != RZ_PHASE_RUNNING && comm != NULL &&
        ((const struct rz_object *)comm)->predefined != 0) {
        return "no communicator";
    }
    switch (comm != NULL ? ((const struct rz_object *)comm)->predefined : 0) {
    case 0x101:
        return "MPI_COMM_WORLD";
    case 0x102:
        return "MPI_COMM_SELF";
    default:
        return comm != NULL ? "a communicator of the program" : "no communicator";
    }
}

/* One line, in one write, so that lines of several ranks do not mix. */
static void print_fatal(const char *where, int error, const char *name, const char *handler)
{
    char sentence[MPI_MAX_ERROR_STRING];
    char rank[32] = "";
    char line[MPI_MAX_ERROR_STRING + 256];
    error_sentence(error, sentence);
    if (rz_phase == RZ_PHASE_RUNNING) {
        snprintf(rank, sizeof(rank), " at rank %d", rz_comm_rank(rz_comm_predefined(0x101)));
    }
    const char *class_name = rz_error_name(error);
    int length =
        snprintf(line, sizeof(line), "rhizome: %s%s: %s (%s on %s; %s)\n", name, rank, sentence,
                 class_name != NULL ? class_name : "user's error code", where, handler);
    length = length < (int)sizeof(line) ? length : (int)sizeof(line) - 1;
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        return; /* nobody is left to be told */
    }
}

/* By the chapter's abort, which ends every process of comm, where there is one. */
_Noreturn static void end_program(struct rz_comm *comm, int error)
{
    if (rz_phase == RZ_PHASE_RUNNING && rzm_abort != NULL) {
        if (rz_engine_shared) {
            rz_engine_enter();
        }
        rzm_abort(comm, error);
    }
    _exit(1);
}

int rz_error_raise(struct rz_comm *comm, int error, const char *name)
{
    if (comm == NULL && rz_phase == RZ_PHASE_RUNNING) {
        comm = rz_comm_predefined(0x102); /* errors without a communicator are MPI_COMM_SELF's */
    }
    const struct rz_errhandler *handler = comm != NULL ? rz_comm_errhandler(comm) : NULL;
    uintptr_t predefined =
        handler != NULL ? handler->object.predefined : (uintptr_t)MPI_ERRORS_ARE_FATAL;
    if (predefined == (uintptr_t)MPI_ERRORS_RETURN) {
        return error;
    }
    if (predefined == (uintptr_t)MPI_ERRORS_ABORT) {
        print_fatal(comm_text(comm), error, name, "MPI_ERRORS_ABORT");
        end_program(comm, error);
    }
    if (predefined == (uintptr_t)MPI_ERRORS_ARE_FATAL) {
        print_fatal(comm_text(comm), error, name, "MPI_ERRORS_ARE_FATAL");
        end_program(comm != NULL ? rz_comm_predefined(0x101) : NULL, error);
    }
    MPI_Comm handle = rz_comm_handle(comm);
    int code = error;
    handler->function.comm(&handle, &code);
    return error;
}

int rz_error_raise_session(struct rz_session *session, struct rz_errhandler *handler, int error,
                           const char *name)
{
    handler = session != NULL ? rz_session_errhandler(session) : handler;
    uintptr_t predefined = handler->object.predefined;
    if (predefined == (uintptr_t)MPI_ERRORS_RETURN) {
        return error;
    }
    if (predefined != 0) {
        bool aborts = predefined == (uintptr_t)MPI_ERRORS_ABORT;
        print_fatal("a session", error, name, aborts ? "MPI_ERRORS_ABORT" : "MPI_ERRORS_ARE_FATAL");
        end_program(NULL, error);
    }
    MPI_Session handle = rz_session_handle(session);
    int code = error;
    handler->function.session(&handle, &code);
    return error;
}

int rz_call_finish_error(struct rz_call *call)
{
    int error = call->error;
    if (error == RZM_ROLLBACK) {
        rz_call_unlock(call);
        if (rz_reinit_is_here()) {
            rz_ft_rollback();
        }
        /* Another thread than the one in MPIX_Reinit cannot be carried back: it is told. */
        return rzm_error(MPI_ERR_PROC_FAILED, "the job is going back to its restart point");
    }
    if (rzm_error_reason(error) == NULL) {
        rzm_error_forget();
    }
    /* The handler runs unlocked; a communicator held for it is given back afterwards. */
    bool held = call->held;
    call->held = false;
    rz_call_unlock(call);
    if (call->session != NULL || call->handler != NULL) {
        rz_error_raise_session(call->session, call->handler, error, call->name);
    } else {
        rz_error_raise(call->comm, error, call->name);
    }
    if (held) {
        rz_call_lock(call);
        call->held = true;
        rz_call_unlock(call);
    }
    return error;
}

int rz_call_unsupported(const char *name, MPI_Comm comm)
{
    int error = rzm_error(MPI_ERR_UNSUPPORTED_OPERATION, "not supported by this build of Rhizome");
    struct rz_comm *found = rz_phase == RZ_PHASE_RUNNING ? rz_arg_find_comm(comm) : NULL;
    return rz_error_raise(found, error, name);
}

int rz_error_string(int errorcode, char *string, int *resultlen)
{
    const char *reason = rzm_error_reason(errorcode);
    int error = rzm_error_string(errorcode, string, resultlen);
    if (error == MPI_SUCCESS && reason != NULL) {
        size_t room = MPI_MAX_ERROR_STRING - (size_t)*resultlen;
        int added = snprintf(string + *resultlen, room, ": %s", reason);
        *resultlen += added < (int)room ? added : (int)room - 1;
    }
    return error;
}
