/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a call with an error: error handlers and roll-back run here, with no lock held and no
 * implementation function on the stack. */
#include "abi/entry.h"

#include <stdio.h>
#include <unistd.h>

#include "abi/features.h"
#include "abi/reinit.h"
#include "impl_weak.h"
#include "mpi/ft/restart.h"

const char *rz_error_name(int error)
{
    for (size_t i = 0; i < rz_error_row_count; i++) {
        if (rz_error_rows[i].error_class == error) {
            return rz_error_rows[i].name;
        }
    }
    return NULL;
}

/* The text of an error: what the implementation or a check recorded, else the text of its class. */
static void error_sentence(int error, char text[MPI_MAX_ERROR_STRING])
{
    int length = 0;
    const char *reason = rzm_error_reason(error);
    if (reason) {
        snprintf(text, MPI_MAX_ERROR_STRING, "%s", reason);
    } else if (!rzm_error_string || rzm_error_string(error, text, &length) != MPI_SUCCESS) {
        snprintf(text, MPI_MAX_ERROR_STRING, "returned error %d", error);
    }
}

static const char *comm_text(const struct rz_comm *comm)
{
    if (rz_world != RZ_PHASE_RUNNING && comm && ((const struct rz_object *)comm)->predefined != 0) {
        return "no communicator";
    }
    switch (comm ? ((const struct rz_object *)comm)->predefined : 0) {
    case 0x101:
        return "MPI_COMM_WORLD";
    case 0x102:
        return "MPI_COMM_SELF";
    default:
        return comm ? "a communicator of the program" : "no communicator";
    }
}

/* One line, in one write, so that lines of several ranks do not mix. */
static void print_fatal(const char *where, int error, const char *name, const char *handler)
{
    char sentence[MPI_MAX_ERROR_STRING];
    char rank[32] = "";
    char line[MPI_MAX_ERROR_STRING + 256];
    error_sentence(error, sentence);
    if (rz_world_rank >= 0) {
        snprintf(rank, sizeof(rank), " at rank %d", rz_world_rank);
    }
    const char *class_name = rz_error_name(error);
    int length = snprintf(line, sizeof(line), "rhizome: %s%s: %s (%s on %s; %s)\n", name, rank,
                          sentence, class_name ? class_name : "user's error code", where, handler);
    length = length < (int)sizeof(line) ? length : (int)sizeof(line) - 1;
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        return; /* no process is left to be told */
    }
}

/* Calls the implementation of MPI_Abort, if there is one: every process of comm ends; with comm
 * NULL, every process of the job. */
_Noreturn static void end_program(struct rz_comm *comm, int error)
{
    if (rz_phase == RZ_PHASE_RUNNING && rzm_abort) {
        if (rz_engine_shared) {
            rz_engine_enter();
        }
        rzm_abort(comm, error);
    }
    _exit(1);
}

/* The user's error handler. object: its communicator or session, NULL: none. */
static void run(const struct rz_errhandler *handler, struct rz_object *object, int error)
{
    void *handle = NULL;
    int code = error;
    switch (handler->of) {
    case RZ_OBJECT_COMM:
        handle = rz_object_handle(object, (uintptr_t)MPI_COMM_NULL);
        handler->function.comm((MPI_Comm *)(void *)&handle, &code);
        return;
    case RZ_OBJECT_WIN:
        handle = rz_object_handle(object, (uintptr_t)MPI_WIN_NULL);
        handler->function.win((MPI_Win *)(void *)&handle, &code);
        return;
    case RZ_OBJECT_SESSION:
        handle = rz_object_handle(object, (uintptr_t)MPI_SESSION_NULL);
        handler->function.session((MPI_Session *)(void *)&handle, &code);
        return;
    default:
        rz_assert(handler->of == RZ_OBJECT_FILE);
        handle = rz_object_handle(object, (uintptr_t)MPI_FILE_NULL);
        handler->function.file((MPI_File *)(void *)&handle, &code);
    }
}

/*
 * where: the object that it belongs to, as text. comm: MPI_ERRORS_ABORT ends its processes, if it
 * is not NULL. handler is a copy made under the lock: meanwhile another thread may set another one,
 * which frees the first.
 */
static int raise_by(const struct rz_errhandler *handler, struct rz_object *object,
                    struct rz_comm *comm, const char *where, int error, const char *name)
{
    rzm_error_returned(error, name);
    uintptr_t predefined = handler->object.predefined;
    if (predefined == 0) {
        run(handler, object, error);
        return error;
    }
    if (predefined == (uintptr_t)MPI_ERRORS_RETURN) {
        return error;
    }
    if (predefined == (uintptr_t)MPI_ERRORS_ABORT) {
        print_fatal(where, error, name, "MPI_ERRORS_ABORT");
        end_program(comm, error);
    }
    print_fatal(where, error, name, "MPI_ERRORS_ARE_FATAL");
    end_program(NULL, error);
}

/* The class does not know what was revoked; the object whose error handler applies was. */
static void say_what_was_revoked(int error, const char *what)
{
    if (error == MPI_ERR_REVOKED) {
        rzm_error(error, "the %s was revoked", what);
    }
}

int rz_error_raise_win(struct rz_win *win, int error, const char *name)
{
    say_what_was_revoked(error, "window");
    struct rz_call lock = {0};
    rz_call_lock(&lock);
    struct rz_errhandler handler = *rz_win_errhandler(win);
    struct rz_comm *comm = rz_win_comm(win);
    rz_call_unlock(&lock);
    return raise_by(&handler, (struct rz_object *)win, comm, "a window", error, name);
}

/* The communicator of a window belongs to requests of one-sided operations. */
int rz_error_raise(struct rz_comm *comm, int error, const char *name)
{
    if (comm && rz_comm_window(comm)) {
        return rz_error_raise_win(rz_comm_window(comm), error, name);
    }
    struct rz_file *file = comm ? rz_comm_file(comm) : NULL;
    if (file) {
        return rz_error_raise_file(file, error, name);
    }
    if (!comm && rz_world == RZ_PHASE_RUNNING) {
        comm = rz_comm_predefined(0x102); /* errors without an object are MPI_COMM_SELF's */
    }
    struct rz_call lock = {0};
    rz_call_lock(&lock);
    struct rz_errhandler handler = *(comm ? rz_comm_errhandler(comm) : rz_errhandler_initial());
    rz_call_unlock(&lock);
    say_what_was_revoked(error, "communicator");
    return raise_by(&handler, (struct rz_object *)comm, comm, comm_text(comm), error, name);
}

int rz_error_raise_session(struct rz_session *session, int error, const char *name)
{
    struct rz_call lock = {0};
    rz_call_lock(&lock);
    struct rz_errhandler handler = *rz_session_errhandler(session);
    rz_call_unlock(&lock);
    return raise_by(&handler, (struct rz_object *)session, NULL, "a session", error, name);
}

int rz_error_raise_file(struct rz_file *file, int error, const char *name)
{
    struct rz_call lock = {0};
    rz_call_lock(&lock);
    struct rz_errhandler handler = *rz_file_errhandler(file);
    struct rz_comm *comm = file ? rz_file_comm(file) : NULL;
    rz_call_unlock(&lock);
    return raise_by(&handler, (struct rz_object *)file, comm, file ? "a file" : "MPI_FILE_NULL",
                    error, name);
}

static void raise_of(const struct rz_call *call, int error)
{
    if (call->handler) {
        raise_by(call->handler, NULL, NULL, "what was to be made", error, call->name);
    } else if (call->win) {
        rz_error_raise_win(call->win, error, call->name);
    } else if (call->session) {
        rz_error_raise_session(call->session, error, call->name);
    } else if (call->of_file) {
        rz_error_raise_file(call->file, error, call->name);
    } else {
        rz_error_raise(call->comm, error, call->name);
    }
}

/*
 * A thread that cannot be rolled back gets an error: another thread than the one in MPIX_Reinit,
 * and a function of the user below a call that has not ended; that call rolls back.
 */
static int roll_back(struct rz_call *call)
{
    bool carried = rz_reinit_is_here() && !rz_engine_runs_user();
    if (!carried) {
        rz_engine_thread_was_told();
    }
    rz_call_unlock(call);
    if (carried) {
        rz_ft_rollback();
    }
    rzm_error(MPI_ERR_PROC_FAILED, "the job is rolling back to its restart point");
    rzm_error_returned(MPI_ERR_PROC_FAILED, call->name);
    return MPI_ERR_PROC_FAILED;
}

/*
 * Several requests ended, some with an error: the handler is that of the communicator whose request
 * caused it, and gets the error of that request (MPI 4.1, section 9.3.1). Returns that error.
 */
static int blame_cause(struct rz_call *call)
{
    struct rz_comm *comm;
    int error = rzm_error_take_cause(&comm);
    if (error == MPI_SUCCESS) {
        return call->error; /* an error code of the program's own functions, with the same number */
    }
    if (call->held) {
        rz_comm_release(call->comm);
    }
    call->comm = comm;
    call->held = comm != NULL;
    return error;
}

int rz_call_finish_error(struct rz_call *call)
{
    int error = call->error;
    if (error == RZM_ROLLBACK && !rz_reinit_cleans_up()) {
        return roll_back(call);
    }
    if (error == RZM_ROLLBACK) {
        error = rzm_error(MPI_ERR_OTHER, "this call cannot be made in a clean-up handler of "
                                         "MPIX_Reinit: the job is rolling back");
    }
    /* The handler runs unlocked; a communicator retained for it is released afterwards. */
    int raised = error == MPI_ERR_IN_STATUS ? blame_cause(call) : error;
    bool held = call->held, file_held = call->file_held;
    call->held = call->file_held = false;
    rz_call_unlock(call);
    raise_of(call, raised);
    if (raised != error) {
        rzm_error_returned(error, call->name);
    }
    if (held || file_held) {
        rz_call_lock(call);
        call->held = held;
        call->file_held = file_held;
        rz_call_unlock(call);
    }
    return error;
}

int rz_call_unsupported(const char *name, MPI_Comm comm)
{
    int error = rzm_error(MPI_ERR_UNSUPPORTED_OPERATION, "not supported by this build of Rhizome");
    if (strncmp(name, "MPI_File_", strlen("MPI_File_")) == 0) {
        return rz_error_raise_file(NULL, error, name);
    }
    struct rz_comm *found = rz_phase == RZ_PHASE_RUNNING ? rz_arg_find_comm(comm) : NULL;
    return rz_error_raise(found, error, name);
}

int rz_error_string(int errorcode, char *string, int *resultlen)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    int error = rzm_error_string(errorcode, text, &length);
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool ours =
        rz_error_name(errorcode) != NULL; /* error codes of the program have only its text */
    const char *call = ours ? rzm_error_call(errorcode) : NULL;
    const char *reason = ours ? rzm_error_reason(errorcode) : NULL;
    if (reason && errorcode == MPI_ERR_REVOKED) {
        text[0] = '\0'; /* the reason says it better */
    }
    length = snprintf(string, MPI_MAX_ERROR_STRING, "%s%s%s%s%s", call ? call : "",
                      call ? ": " : "", text, reason && text[0] ? ": " : "", reason ? reason : "");
    *resultlen = length < MPI_MAX_ERROR_STRING ? length : MPI_MAX_ERROR_STRING - 1;
    return MPI_SUCCESS;
}
