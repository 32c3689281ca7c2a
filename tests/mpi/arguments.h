/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of the tests of argument errors: a row is one wrong call, the error class it must
 * return, and the argument that the text of the error must name.
 *
 * Of every row is checked: the class; that the error handler of the object concerned ran once, with
 * that class; that MPI_Error_string names call and argument; that no result was written.
 */
#ifndef ARGUMENTS_H
#define ARGUMENTS_H

#include <mpi-ext.h>
#include <mpi.h>
#include <stdbool.h>

#define ARGUMENTS_N 8

/* Good objects and numbers; what rows break is one of them. */
struct good {
    MPI_Comm comm, cart, graph, dist_graph, inter; /* of this process alone, but inter */
    MPI_Group group, other_group;                  /* of MPI_COMM_SELF; of all */
    MPI_Datatype datatype, uncommitted;
    MPI_Op op;
    MPI_Request persistent, active, partner; /* inactive; a receive, and what it waits for */
    MPI_Message message;
    MPI_Info info;
    MPI_Session session;
    RZ_Group_monitor monitor;
    MPI_Win win, dynamic; /* of this process alone, between fences; of all */
    MPI_File file;
    char file_name[64];
    MPI_Errhandler errhandler, session_errhandler, file_errhandler, win_errhandler;
    int comm_keyval, type_keyval, win_keyval;
    int ones[ARGUMENTS_N], zeros[ARGUMENTS_N], negative[ARGUMENTS_N];
    MPI_Count wide_ones[ARGUMENTS_N], wide_negative[ARGUMENTS_N];
    MPI_Aint wide_zeros[ARGUMENTS_N];
    MPI_Datatype types[ARGUMENTS_N], bad_types[ARGUMENTS_N];
    MPI_Comm comms[ARGUMENTS_N], bad_comms[ARGUMENTS_N];
    MPI_Request requests[2], null_requests[2], bad_requests[2];
    int ranges[1][3];
    MPI_Status status, statuses[ARGUMENTS_N];
    double buffer[64];
};
extern struct good good;

/* Handles of objects that were freed, and addresses of null handles. */
struct gone {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Request request;
    MPI_Message message;
    MPI_Info info;
    MPI_Session session;
    RZ_Group_monitor monitor;
    MPI_Errhandler errhandler;
    MPI_Win win;
    MPI_File file;
};
extern struct gone gone, null;

/* Where rows put results: it must be as it was afterwards. */
struct results {
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Request request;
    MPI_Message message;
    MPI_Info info;
    MPI_Session session;
    RZ_Group_monitor monitor;
    MPI_Errhandler errhandler;
    MPI_Win win;
    MPI_File file;
    int number, number2, number3, number4, flag, length;
    int numbers[ARGUMENTS_N], numbers2[ARGUMENTS_N], numbers3[ARGUMENTS_N];
    MPI_Count count, count2, count3, count4;
    MPI_Aint aints[ARGUMENTS_N], aint, aint2;
    MPI_Datatype types[ARGUMENTS_N];
    MPI_Comm comms[ARGUMENTS_N];
    double buffer[64];
    char text[MPI_MAX_ERROR_STRING];
    void *pointer;
    RZ_Group_monitor_state state;
    MPI_Status status, statuses[ARGUMENTS_N];
};
extern struct results out;

/* The functions of users that rows hand over. */
void note_comm_error(MPI_Comm *comm, int *code, ...);
void note_session_error(MPI_Session *session, int *code, ...);
void note_file_error(MPI_File *file, int *code, ...);
void note_win_error(MPI_Win *win, int *code, ...);
void reduce_nothing(void *in, void *inout, int *count, MPI_Datatype *datatype);
void reduce_nothing_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *datatype);
int extent_nothing(MPI_Datatype datatype, MPI_Aint *extent, void *extra);
int query_nothing(void *extra, MPI_Status *status);
int free_nothing(void *extra);
int cancel_nothing(void *extra, int complete);

void row_begin(const char *file, int line, const char *function, const char *argument);
void row_end(int expected, int handlers, int result);

/* argument: "" where the error is of none. */
#define ROW(error_class, function, argument, ...)                                                  \
    (row_begin(__FILE__, __LINE__, function, argument), row_end(error_class, 1, __VA_ARGS__))

/* For calls that return errors and call no handler, without an error text: MPI_T. */
#define ROW_QUIET(error_class, function, ...)                                                      \
    (row_begin(__FILE__, __LINE__, function, NULL), row_end(error_class, 0, __VA_ARGS__))

/* The chapters. */
void rows_made(void); /* made by arguments_rows.py: every argument broken by its kind */
void rows_point(void);
void rows_requests(void);
void rows_collective(void);
void rows_comm(void);
void rows_group(void);
void rows_type(void);
void rows_info(void);
void rows_topology(void);
void rows_errors(void);
void rows_session(void);
void rows_tool(void);
void rows_window(void);
void rows_file(void);

#endif
