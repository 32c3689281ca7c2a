/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments, row by row: see arguments.h. Run by two processes, which do the same. */
#include "../patience.h"
#include "arguments.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

struct good good;
struct gone gone, null;
struct results out;

/* ---- One row ---- */

static struct {
    const char *file, *function, *argument;
    int line;
    int handled, code;
    struct results before;
} row;
static int rows, failed;

static void row_fails(const char *why, const char *text)
{
    failed++;
    fprintf(stderr, "%s:%d: %s, argument %s: %s%s%s\n", row.file, row.line, row.function,
            row.argument ? row.argument : "-", why, text[0] != '\0' ? ": " : "", text);
}

static void note(int code)
{
    row.handled++;
    row.code = code;
}

void note_comm_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    note(*code);
}

void note_session_error(MPI_Session *session, int *code, ...)
{
    (void)session;
    note(*code);
}

void note_file_error(MPI_File *file, int *code, ...)
{
    (void)file;
    note(*code);
}

void note_win_error(MPI_Win *win, int *code, ...)
{
    (void)win;
    note(*code);
}

void row_begin(const char *file, int line, const char *function, const char *argument)
{
    rows++;
    row.file = file;
    row.line = line;
    row.function = function;
    row.argument = argument;
    row.handled = 0;
    row.code = MPI_SUCCESS;
    memset(&out, 0x5a, sizeof(out));
    out.length = 8;
    out.number = 0;
    out.count = 0;
    out.aint = 0;
    memcpy(&row.before, &out, sizeof(out));
    alarm(TEST_HANG_S);
}

/* Whether word stands in text by itself. */
static bool says(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        bool ends = !isalnum((unsigned char)at[length]) && at[length] != '_';
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

static void check_text(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1;
    MPI_Error_string(code, text, &length);
    if (length != (int)strlen(text)) {
        row_fails("the length of its text is wrong", text);
    }
    if (!says(text, row.function)) {
        row_fails("the text does not name the call", text);
    }
    if (!says(text, row.argument) && row.argument[0] != '\0') {
        row_fails("the text does not name the argument", text);
    }
}

void row_end(int expected, int handlers, int result)
{
    char text[96];
    alarm(0);
    if (result != expected) {
        char string[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(result, string, &length);
        snprintf(text, sizeof(text), "returned %d, not %d", result, expected);
        row_fails(text, string);
        return;
    }
    if (row.handled != handlers || (handlers > 0 && row.code != expected)) {
        snprintf(text, sizeof(text), "%d handlers ran, the last for %d", row.handled, row.code);
        row_fails(text, "");
    }
    if (memcmp(&row.before, &out, sizeof(out)) != 0) {
        row_fails("it failed and wrote a result", "");
    }
    if (row.argument) {
        check_text(result);
    }
}

/* ---- What rows are made of ---- */

void reduce_nothing(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)count, (void)datatype;
}

void reduce_nothing_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)count, (void)datatype;
}

int extent_nothing(MPI_Datatype datatype, MPI_Aint *extent, void *extra)
{
    (void)datatype, (void)extra;
    *extent = 8;
    return MPI_SUCCESS;
}

int query_nothing(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

int free_nothing(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

int cancel_nothing(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void make_comms(void)
{
    int two[] = {1, 1}, yes[] = {1, 1}, self[] = {0}, index[] = {1}, rank;
    CHECK(MPI_Comm_create_errhandler(note_comm_error, &good.errhandler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, good.errhandler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, good.errhandler) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_SELF, &good.comm);
    MPI_Cart_create(MPI_COMM_SELF, 2, two, yes, 0, &good.cart);
    MPI_Graph_create(MPI_COMM_SELF, 1, index, self, 0, &good.graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, self, MPI_UNWEIGHTED, 1, self, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &good.dist_graph);
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 1, &good.inter);
    MPI_Comm_group(MPI_COMM_SELF, &good.group);
    MPI_Comm_group(MPI_COMM_WORLD, &good.other_group);
}

static void make_objects(void)
{
    MPI_Type_contiguous(2, MPI_INT, &good.datatype);
    MPI_Type_commit(&good.datatype);
    MPI_Type_contiguous(3, MPI_INT, &good.uncommitted);
    MPI_Op_create(reduce_nothing, 1, &good.op);
    MPI_Info_create(&good.info);
    MPI_Info_set(good.info, "key", "value");
    MPI_Session_create_errhandler(note_session_error, &good.session_errhandler);
    MPI_File_create_errhandler(note_file_error, &good.file_errhandler);
    MPI_Session_init(MPI_INFO_NULL, good.session_errhandler, &good.session);
    MPI_File_set_errhandler(MPI_FILE_NULL, good.file_errhandler);
    snprintf(good.file_name, sizeof(good.file_name), "/tmp/rz-arguments-%d", (int)getpid());
    CHECK(MPI_File_open(good.comm, good.file_name,
                        MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &good.file) == MPI_SUCCESS);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &good.comm_keyval, NULL);
    for (int i = 0; i < 3; i++) { /* so that no key of the one kind has a number of the other */
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &good.type_keyval,
                               NULL);
    }
    MPI_Win_create_errhandler(note_win_error, &good.win_errhandler);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &good.win_keyval, NULL);
    MPI_Win_create(good.buffer, sizeof(good.buffer), 8, MPI_INFO_NULL, good.comm, &good.win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &good.dynamic);
    MPI_Win_set_errhandler(good.win, good.win_errhandler);
    MPI_Win_set_errhandler(good.dynamic, good.win_errhandler);
    MPI_Win_fence(0, good.win);
    RZ_Group_monitor_start(good.comm, MPI_INFO_NULL, NULL, NULL, &good.monitor);
    MPI_Send_init(good.buffer, 1, MPI_INT, 0, 7, good.comm, &good.persistent);
    MPI_Irecv(good.buffer, 1, MPI_INT, 0, 8, good.comm, &good.active);
    MPI_Isend(good.buffer, 1, MPI_INT, 0, 9, good.comm, &good.partner);
    MPI_Mprobe(0, 9, good.comm, &good.message, MPI_STATUS_IGNORE);
}

static void make_numbers(void)
{
    for (int i = 0; i < ARGUMENTS_N; i++) {
        good.ones[i] = 1;
        good.wide_ones[i] = 1;
        good.negative[i] = i == 1 ? -3 : 1;
        good.wide_negative[i] = good.negative[i];
        good.comms[i] = good.comm;
        good.bad_comms[i] = gone.comm;
        good.types[i] = MPI_INT;
        good.bad_types[i] = i == 1 ? gone.datatype : MPI_INT;
    }
    good.negative[0] = good.wide_negative[0] = -3;
    good.bad_types[0] = gone.datatype;
    for (int i = 0; i < 2; i++) {
        good.requests[i] = good.null_requests[i] = MPI_REQUEST_NULL;
        good.bad_requests[i] = i == 0 ? gone.request : MPI_REQUEST_NULL;
    }
    good.ranges[0][2] = 1;
    MPI_Status_set_elements(&good.status, MPI_INT, 1);
}

static void make_failed(void)
{
#define FAIL(member, call)                                                                         \
    do {                                                                                           \
        __typeof__(gone.member) copy = gone.member;                                                \
        CHECK(call(&copy) == MPI_SUCCESS);                                                         \
        CHECK(copy == null.member);                                                                \
    } while (0)
    null = (struct gone){MPI_COMM_NULL,       MPI_GROUP_NULL,   MPI_DATATYPE_NULL,
                         MPI_OP_NULL,         MPI_REQUEST_NULL, MPI_MESSAGE_NULL,
                         MPI_INFO_NULL,       MPI_SESSION_NULL, RZ_GROUP_MONITOR_NULL,
                         MPI_ERRHANDLER_NULL, MPI_WIN_NULL,     MPI_FILE_NULL};
    MPI_Comm_dup(MPI_COMM_SELF, &gone.comm);
    MPI_Group_incl(good.other_group, 1, good.zeros, &gone.group);
    MPI_Type_contiguous(5, MPI_INT, &gone.datatype);
    MPI_Op_create(reduce_nothing, 1, &gone.op);
    MPI_Send_init(good.buffer, 1, MPI_INT, 0, 7, good.comm, &gone.request);
    MPI_Info_create(&gone.info);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &gone.session);
    RZ_Group_monitor_start(good.comm, MPI_INFO_NULL, NULL, NULL, &gone.monitor);
    MPI_Comm_create_errhandler(note_comm_error, &gone.errhandler);
    MPI_Win_create_dynamic(MPI_INFO_NULL, good.comm, &gone.win);
    FAIL(comm, MPI_Comm_free);
    FAIL(group, MPI_Group_free);
    FAIL(datatype, MPI_Type_free);
    FAIL(op, MPI_Op_free);
    FAIL(request, MPI_Request_free);
    FAIL(info, MPI_Info_free);
    FAIL(session, MPI_Session_finalize);
    FAIL(monitor, RZ_Group_monitor_stop);
    FAIL(errhandler, MPI_Errhandler_free);
    FAIL(win, MPI_Win_free);
    MPI_File_open(good.comm, good.file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &gone.file);
    FAIL(file, MPI_File_close);
    gone.message = (MPI_Message)gone.info;
}

static void check_living(void)
{
    int number, flag;
    MPI_Request partner;
    CHECK(MPI_Comm_size(good.comm, &number) == MPI_SUCCESS && number == 1);
    CHECK(MPI_Comm_remote_size(good.inter, &number) == MPI_SUCCESS && number == 1);
    CHECK(MPI_Type_size(good.datatype, &number) == MPI_SUCCESS && number == 8);
    CHECK(MPI_Info_get_nkeys(good.info, &number) == MPI_SUCCESS && number == 1);
    CHECK(MPI_Test(&good.active, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    MPI_Isend(good.buffer, 1, MPI_INT, 0, 8, good.comm, &partner);
    CHECK(MPI_Wait(&good.active, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&partner, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Mrecv(good.buffer, 1, MPI_INT, &good.message, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Wait(&good.partner, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, good.comm, &flag, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(!flag);
}

static void free_objects(void)
{
    CHECK(MPI_File_close(&good.file) == MPI_SUCCESS && access(good.file_name, F_OK) != 0);
    CHECK(RZ_Group_monitor_stop(&good.monitor) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, good.win) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&good.win) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&good.dynamic) == MPI_SUCCESS);
    MPI_Request_free(&good.persistent);
    MPI_Comm *comms[] = {&good.comm, &good.cart, &good.graph, &good.dist_graph, &good.inter};
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
        CHECK(MPI_Comm_free(comms[i]) == MPI_SUCCESS);
    }
    MPI_Group_free(&good.group);
    MPI_Group_free(&good.other_group);
    MPI_Type_free(&good.datatype);
    MPI_Type_free(&good.uncommitted);
    MPI_Op_free(&good.op);
    MPI_Info_free(&good.info);
    CHECK(MPI_Session_finalize(&good.session) == MPI_SUCCESS);
    MPI_Errhandler_free(&good.session_errhandler);
    MPI_Errhandler_free(&good.file_errhandler);
    MPI_Errhandler_free(&good.win_errhandler);
    MPI_Errhandler_free(&good.errhandler);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    make_comms();
    make_objects();
    make_failed();
    make_numbers();
    void (*const chapters[])(void) = {rows_made,     rows_point,  rows_requests, rows_collective,
                                      rows_comm,     rows_group,  rows_type,     rows_info,
                                      rows_topology, rows_errors, rows_session,  rows_tool,
                                      rows_window,   rows_file};
    for (size_t i = 0; i < sizeof(chapters) / sizeof(chapters[0]); i++) {
        chapters[i]();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_living();
    free_objects();
    CHECK(rows > 500);
    CHECK(failed == 0);
    MPI_Finalize();
    return 0;
}
