/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the C functions behind Fortran's procedures share. All of them call functions of the MPI ABI
 * only.
 *
 * A procedure MPI_X of mpif.h and the modules is the function mpi_x_ (the names of gfortran),
 * PMPI_X is pmpi_x_. Arguments come by address; lengths of strings follow all others. ierror may be
 * absent (NULL). Handles are integers, also those of mpi_f08, whose types hold one integer; a
 * status has the layout of C's (MPI 5.0, section 20.4), so neither is copied.
 */
#ifndef RZ_MPIFORT_H
#define RZ_MPIFORT_H

#include <ISO_Fortran_binding.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>
#include <rhizome/section.h>
#include <stdbool.h>
#include <stdlib.h>

/* A default INTEGER, and a default LOGICAL, whose values are 1 and 0. */
typedef int MPI_Fint;

/* Sources are compiled twice: for MPI_X and for PMPI_X. */
#ifdef RZ_MPIFORT_PROFILING
#define RZ_F_OF(symbol) p##symbol
#define RZ_C(name) P##name
#else
#define RZ_F_OF(symbol) symbol
#define RZ_C(name) name
#endif
#define RZ_F_PUBLIC __attribute__((visibility("default")))
#define RZ_F(symbol) RZ_F_PUBLIC RZ_F_OF(symbol)

/* ---- Arguments (mpifort_arguments.c) ---- */

/* Tells the library of Fortran's types (MPI_Abi_set_fortran_info, _booleans), once. */
void rz_mpifort_begin(void);

/* The C value of a choice buffer, status, array of statuses, weights, error codes: the constants of
 * Fortran (MPI_BOTTOM and so on) are variables, known by their addresses. */
void *rz_mpifort_address(void *buffer);
MPI_Status *rz_mpifort_status(MPI_Status *status);
MPI_Status *rz_mpifort_statuses(MPI_Status *statuses);
int *rz_mpifort_weights(int *weights);
int *rz_mpifort_errcodes(int *errcodes);
bool rz_mpifort_is_argv_null(const char *argv);
bool rz_mpifort_is_argvs_null(const char *argvs);

/* A string without the blanks at its end (both: and at its beginning), to be freed; NULL: no
 * memory. */
char *rz_mpifort_string(const char *text, size_t length, bool both);

/* Copies a C string to one of that length, filled up with blanks; what does not fit is cut off. */
void rz_mpifort_pad(char *text, size_t length, const char *c);

/* Items first, first + stride, ... of strings of that length up to a blank one, without blanks at
 * both ends, as a C array to be freed by rz_mpifort_strings_free; NULL: no memory. */
char **rz_mpifort_strings(const char *texts, size_t length, size_t first, size_t stride);

/* Exactly n strings. */
char **rz_mpifort_strings_n(const char *texts, size_t length, size_t n);
void rz_mpifort_strings_free(char **strings);

/* Numbers of array items, counted from 0 in C, become numbers counted from 1: the results of
 * MPI_Waitsome and its like, and the one of MPI_Waitany (c_index -1: the call has set none). */
void rz_mpifort_from_one(MPI_Fint *indices, int n, int error);
void rz_mpifort_set_index(MPI_Fint *index, int c_index);

/* MPI_Buffer_detach and its like: the result of mpi_f08. In mpif.h and mpi the argument is the
 * buffer itself, which stays as it is. */
void rz_mpifort_buffer_addr(void *argument, void *address, int error);

/* Arrays of handles: short ones on the stack. */
enum { RZ_MPIFORT_STACK = 32 };
#define RZ_MPIFORT_ARRAY(type, name, n)                                                            \
    type name##_short[RZ_MPIFORT_STACK] = {0};                                                     \
    type *(name) = (n) <= RZ_MPIFORT_STACK ? name##_short : calloc((n), sizeof(type))
#define RZ_MPIFORT_ARRAY_END(name)                                                                 \
    do {                                                                                           \
        if ((name) != name##_short) {                                                              \
            free(name);                                                                            \
        }                                                                                          \
    } while (0)

/* n as a length: 0 if it is negative, which the C function refuses. */
static inline size_t rz_mpifort_length(int64_t n)
{
    return n > 0 ? (size_t)n : 0;
}

/* The members that a collective operation refers to, and the neighbours of one with a topology; 0
 * if comm is wrong. */
enum rz_mpifort_side { RZ_MPIFORT_SOURCES, RZ_MPIFORT_DESTINATIONS };
int rz_mpifort_peers(MPI_Comm comm);
int rz_mpifort_members(MPI_Comm comm); /* of the local group */
int rz_mpifort_rank(MPI_Comm comm);
int rz_mpifort_degree(MPI_Comm comm, enum rz_mpifort_side side);

/* Whether this process has the root's buffer in a rooted collective operation; whether it has that
 * of the others, as the root of an intra-communicator does, too. */
bool rz_mpifort_is_root(MPI_Comm comm, MPI_Fint root);
bool rz_mpifort_is_leaf(MPI_Comm comm, MPI_Fint root);

/* Reports an error to the handler of MPI_COMM_SELF, and returns it. */
int rz_mpifort_report(int error);

/* Reports to the error handler that there is no memory. */
int rz_mpifort_no_memory(void);

static inline void rz_mpifort_return(MPI_Fint *ierror, int error)
{
    if (ierror) {
        *ierror = error;
    }
}

/* ---- Sections of arrays (mpifort_sections.c) ---- */

/* Whether elements of the buffer are not one behind the other, as those of a(1,:). */
bool rz_mpifort_has_gaps(const CFI_cdesc_t *buffer);

/* Reports such a buffer to the error handler: an error of the class MPI_ERR_BUFFER. */
int rz_mpifort_gaps(void);

/* Whether one item of the datatype lies in the first element of the buffer. */
bool rz_mpifort_is_within(const CFI_cdesc_t *buffer, MPI_Fint datatype);

/*
 * If the buffer has gaps, *datatype becomes one that describes `count` of the *datatype given, and
 * *made is set: the call then moves one of it, and rz_mpifort_section_end frees it. Errors have
 * been reported: MPI_ERR_TYPE for an item that lies across elements; MPI_ERR_COUNT for more than
 * the section has.
 */
int rz_mpifort_section(const CFI_cdesc_t *buffer, MPI_Count count, MPI_Fint *datatype, bool *made);
void rz_mpifort_section_end(bool made, MPI_Fint datatype);

/* An array of counts or displacements: default integers or wide ones; NULL both: none. */
struct rz_mpifort_numbers {
    const MPI_Fint *narrow;
    const int64_t *wide;
};

/* What a call does with a buffer: n blocks from block `first` on, at their displacements or one
 * behind the other. n 0: MPI ignores the buffer at this process. */
struct rz_mpifort_blocks {
    MPI_Count n, first;
    MPI_Count count; /* of items in each block, without `counts` */
    struct rz_mpifort_numbers counts, displs;
    MPI_Fint type;
    const MPI_Fint *types; /* of each block; displacements are bytes then */
    bool partitions;       /* each block is a partition */
};

/* The bounce buffers of a call that has a request. */
enum { RZ_MPIFORT_BUFFERS = 2 };
struct rz_mpifort_bounces {
    int n, error; /* error has been reported */
    RZ_Bounce bounce[RZ_MPIFORT_BUFFERS];
};

/* The address to be passed to MPI: of a bounce buffer, if the buffer has gaps and no error came
 * before. use: RZ_BOUNCE_READ or RZ_BOUNCE_WRITE. Arguments that the call will refuse get none. */
void *rz_mpifort_bounce(struct rz_mpifort_bounces *bounces, const CFI_cdesc_t *buffer,
                        const struct rz_mpifort_blocks *blocks, int use);

/* The call has ended with this error: its request gets the buffers, or they are freed. Returns the
 * error of both. */
int rz_mpifort_bounces_end(struct rz_mpifort_bounces *bounces, const MPI_Fint *request, int error);

/* ---- Attributes (mpifort_attributes.c) ---- */

/* What the C library keeps for a number of Fortran: the address of an MPI_Aint (is_integer: of an
 * MPI_Fint) with that value, which stays until the process ends. NULL: no memory. */
void *rz_mpifort_attribute_of(MPI_Aint value, bool is_integer);

/* What Fortran sees of an attribute: the number that Fortran has set, or the address that C has. */
MPI_Aint rz_mpifort_attribute_value(void *attribute);

/* ---- Functions of the user (mpifort_callbacks.c; of attributes mpifort_attributes.c) ---- */

/*
 * C's functions for operations and error handlers have no argument that says which function of the
 * user is meant. So there are SLOTS C functions of each kind; each stands for one function of the
 * user for ever. NULL: all are in use.
 */
typedef void rz_mpifort_op(void *in, void *inout, MPI_Fint *n, MPI_Fint *datatype);
typedef void rz_mpifort_op_c(void *in, void *inout, MPI_Count *n, MPI_Fint *datatype);
typedef void rz_mpifort_errhandler(MPI_Fint *handle, MPI_Fint *error);

MPI_User_function *rz_mpifort_op_slot(rz_mpifort_op *function);
MPI_User_function_c *rz_mpifort_op_c_slot(rz_mpifort_op_c *function);
MPI_Comm_errhandler_function *rz_mpifort_comm_slot(rz_mpifort_errhandler *function);
MPI_File_errhandler_function *rz_mpifort_file_slot(rz_mpifort_errhandler *function);
MPI_Session_errhandler_function *rz_mpifort_session_slot(rz_mpifort_errhandler *function);
MPI_Win_errhandler_function *rz_mpifort_win_slot(rz_mpifort_errhandler *function);

/* Attributes: one pair of functions and their extra_state for each key; it stays until the process
 * ends, for attributes may outlive their key. Functions of MPI_Keyval_create (old) take default
 * integers. */
typedef void rz_mpifort_function(void);
struct rz_mpifort_key {
    rz_mpifort_function *copy, *delete;
    MPI_Aint extra;
    bool old;
    struct rz_mpifort_key *next;
};
struct rz_mpifort_key *rz_mpifort_key_new(rz_mpifort_function *copy, rz_mpifort_function *delete,
                                          MPI_Aint extra, bool old);
int rz_mpifort_comm_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag);
int rz_mpifort_comm_delete(MPI_Comm comm, int keyval, void *value, void *extra);
int rz_mpifort_type_copy(MPI_Datatype type, int keyval, void *extra, void *in, void *out,
                         int *flag);
int rz_mpifort_type_delete(MPI_Datatype type, int keyval, void *value, void *extra);
int rz_mpifort_win_copy(MPI_Win win, int keyval, void *extra, void *in, void *out, int *flag);
int rz_mpifort_win_delete(MPI_Win win, int keyval, void *value, void *extra);

/* Generalised requests: their functions get the variable of the user itself. */
struct rz_mpifort_grequest {
    void (*query)(MPI_Aint *extra, MPI_Status *status, MPI_Fint *error);
    void (*free)(MPI_Aint *extra, MPI_Fint *error);
    void (*cancel)(MPI_Aint *extra, MPI_Fint *complete, MPI_Fint *error);
    MPI_Aint *extra; /* of the user, who may change it */
};
int rz_mpifort_query(void *extra, MPI_Status *status);
int rz_mpifort_free(void *extra);
int rz_mpifort_cancel(void *extra, int complete);

/* Data representations: their functions, too. */
typedef void rz_mpifort_extent(MPI_Fint *type, MPI_Aint *extent, MPI_Aint *extra, MPI_Fint *error);
struct rz_mpifort_datarep {
    rz_mpifort_function *read, *write; /* NULL: MPI_CONVERSION_FN_NULL */
    rz_mpifort_extent *extent;
    MPI_Aint *extra; /* of the user, who may change it */
};
int rz_mpifort_extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra);
int rz_mpifort_read(void *user, MPI_Datatype type, int count, void *file, MPI_Offset at,
                    void *extra);
int rz_mpifort_write(void *user, MPI_Datatype type, int count, void *file, MPI_Offset at,
                     void *extra);
int rz_mpifort_read_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset at,
                      void *extra);
int rz_mpifort_write_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset at,
                       void *extra);
bool rz_mpifort_is_no_conversion(rz_mpifort_function *function);

/* Group monitors: a function of the user and its extra_state; it stays until the process ends, as a
 * monitor that is started again may call it still. NULL: no memory. */
typedef void rz_mpifort_group_test(MPI_Aint *extra, MPI_Fint *error);
typedef void rz_mpifort_group_change(MPI_Fint *rank, MPI_Fint *why, MPI_Aint *extra);
struct rz_mpifort_watch {
    rz_mpifort_function *function;
    MPI_Aint extra;
    struct rz_mpifort_watch *next;
};
struct rz_mpifort_watch *rz_mpifort_watch_of(rz_mpifort_function *function, MPI_Aint extra);
bool rz_mpifort_is_no_watch(rz_mpifort_function *function);
int rz_mpifort_run_test(void *extra);
void rz_mpifort_run_change(int rank, int why, void *extra);

/* Restart points. */
typedef void rz_mpifort_point(MPI_Fint *state, MPI_Fint *error);
typedef void rz_mpifort_point_failed(MPI_Fint *state, MPI_Fint *n, MPI_Fint *failed,
                                     MPI_Fint *error);
typedef void rz_mpifort_cleanup(MPI_Fint *state);
extern rz_mpifort_point *rz_mpifort_the_point;
extern rz_mpifort_point_failed *rz_mpifort_the_point_failed;
int rz_mpifort_run_point(int argc, char **argv, MPIX_Reinit_state_t state);
int rz_mpifort_run_point_failed(int argc, char **argv, MPIX_Reinit_state_t state, int num_failed,
                                int *failed);
void rz_mpifort_run_cleanup(MPIX_Reinit_state_t state, void *arg);

#endif
