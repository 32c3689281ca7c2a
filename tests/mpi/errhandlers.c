/* SPDX-License-Identifier: BSD-3-Clause */
/* Error handlers on all kinds of objects: which one runs, which objects inherit it, how long it
 * exists. */
#include "check.h"

#include <string.h>

static struct {
    int times, code;
    void *object;
    char text[MPI_MAX_ERROR_STRING];
} seen;

static void note(void *object, int code)
{
    int length;
    seen.times++;
    seen.code = code;
    seen.object = object;
    CHECK(MPI_Error_string(code, seen.text, &length) == MPI_SUCCESS);
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    note((void *)*comm, *code);
}

static void on_session(MPI_Session *session, int *code, ...)
{
    note((void *)*session, *code);
}

static void on_file(MPI_File *file, int *code, ...)
{
    note((void *)*file, *code);
}

static void on_win(MPI_Win *win, int *code, ...)
{
    note((void *)*win, *code);
}

static void expect(int result, int code, const void *object)
{
    CHECK(result == code && seen.times == 1 && seen.code == code && seen.object == object);
    seen.times = 0;
}

static int size_of_nothing(MPI_Comm comm)
{
    return MPI_Comm_size(comm, NULL);
}

/* ---- Communicators ---- */

static void derived_ones_inherit(MPI_Errhandler handler)
{
    MPI_Comm comm, made[6];
    MPI_Errhandler got;
    MPI_Group group;
    int rank, one = 1, yes = 1;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, handler) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_group(comm, &group);
    MPI_Comm_dup(comm, &made[0]);
    MPI_Comm_split(comm, rank, 0, &made[1]);
    MPI_Comm_create(comm, group, &made[2]);
    MPI_Comm_create_group(comm, group, 5, &made[3]);
    MPI_Cart_create(made[1], 1, &one, &yes, 0, &made[4]);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made[5]);
    for (int i = 0; i < 6; i++) {
        CHECK(MPI_Comm_get_errhandler(made[i], &got) == MPI_SUCCESS && got == handler);
        CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS && got == MPI_ERRHANDLER_NULL);
        expect(size_of_nothing(made[i]), MPI_ERR_ARG, made[i]);
        /* What is set on the child is the child's alone. */
        CHECK(MPI_Comm_set_errhandler(made[i], MPI_ERRORS_RETURN) == MPI_SUCCESS);
        CHECK(size_of_nothing(made[i]) == MPI_ERR_ARG && seen.times == 0);
        CHECK(MPI_Comm_free(&made[i]) == MPI_SUCCESS);
    }
    expect(size_of_nothing(comm), MPI_ERR_ARG, comm);
    MPI_Group_free(&group);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

/* The user's handle may go at once: the handler lives as long as something has it. */
static void handlers_are_counted(void)
{
    MPI_Errhandler handler, same;
    MPI_Comm comm, copy;
    CHECK(MPI_Comm_create_errhandler(on_comm, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, handler) == MPI_SUCCESS);
    MPI_Errhandler stale = handler;
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
    expect(size_of_nothing(comm), MPI_ERR_ARG, comm);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS && MPI_Comm_free(&comm) == MPI_SUCCESS);
    expect(size_of_nothing(copy), MPI_ERR_ARG, copy);
    CHECK(MPI_Comm_get_errhandler(copy, &same) == MPI_SUCCESS && same == stale);
    CHECK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(size_of_nothing(copy) == MPI_ERR_ARG && seen.times == 0);
    CHECK(MPI_Comm_set_errhandler(copy, same) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&same) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(copy, stale) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
}

/* MPI_Comm_free in the handler, which a request still needs: the error of a wait is its comm's. */
static void requests_keep_their_communicator(MPI_Errhandler handler)
{
    MPI_Comm comm;
    MPI_Request receive;
    int few[1], many[4] = {0};
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, handler) == MPI_SUCCESS);
    CHECK(MPI_Irecv(few, 1, MPI_INT, 0, 1, comm, &receive) == MPI_SUCCESS);
    CHECK(MPI_Send(many, 4, MPI_INT, 0, 1, comm) == MPI_SUCCESS);
    void *freed = comm;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    expect(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, freed);
    CHECK(receive == MPI_REQUEST_NULL);
}

/* A message that a probe has taken is its communicator's, also once that was freed. */
static void matched_messages_too(MPI_Errhandler handler)
{
    MPI_Comm comm, freed;
    MPI_Message message;
    int rank, words[4] = {0}, word;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_rank(comm, &rank);
    CHECK(MPI_Comm_set_errhandler(comm, handler) == MPI_SUCCESS);
    CHECK(MPI_Send(words, 4, MPI_INT, rank, 1, comm) == MPI_SUCCESS);
    CHECK(MPI_Mprobe(rank, 1, comm, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    freed = comm;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    expect(MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, freed);
}

static void errors_of_no_object(MPI_Errhandler handler)
{
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    expect(MPI_Type_size(MPI_DATATYPE_NULL, &(int){0}), MPI_ERR_TYPE, MPI_COMM_SELF);
    expect(size_of_nothing(MPI_COMM_NULL), MPI_ERR_COMM, MPI_COMM_SELF);
    expect(MPI_Wait(&(MPI_Request){(MPI_Request)MPI_INT}, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
           MPI_COMM_SELF);
    CHECK(strstr(seen.text, "MPI_Wait") && strstr(seen.text, "request"));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static void calls_by_hand(MPI_Errhandler handler)
{
    int class, code;
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS);
    CHECK(MPI_Add_error_code(class, &code) == MPI_SUCCESS);
    CHECK(MPI_Add_error_string(code, "of the program") == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_SUCCESS);
    expect(code - MPI_SUCCESS + MPI_Comm_call_errhandler(MPI_COMM_SELF, code), code, MPI_COMM_SELF);
    CHECK(strcmp(seen.text, "of the program") == 0);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS);
}

/* ---- Sessions, files, windows ---- */

static void of_sessions(void)
{
    MPI_Errhandler handler, comm_handler, got;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int number;
    CHECK(MPI_Session_create_errhandler(on_session, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(on_comm, &comm_handler) == MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, handler, &session) == MPI_SUCCESS);
    expect(MPI_Session_get_num_psets(session, MPI_INFO_NULL, NULL), MPI_ERR_ARG, session);
    CHECK(MPI_Session_get_errhandler(session, &got) == MPI_SUCCESS && got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    number = MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    expect(number + MPI_ERR_OTHER, MPI_ERR_OTHER, session);
    CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &group) == MPI_SUCCESS);
    /* The communicator has the handler that was given, and so have the errors on the way to it. */
    CHECK(MPI_Comm_create_from_group(group, "tag", MPI_INFO_NULL, comm_handler, &comm) ==
          MPI_SUCCESS);
    expect(size_of_nothing(comm), MPI_ERR_ARG, comm);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    expect(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, comm_handler, &comm),
           MPI_ERR_GROUP, MPI_COMM_NULL);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&comm_handler);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

static void of_files(void)
{
    MPI_Errhandler handler, got;

    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&got);
    CHECK(MPI_File_create_errhandler(on_file, &handler) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, handler) == MPI_SUCCESS);
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &got) == MPI_SUCCESS && got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    expect(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO) + MPI_ERR_IO, MPI_ERR_IO,
           MPI_FILE_NULL);

    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO) == MPI_SUCCESS && seen.times == 0);
}

/* So far there is no window to set one on. */
static void of_windows(void)
{
    MPI_Errhandler handler;
    CHECK(MPI_Win_create_errhandler(on_win, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(handler)) == handler);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
}

static void predefined_ones_may_be_freed(void)
{
    MPI_Errhandler got = MPI_ERRORS_ARE_FATAL;
    for (int i = 0; i < 1000; i++) {
        got = MPI_ERRORS_RETURN;
        CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS && got == MPI_ERRHANDLER_NULL);
    }
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

int main(void)
{
    MPI_Errhandler handler;
    MPI_Init(NULL, NULL);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    CHECK(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_Comm_create_errhandler(on_comm, &handler) == MPI_SUCCESS);
    derived_ones_inherit(handler);
    requests_keep_their_communicator(handler);
    matched_messages_too(handler);
    errors_of_no_object(handler);
    calls_by_hand(handler);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    predefined_ones_may_be_freed();
    handlers_are_counted();
    of_sessions();
    of_files();
    of_windows();
    MPI_Finalize();
    return 0;
}
