/* SPDX-License-Identifier: BSD-3-Clause */
/* The procedures that no rule makes: tools/abi/abi_fortran.py has "hand" or "function" for them. */
#include <string.h>

#include "mpifort/mpifort.h"

/* ---- Functions ---- */

double RZ_F(mpi_wtime_)(void)
{
    return RZ_C(MPI_Wtime)();
}

double RZ_F(mpi_wtick_)(void)
{
    return RZ_C(MPI_Wtick)();
}

MPI_Aint RZ_F(mpi_aint_add_)(MPI_Aint *base, MPI_Aint *disp)
{
    return RZ_C(MPI_Aint_add)(*base, *disp);
}

MPI_Aint RZ_F(mpi_aint_diff_)(MPI_Aint *addr1, MPI_Aint *addr2)
{
    return RZ_C(MPI_Aint_diff)(*addr1, *addr2);
}

void RZ_F(mpi_pcontrol_)(MPI_Fint *level)
{
    RZ_C(MPI_Pcontrol)(*level);
}

/* ---- Strings and their lengths ---- */

/* valuelen: the characters that are wanted. */
void RZ_F(mpi_info_get_)(MPI_Fint *info, char *key, MPI_Fint *valuelen, char *value, MPI_Fint *flag,
                         MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char c_value[MPI_MAX_INFO_VAL + 1] = "";
    char *c_key = rz_mpifort_string(key, key_len, true);
    int length = *valuelen < MPI_MAX_INFO_VAL ? *valuelen : MPI_MAX_INFO_VAL;
    int error =
        c_key ? RZ_C(MPI_Info_get)(RZ_C(MPI_Info_fromint)(*info), c_key, length, c_value, flag)
              : rz_mpifort_no_memory();
    if (error == MPI_SUCCESS && *flag) {
        *flag = 1;
        rz_mpifort_pad(value, value_len, c_value);
    }
    free(c_key);
    rz_mpifort_return(ierror, error);
}

/* buflen counts no null character in Fortran: 0 asks for the length alone. */
void RZ_F(mpi_info_get_string_)(MPI_Fint *info, char *key, MPI_Fint *buflen, char *value,
                                MPI_Fint *flag, MPI_Fint *ierror, size_t key_len, size_t value_len)
{
    char c_value[MPI_MAX_INFO_VAL + 1] = "";
    char *c_key = rz_mpifort_string(key, key_len, true);
    int length = *buflen <= 0 ? *buflen : (int)sizeof(c_value);
    int error = c_key ? RZ_C(MPI_Info_get_string)(RZ_C(MPI_Info_fromint)(*info), c_key, &length,
                                                  c_value, flag)
                      : rz_mpifort_no_memory();
    if (error == MPI_SUCCESS && *flag) {
        if (*buflen > 0) {
            c_value[*buflen < MPI_MAX_INFO_VAL ? *buflen : MPI_MAX_INFO_VAL] = '\0';
            rz_mpifort_pad(value, value_len, c_value);
        }
        *buflen = length - 1;
    }
    if (error == MPI_SUCCESS) {
        *flag = *flag != 0;
    }
    free(c_key);
    rz_mpifort_return(ierror, error);
}

void RZ_F(mpi_session_get_nth_pset_)(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n,
                                     MPI_Fint *pset_len, char *pset_name, MPI_Fint *ierror,
                                     size_t pset_name_len)
{
    char c_name[MPI_MAX_PSET_NAME_LEN + 1] = "";
    int length = *pset_len <= 0 ? *pset_len : (int)sizeof(c_name);
    int error = RZ_C(MPI_Session_get_nth_pset)(RZ_C(MPI_Session_fromint)(*session),
                                               RZ_C(MPI_Info_fromint)(*info), *n, &length, c_name);
    if (error == MPI_SUCCESS) {
        if (*pset_len > 0) {
            c_name[*pset_len < MPI_MAX_PSET_NAME_LEN ? *pset_len : MPI_MAX_PSET_NAME_LEN] = '\0';
            rz_mpifort_pad(pset_name, pset_name_len, c_name);
        }
        *pset_len = length - 1;
    }
    rz_mpifort_return(ierror, error);
}

/* The arguments, as far as Fortran can know them. */
void RZ_F(mpi_info_create_env_)(MPI_Fint *info, MPI_Fint *ierror)
{
    MPI_Info c_info = MPI_INFO_NULL;
    int error = RZ_C(MPI_Info_create_env)(0, NULL, &c_info);
    if (error == MPI_SUCCESS) {
        *info = RZ_C(MPI_Info_toint)(c_info);
    }
    rz_mpifort_return(ierror, error);
}

/* ---- MPI_Comm_spawn ---- */

void RZ_F(mpi_comm_spawn_)(char *command, char *argv, MPI_Fint *maxprocs, MPI_Fint *info,
                           MPI_Fint *root, MPI_Fint *comm, MPI_Fint *intercomm, MPI_Fint *errcodes,
                           MPI_Fint *ierror, size_t command_len, size_t argv_len)
{
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    bool none = rz_mpifort_is_argv_null(argv);
    int rank = -1;
    (void)PMPI_Comm_rank(PMPI_Comm_fromint(*comm), &rank);
    /* Only the root looks at the command and its arguments. */
    none = none || rank != *root;
    char *c_command = rz_mpifort_string(command, rank == *root ? command_len : 0, true);
    char **c_argv = none ? NULL : rz_mpifort_strings(argv, argv_len, 0, 1);
    int error = !c_command || (!none && !c_argv)
                    ? rz_mpifort_no_memory()
                    : RZ_C(MPI_Comm_spawn)(c_command, none ? MPI_ARGV_NULL : c_argv, *maxprocs,
                                           RZ_C(MPI_Info_fromint)(*info), *root,
                                           RZ_C(MPI_Comm_fromint)(*comm), &c_intercomm,
                                           rz_mpifort_errcodes(errcodes));
    if (error == MPI_SUCCESS) {
        *intercomm = RZ_C(MPI_Comm_toint)(c_intercomm);
    }
    free(c_command);
    rz_mpifort_strings_free(c_argv);
    rz_mpifort_return(ierror, error);
}

/* What MPI_Comm_spawn_multiple starts, in C's form. */
struct commands {
    int n;
    char **command;
    char ***argv; /* NULL: MPI_ARGVS_NULL */
    MPI_Info *info;
};

static void commands_free(struct commands *commands)
{
    for (int i = 0; commands->argv && i < commands->n; i++) {
        rz_mpifort_strings_free(commands->argv[i]);
    }
    free(commands->argv);
    free(commands->info);
    rz_mpifort_strings_free(commands->command);
}

/* False: no memory. */
static bool commands_make(struct commands *commands, const char *command, size_t command_len,
                          const char *argv, size_t argv_len, const MPI_Fint *info)
{
    size_t n = (size_t)commands->n;
    commands->command = rz_mpifort_strings_n(command, command_len, n);
    commands->info = calloc(n + 1, sizeof(MPI_Info));
    bool none = rz_mpifort_is_argvs_null(argv);
    commands->argv = none ? NULL : calloc(n + 1, sizeof(char **));
    bool good = commands->command && commands->info && (none || commands->argv);
    for (size_t i = 0; good && i < n; i++) {
        commands->info[i] = PMPI_Info_fromint(info[i]);
        if (!none) {
            commands->argv[i] = rz_mpifort_strings(argv, argv_len, i, n);
            good = commands->argv[i] != NULL;
        }
    }
    return good;
}

void RZ_F(mpi_comm_spawn_multiple_)(MPI_Fint *count, char *command, char *argv, MPI_Fint *maxprocs,
                                    MPI_Fint *info, MPI_Fint *root, MPI_Fint *comm,
                                    MPI_Fint *intercomm, MPI_Fint *errcodes, MPI_Fint *ierror,
                                    size_t command_len, size_t argv_len)
{
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    int rank = -1;
    (void)PMPI_Comm_rank(PMPI_Comm_fromint(*comm), &rank);
    struct commands commands = {.n = rank == *root && *count > 0 ? *count : 0};
    bool good = commands_make(&commands, command, command_len, argv, argv_len, info);
    int error = good ? RZ_C(MPI_Comm_spawn_multiple)(
                           *count, commands.command, commands.argv ? commands.argv : MPI_ARGVS_NULL,
                           maxprocs, commands.info, *root, RZ_C(MPI_Comm_fromint)(*comm),
                           &c_intercomm, rz_mpifort_errcodes(errcodes))
                     : rz_mpifort_no_memory();
    if (error == MPI_SUCCESS) {
        *intercomm = RZ_C(MPI_Comm_toint)(c_intercomm);
    }
    commands_free(&commands);
    rz_mpifort_return(ierror, error);
}

/* ---- Operations, error handlers ---- */

#define OP_CREATE(symbol, name, type, slot)                                                        \
    void RZ_F(symbol)(type * function, MPI_Fint * commute, MPI_Fint * op, MPI_Fint * ierror)       \
    {                                                                                              \
        MPI_Op c_op = MPI_OP_NULL;                                                                 \
        __typeof__(slot(function)) c_function = slot(function);                                    \
        int error =                                                                                \
            c_function ? RZ_C(name)(c_function, *commute != 0, &c_op) : rz_mpifort_no_memory();    \
        if (error == MPI_SUCCESS) {                                                                \
            *op = RZ_C(MPI_Op_toint)(c_op);                                                        \
        }                                                                                          \
        rz_mpifort_return(ierror, error);                                                          \
    }
OP_CREATE(mpi_op_create_, MPI_Op_create, rz_mpifort_op, rz_mpifort_op_slot)
OP_CREATE(mpi_op_create_c_, MPI_Op_create_c, rz_mpifort_op_c, rz_mpifort_op_c_slot)

#define ERRHANDLER_CREATE(kind, Kind)                                                              \
    void RZ_F(mpi_##kind##_create_errhandler_)(rz_mpifort_errhandler * function,                   \
                                               MPI_Fint * errhandler, MPI_Fint * ierror)           \
    {                                                                                              \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL;                                                 \
        MPI_##Kind##_errhandler_function *c_function = rz_mpifort_##kind##_slot(function);         \
        int error = c_function ? RZ_C(MPI_##Kind##_create_errhandler)(c_function, &made)           \
                               : rz_mpifort_no_memory();                                           \
        if (error == MPI_SUCCESS) {                                                                \
            *errhandler = RZ_C(MPI_Errhandler_toint)(made);                                        \
        }                                                                                          \
        rz_mpifort_return(ierror, error);                                                          \
    }
ERRHANDLER_CREATE(comm, Comm)
ERRHANDLER_CREATE(file, File)
ERRHANDLER_CREATE(session, Session)
ERRHANDLER_CREATE(win, Win)

/* ---- Attributes ---- */

#define KEYVAL_CREATE(kind, Kind)                                                                  \
    void RZ_F(mpi_##kind##_create_keyval_)(rz_mpifort_function * copy,                             \
                                           rz_mpifort_function * delete, MPI_Fint * keyval,        \
                                           MPI_Aint * extra, MPI_Fint * ierror)                    \
    {                                                                                              \
        struct rz_mpifort_key *key = rz_mpifort_key_new(copy, delete, *extra, false);              \
        int error = key ? RZ_C(MPI_##Kind##_create_keyval)(                                        \
                              rz_mpifort_##kind##_copy, rz_mpifort_##kind##_delete, keyval, key)   \
                        : rz_mpifort_no_memory();                                                  \
        rz_mpifort_return(ierror, error);                                                          \
    }
KEYVAL_CREATE(comm, Comm)
KEYVAL_CREATE(type, Type)
KEYVAL_CREATE(win, Win)

void RZ_F(mpi_keyval_create_)(rz_mpifort_function *copy, rz_mpifort_function *delete,
                              MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *ierror)
{
    struct rz_mpifort_key *key = rz_mpifort_key_new(copy, delete, *extra, true);
    int error = key ? RZ_C(MPI_Comm_create_keyval)(rz_mpifort_comm_copy, rz_mpifort_comm_delete,
                                                   keyval, key)
                    : rz_mpifort_no_memory();
    rz_mpifort_return(ierror, error);
}

/* An attribute of MPI itself is the address of an int in C, and its value in Fortran; but for
 * MPI_WIN_BASE, the address of the memory in both. */
static MPI_Aint value_of(int keyval, void *value)
{
    bool of_comm = (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) || keyval == MPIX_FT;
    bool of_win =
        keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL;
    if (keyval == MPI_WIN_SIZE) {
        return *(MPI_Aint *)value;
    }
    return of_comm || of_win ? *(int *)value : rz_mpifort_attribute_value(value);
}

#define ATTRIBUTES(kind, Kind, Handle, type)                                                       \
    void RZ_F(mpi_##kind##_set_attr_)(MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value,      \
                                      MPI_Fint * ierror)                                           \
    {                                                                                              \
        void *attribute = rz_mpifort_attribute_of(*value, false);                                  \
        int error = attribute ? RZ_C(MPI_##Kind##_set_attr)(RZ_C(MPI_##Handle##_fromint)(*object), \
                                                            *keyval, attribute)                    \
                              : rz_mpifort_no_memory();                                            \
        rz_mpifort_return(ierror, error);                                                          \
    }                                                                                              \
    void RZ_F(mpi_##kind##_get_attr_)(MPI_Fint * object, MPI_Fint * keyval, MPI_Aint * value,      \
                                      MPI_Fint * flag, MPI_Fint * ierror)                          \
    {                                                                                              \
        void *found = NULL;                                                                        \
        int error = RZ_C(MPI_##Kind##_get_attr)(RZ_C(MPI_##Handle##_fromint)(*object), *keyval,    \
                                                &found, flag);                                     \
        if (error == MPI_SUCCESS && *flag) {                                                       \
            *flag = 1;                                                                             \
            *value = value_of(*keyval, found);                                                     \
        }                                                                                          \
        rz_mpifort_return(ierror, error);                                                          \
    }
ATTRIBUTES(comm, Comm, Comm, MPI_Comm)
ATTRIBUTES(type, Type, Type, MPI_Datatype)
ATTRIBUTES(win, Win, Win, MPI_Win)

void RZ_F(mpi_attr_put_)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror)
{
    void *attribute = rz_mpifort_attribute_of(*value, true);
    int error = attribute
                    ? RZ_C(MPI_Comm_set_attr)(RZ_C(MPI_Comm_fromint)(*comm), *keyval, attribute)
                    : rz_mpifort_no_memory();
    rz_mpifort_return(ierror, error);
}

void RZ_F(mpi_attr_get_)(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag,
                         MPI_Fint *ierror)
{
    void *found = NULL;
    int error = RZ_C(MPI_Comm_get_attr)(RZ_C(MPI_Comm_fromint)(*comm), *keyval, &found, flag);
    if (error == MPI_SUCCESS && *flag) {
        *flag = 1;
        *value = (MPI_Fint)value_of(*keyval, found);
    }
    rz_mpifort_return(ierror, error);
}

/* ---- Generalised requests, data representations ---- */

void RZ_F(mpi_grequest_start_)(void (*query)(MPI_Aint *, MPI_Status *, MPI_Fint *),
                               void (*free_fn)(MPI_Aint *, MPI_Fint *),
                               void (*cancel)(MPI_Aint *, MPI_Fint *, MPI_Fint *), MPI_Aint *extra,
                               MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request c_request = MPI_REQUEST_NULL;
    struct rz_mpifort_grequest *state = malloc(sizeof(*state));
    if (state) {
        *state = (struct rz_mpifort_grequest){query, free_fn, cancel, extra};
    }
    int error = state ? RZ_C(MPI_Grequest_start)(rz_mpifort_query, rz_mpifort_free,
                                                 rz_mpifort_cancel, state, &c_request)
                      : rz_mpifort_no_memory();
    if (error == MPI_SUCCESS) {
        *request = RZ_C(MPI_Request_toint)(c_request);
    } else {
        free(state);
    }
    rz_mpifort_return(ierror, error);
}

static struct rz_mpifort_datarep *datarep_new(rz_mpifort_function *read, rz_mpifort_function *write,
                                              rz_mpifort_extent *extent, MPI_Aint *extra)
{
    struct rz_mpifort_datarep *made = malloc(sizeof(*made)); /* of the library for ever */
    if (made) {
        *made = (struct rz_mpifort_datarep){rz_mpifort_is_no_conversion(read) ? NULL : read,
                                            rz_mpifort_is_no_conversion(write) ? NULL : write,
                                            extent, extra};
    }
    return made;
}

#define REGISTER_DATAREP(symbol, name, by)                                                         \
    void RZ_F(symbol)(char *datarep, rz_mpifort_function *read, rz_mpifort_function *write,        \
                      rz_mpifort_extent *extent, MPI_Aint *extra, MPI_Fint *ierror,                \
                      size_t datarep_len)                                                          \
    {                                                                                              \
        char *c_datarep = rz_mpifort_string(datarep, datarep_len, true);                           \
        struct rz_mpifort_datarep *made = datarep_new(read, write, extent, extra);                 \
        int error = c_datarep && made                                                              \
                        ? RZ_C(name)(c_datarep, made->read ? rz_mpifort_read##by : NULL,           \
                                     made->write ? rz_mpifort_write##by : NULL,                    \
                                     rz_mpifort_extent_of, made)                                   \
                        : rz_mpifort_no_memory();                                                  \
        free(c_datarep);                                                                           \
        if (error != MPI_SUCCESS) {                                                                \
            free(made);                                                                            \
        }                                                                                          \
        rz_mpifort_return(ierror, error);                                                          \
    }
REGISTER_DATAREP(mpi_register_datarep_, MPI_Register_datarep, )
REGISTER_DATAREP(mpi_register_datarep_c_, MPI_Register_datarep_c, _c)

/* ---- Global restart ---- */

static char *no_arguments[] = {NULL};

void RZ_F(mpix_reinit_)(rz_mpifort_point *point, MPI_Fint *ierror)
{
    rz_mpifort_the_point = point;
    rz_mpifort_return(ierror, RZ_C(MPIX_Reinit)(0, no_arguments, rz_mpifort_run_point));
}

void RZ_F(mpix_reinit_async_)(rz_mpifort_point *point, MPI_Fint *ierror)
{
    rz_mpifort_the_point = point;
    rz_mpifort_return(ierror, RZ_C(MPIX_Reinit_async)(0, no_arguments, rz_mpifort_run_point));
}

void RZ_F(rz_reinit_failed_)(rz_mpifort_point_failed *point, MPI_Fint *ierror)
{
    rz_mpifort_the_point_failed = point;
    rz_mpifort_return(ierror, RZ_C(RZ_Reinit_failed)(0, no_arguments, rz_mpifort_run_point_failed));
}

void RZ_F(mpix_reinit_cleanup_push_)(rz_mpifort_cleanup *handler, MPI_Fint *ierror)
{
    int error = RZ_C(MPIX_Reinit_cleanup_push)(rz_mpifort_run_cleanup, (void *)handler);
    rz_mpifort_return(ierror, error);
}

/* ---- Group monitors ---- */

void RZ_F(rz_group_monitor_start_)(MPI_Fint *comm, MPI_Fint *info, rz_mpifort_function *test,
                                   MPI_Aint *extra, MPI_Aint *monitor, MPI_Fint *ierror)
{
    bool none = rz_mpifort_is_no_watch(test);
    struct rz_mpifort_watch *watch = none ? NULL : rz_mpifort_watch_of(test, *extra);
    RZ_Group_monitor c_monitor = (RZ_Group_monitor)*monitor;
    int error = none || watch ? RZ_C(RZ_Group_monitor_start)(
                                    RZ_C(MPI_Comm_fromint)(*comm), RZ_C(MPI_Info_fromint)(*info),
                                    none ? NULL : rz_mpifort_run_test, watch, &c_monitor)
                              : rz_mpifort_no_memory();
    *monitor = (MPI_Aint)c_monitor;
    rz_mpifort_return(ierror, error);
}

void RZ_F(rz_group_monitor_on_change_)(MPI_Aint *monitor, rz_mpifort_function *function,
                                       MPI_Aint *extra, MPI_Fint *ierror)
{
    bool none = rz_mpifort_is_no_watch(function);
    struct rz_mpifort_watch *watch = none ? NULL : rz_mpifort_watch_of(function, *extra);
    int error = none || watch
                    ? RZ_C(RZ_Group_monitor_on_change)((RZ_Group_monitor)*monitor,
                                                       none ? NULL : rz_mpifort_run_change, watch)
                    : rz_mpifort_no_memory();
    rz_mpifort_return(ierror, error);
}
