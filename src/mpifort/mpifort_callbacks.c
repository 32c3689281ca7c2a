/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the user that the library calls: from C's arguments to Fortran's. */
#include <pthread.h>

#include "mpifort/mpifort.h"

/* ---- Slots ---- */

/* X(00) to X(77): 64 slots; with a 0 before it the number is an octal constant. */
#define EIGHT(X, i) X(i##0) X(i##1) X(i##2) X(i##3) X(i##4) X(i##5) X(i##6) X(i##7)
#define ALL(X)                                                                                     \
    EIGHT(X, 0)                                                                                    \
    EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
enum { SLOTS = 64 };

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

/* The slot of that function, a free one if it has none yet; SLOTS: there is none. */
static int slot_of(rz_mpifort_function **slots, rz_mpifort_function *function)
{
    int i = 0;
    pthread_mutex_lock(&slots_lock);
    while (i < SLOTS && slots[i] && slots[i] != function) {
        i++;
    }
    if (i < SLOTS) {
        slots[i] = function;
    }
    pthread_mutex_unlock(&slots_lock);
    return i;
}

/* For one kind: the functions of the user, the C functions that call them, and the look-up. */
#define POOL(kind, type, c_type)                                                                   \
    static c_type *const kind##_functions[] = {ALL(kind##_NAME)};                                  \
    c_type *rz_mpifort_##kind##_slot(type *function)                                               \
    {                                                                                              \
        int i = slot_of(kind##_slots, (rz_mpifort_function *)function);                            \
        return i < SLOTS ? kind##_functions[i] : NULL;                                             \
    }

static rz_mpifort_function *op_slots[SLOTS], *op_c_slots[SLOTS];

#define OP(i)                                                                                      \
    static void op_##i(void *in, void *inout, int *n, MPI_Datatype *type)                          \
    {                                                                                              \
        MPI_Fint f_type = PMPI_Type_toint(*type);                                                  \
        ((rz_mpifort_op *)op_slots[0##i])(in, inout, n, &f_type);                                  \
    }                                                                                              \
    static void op_c_##i(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)                  \
    {                                                                                              \
        MPI_Fint f_type = PMPI_Type_toint(*type);                                                  \
        ((rz_mpifort_op_c *)op_c_slots[0##i])(in, inout, n, &f_type);                              \
    }
#define op_NAME(i) op_##i,
#define op_c_NAME(i) op_c_##i,
ALL(OP)
POOL(op, rz_mpifort_op, MPI_User_function)
POOL(op_c, rz_mpifort_op_c, MPI_User_function_c)

/* Error handlers of a kind of objects. */
#define HANDLER(kind, Kind, i)                                                                     \
    static void kind##_##i(MPI_##Kind *object, int *error, ...)                                    \
    {                                                                                              \
        MPI_Fint handle = PMPI_##Kind##_toint(*object);                                            \
        ((rz_mpifort_errhandler *)kind##_slots[0##i])(&handle, error);                             \
    }

static rz_mpifort_function *comm_slots[SLOTS], *file_slots[SLOTS], *session_slots[SLOTS],
    *win_slots[SLOTS];
#define HANDLERS(i)                                                                                \
    HANDLER(comm, Comm, i)                                                                         \
    HANDLER(file, File, i) HANDLER(session, Session, i) HANDLER(win, Win, i)
ALL(HANDLERS)
#define comm_NAME(i) comm_##i,
#define file_NAME(i) file_##i,
#define session_NAME(i) session_##i,
#define win_NAME(i) win_##i,
POOL(comm, rz_mpifort_errhandler, MPI_Comm_errhandler_function)
POOL(file, rz_mpifort_errhandler, MPI_File_errhandler_function)
POOL(session, rz_mpifort_errhandler, MPI_Session_errhandler_function)
POOL(win, rz_mpifort_errhandler, MPI_Win_errhandler_function)

/* ---- Generalised requests ---- */

int rz_mpifort_query(void *extra, MPI_Status *status)
{
    struct rz_mpifort_grequest *request = extra;
    MPI_Fint error = MPI_SUCCESS;
    request->query(request->extra, status, &error);
    return error;
}

int rz_mpifort_free(void *extra)
{
    struct rz_mpifort_grequest *request = extra;
    MPI_Fint error = MPI_SUCCESS;
    request->free(request->extra, &error);
    free(request);
    return error;
}

int rz_mpifort_cancel(void *extra, int complete)
{
    struct rz_mpifort_grequest *request = extra;
    MPI_Fint error = MPI_SUCCESS, f_complete = complete != 0;
    request->cancel(request->extra, &f_complete, &error);
    return error;
}

/* ---- Data representations ---- */

typedef void rz_mpifort_conversion(void *user, MPI_Fint *type, MPI_Fint *count, void *file,
                                   MPI_Offset *at, MPI_Aint *extra, MPI_Fint *error);
typedef void rz_mpifort_conversion_c(void *user, MPI_Fint *type, MPI_Count *count, void *file,
                                     MPI_Offset *at, MPI_Aint *extra, MPI_Fint *error);

RZ_F_PUBLIC void mpi_conversion_fn_null_(void *user, MPI_Fint *type, MPI_Fint *count, void *file,
                                         MPI_Offset *at, MPI_Aint *extra, MPI_Fint *error)
{
    (void)user, (void)type, (void)count, (void)file, (void)at, (void)extra;
    *error = MPI_SUCCESS;
}

RZ_F_PUBLIC void mpi_conversion_fn_null_c_(void *user, MPI_Fint *type, MPI_Count *count, void *file,
                                           MPI_Offset *at, MPI_Aint *extra, MPI_Fint *error)
{
    (void)user, (void)type, (void)count, (void)file, (void)at, (void)extra;
    *error = MPI_SUCCESS;
}

bool rz_mpifort_is_no_conversion(rz_mpifort_function *function)
{
    return function == (rz_mpifort_function *)mpi_conversion_fn_null_ ||
           function == (rz_mpifort_function *)mpi_conversion_fn_null_c_;
}

int rz_mpifort_extent_of(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
    struct rz_mpifort_datarep *datarep = extra;
    MPI_Fint error = MPI_SUCCESS, f_type = PMPI_Type_toint(type);
    datarep->extent(&f_type, extent, datarep->extra, &error);
    return error;
}

#define CONVERSION(name, which, number, type)                                                      \
    int rz_mpifort_##name(void *user, MPI_Datatype datatype, number count, void *file,             \
                          MPI_Offset at, void *extra)                                              \
    {                                                                                              \
        struct rz_mpifort_datarep *datarep = extra;                                                \
        MPI_Fint error = MPI_SUCCESS, f_type = PMPI_Type_toint(datatype);                          \
        ((type *)datarep->which)(user, &f_type, &count, file, &at, datarep->extra, &error);        \
        return error;                                                                              \
    }
CONVERSION(read, read, int, rz_mpifort_conversion)
CONVERSION(write, write, int, rz_mpifort_conversion)
CONVERSION(read_c, read, MPI_Count, rz_mpifort_conversion_c)
CONVERSION(write_c, write, MPI_Count, rz_mpifort_conversion_c)

/* ---- Group monitors ---- */

static struct rz_mpifort_watch *watches;
static pthread_mutex_t watches_lock = PTHREAD_MUTEX_INITIALIZER;

/* The same function with the same extra_state again takes no more memory. */
struct rz_mpifort_watch *rz_mpifort_watch_of(rz_mpifort_function *function, MPI_Aint extra)
{
    pthread_mutex_lock(&watches_lock);
    struct rz_mpifort_watch *watch = watches;
    while (watch && (watch->function != function || watch->extra != extra)) {
        watch = watch->next;
    }
    if (!watch && (watch = malloc(sizeof(*watch)))) {
        *watch = (struct rz_mpifort_watch){function, extra, watches};
        watches = watch;
    }
    pthread_mutex_unlock(&watches_lock);
    return watch;
}

RZ_F_PUBLIC void rz_group_test_null_(MPI_Aint *extra, MPI_Fint *error)
{
    (void)extra;
    *error = MPI_SUCCESS;
}

RZ_F_PUBLIC void rz_group_change_null_(MPI_Fint *rank, MPI_Fint *why, MPI_Aint *extra)
{
    (void)rank, (void)why, (void)extra;
}

bool rz_mpifort_is_no_watch(rz_mpifort_function *function)
{
    return function == (rz_mpifort_function *)rz_group_test_null_ ||
           function == (rz_mpifort_function *)rz_group_change_null_;
}

int rz_mpifort_run_test(void *extra)
{
    const struct rz_mpifort_watch *watch = extra;
    MPI_Fint error = MPI_SUCCESS;
    MPI_Aint f_extra = watch->extra;
    ((rz_mpifort_group_test *)watch->function)(&f_extra, &error);
    return error;
}

void rz_mpifort_run_change(int rank, int why, void *extra)
{
    const struct rz_mpifort_watch *watch = extra;
    MPI_Aint f_extra = watch->extra;
    ((rz_mpifort_group_change *)watch->function)(&rank, &why, &f_extra);
}

/* ---- Restart points ---- */

rz_mpifort_point *rz_mpifort_the_point;
rz_mpifort_point_failed *rz_mpifort_the_point_failed;

int rz_mpifort_run_point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    (void)argc, (void)argv;
    MPI_Fint f_state = (MPI_Fint)state, error = MPI_SUCCESS;
    rz_mpifort_the_point(&f_state, &error);
    return error;
}

int rz_mpifort_run_point_failed(int argc, char **argv, MPIX_Reinit_state_t state, int num_failed,
                                int *failed)
{
    (void)argc, (void)argv;
    MPI_Fint f_state = (MPI_Fint)state, error = MPI_SUCCESS;
    rz_mpifort_the_point_failed(&f_state, &num_failed, failed, &error);
    return error;
}

void rz_mpifort_run_cleanup(MPIX_Reinit_state_t state, void *arg)
{
    MPI_Fint f_state = (MPI_Fint)state;
    ((rz_mpifort_cleanup *)arg)(&f_state);
}
