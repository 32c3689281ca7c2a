/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error classes, codes and strings: those of the standard, and those that the program adds and
 * removes.
 */
#include "mpi/core/error.h"

#include "mpi/impl.h"

#include <stdlib.h>

/* ---- The strings of the standard's classes and of fault tolerance ---- */

static const struct {
    int error_class;
    const char *text;
} rows[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_BUFFER, "invalid buffer pointer"},
    {MPI_ERR_COUNT, "invalid count"},
    {MPI_ERR_TYPE, "invalid datatype"},
    {MPI_ERR_TAG, "invalid tag"},
    {MPI_ERR_COMM, "invalid communicator"},
    {MPI_ERR_RANK, "invalid rank"},
    {MPI_ERR_REQUEST, "invalid request"},
    {MPI_ERR_ROOT, "invalid root"},
    {MPI_ERR_GROUP, "invalid group"},
    {MPI_ERR_OP, "invalid reduction operation"},
    {MPI_ERR_TOPOLOGY, "invalid topology"},
    {MPI_ERR_DIMS, "invalid dimensions"},
    {MPI_ERR_ARG, "invalid argument"},
    {MPI_ERR_UNKNOWN, "unknown error"},
    {MPI_ERR_TRUNCATE, "the message is longer than the receive buffer"},
    {MPI_ERR_OTHER, "an error that has no class of its own"},
    {MPI_ERR_INTERN, "an error inside the MPI library"},
    {MPI_ERR_PENDING, "the request is still pending"},
    {MPI_ERR_IN_STATUS, "the errors are in the statuses"},
    {MPI_ERR_ACCESS, "permission denied"},
    {MPI_ERR_AMODE, "invalid access mode of a file"},
    {MPI_ERR_ASSERT, "invalid assertion of a window"},
    {MPI_ERR_BAD_FILE, "invalid file name"},
    {MPI_ERR_BASE, "invalid base pointer"},
    {MPI_ERR_CONVERSION, "a data conversion function reported an error"},
    {MPI_ERR_DISP, "invalid displacement"},
    {MPI_ERR_DUP_DATAREP, "the data representation is defined already"},
    {MPI_ERR_FILE_EXISTS, "the file exists"},
    {MPI_ERR_FILE_IN_USE, "the file is in use by another process"},
    {MPI_ERR_FILE, "invalid file handle"},
    {MPI_ERR_INFO_KEY, "invalid info key"},
    {MPI_ERR_INFO_NOKEY, "no such info key"},
    {MPI_ERR_INFO_VALUE, "invalid info value"},
    {MPI_ERR_INFO, "invalid info object"},
    {MPI_ERR_IO, "input or output error"},
    {MPI_ERR_KEYVAL, "invalid attribute key"},
    {MPI_ERR_LOCKTYPE, "invalid lock type"},
    {MPI_ERR_NAME, "no such service name"},
    {MPI_ERR_NO_MEM, "out of memory"},
    {MPI_ERR_NOT_SAME, "an argument is not the same at all processes"},
    {MPI_ERR_NO_SPACE, "no space left on the device"},
    {MPI_ERR_NO_SUCH_FILE, "no such file"},
    {MPI_ERR_PORT, "invalid port name"},
    {MPI_ERR_QUOTA, "disk quota exceeded"},
    {MPI_ERR_READ_ONLY, "the file or file system is read-only"},
    {MPI_ERR_RMA_ATTACH, "memory cannot be attached to the window"},
    {MPI_ERR_RMA_CONFLICT, "conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "the target memory is not part of the window"},
    {MPI_ERR_RMA_SHARED, "memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"},
    {MPI_ERR_SERVICE, "invalid service name"},
    {MPI_ERR_SIZE, "invalid size"},
    {MPI_ERR_SPAWN, "processes cannot be spawned"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported data representation"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported operation"},
    {MPI_ERR_WIN, "invalid window"},
    {MPI_ERR_RMA_FLAVOR, "the window is of another flavor"},
    {MPI_ERR_PROC_ABORTED, "a process was aborted"},
    {MPI_ERR_VALUE_TOO_LARGE, "the value is too large for the type of the argument"},
    {MPI_ERR_SESSION, "invalid session"},
    {MPI_ERR_ERRHANDLER, "invalid error handler"},
    {MPI_ERR_ABI, "error of the application binary interface"},
    {MPI_T_ERR_CANNOT_INIT, "the tools interface cannot be initialised"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "the tools interface is not accessible"},
    {MPI_T_ERR_NOT_INITIALIZED, "the tools interface is not initialised"},
    {MPI_T_ERR_NOT_SUPPORTED, "not supported by the tools interface"},
    {MPI_T_ERR_MEMORY, "out of memory in the tools interface"},
    {MPI_T_ERR_INVALID, "invalid use of the tools interface"},
    {MPI_T_ERR_INVALID_INDEX, "invalid index of the tools interface"},
    {MPI_T_ERR_INVALID_ITEM, "invalid item of the tools interface"},
    {MPI_T_ERR_INVALID_SESSION, "invalid session of the tools interface"},
    {MPI_T_ERR_INVALID_HANDLE, "invalid handle of the tools interface"},
    {MPI_T_ERR_INVALID_NAME, "invalid name of the tools interface"},
    {MPI_T_ERR_OUT_OF_HANDLES, "the tools interface is out of handles"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "the tools interface is out of sessions"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "the control variable cannot be set"},
    {MPI_T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "the performance variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "the performance variable cannot be read and reset at once"},
    {MPI_ERR_LASTCODE, "the last code of the standard"},
    {MPI_ERR_PROC_FAILED, "a process that takes part in the operation has failed"},
    {MPI_ERR_PROC_FAILED_PENDING,
     "a process that could have sent the message has failed; the receive is still pending"},
    {MPI_ERR_REVOKED, "the communicator, window or file was revoked"},
};

static const char *standard_text(int code)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].error_class == code) {
            return rows[i].text;
        }
    }
    return NULL;
}

/* ---- The program's codes: numbers from here on ---- */

#define USER_FIRST (MPI_ERR_LASTCODE + 1)

static struct user_code {
    int error_class; /* the class of a code; of a class its own number; 0: removed */
    char text[MPI_MAX_ERROR_STRING];
} * user_codes;
static int n_user_codes;

int rz_error_last_used = USER_FIRST - 1;

static struct user_code *user_code_of(int code)
{
    int i = code - USER_FIRST;
    return i >= 0 && i < n_user_codes && user_codes[i].error_class != 0 ? &user_codes[i] : NULL;
}

static int no_such_code(int code)
{
    return rzm_error(MPI_ERR_ARG, "errorcode is %d, no code of this library or program", code);
}

/* error_class 0: adds a class. */
static int add_code(int error_class, int *code)
{
    struct user_code *larger =
        realloc(user_codes, ((size_t)n_user_codes + 1) * sizeof(*user_codes));
    if (!larger) {
        return MPI_ERR_NO_MEM;
    }
    user_codes = larger;
    *code = USER_FIRST + n_user_codes;
    user_codes[n_user_codes++] =
        (struct user_code){.error_class = error_class != 0 ? error_class : *code};
    rz_error_last_used = *code;
    return MPI_SUCCESS;
}

int rzm_add_error_class(int *errorclass)
{
    return add_code(0, errorclass);
}

int rzm_add_error_code(int errorclass, int *errorcode)
{
    const struct user_code *user = user_code_of(errorclass);
    bool is_class = user ? user->error_class == errorclass : standard_text(errorclass) != NULL;
    if (!is_class || errorclass == MPI_SUCCESS) {
        return rzm_error(MPI_ERR_ARG, "errorclass is %d, no error class", errorclass);
    }
    return add_code(errorclass, errorcode);
}

int rzm_add_error_string(int errorcode, const char *string)
{
    struct user_code *user = user_code_of(errorcode);
    if (!user) {
        return rzm_error(MPI_ERR_ARG, "errorcode is %d, not made by MPI_Add_error_class or _code",
                         errorcode);
    }
    size_t length = strnlen(string, sizeof(user->text) - 1);
    memcpy(user->text, string, length);
    user->text[length] = '\0';
    return MPI_SUCCESS;
}

/* ---- Removing ---- */

/* The code must be in use and added by the program, and its string removed before it (MPI 4.1,
 * section 9.5); is_class: whether it must be a class. */
static int find_removable(int code, bool is_class, struct user_code **user)
{
    *user = user_code_of(code);
    if (!*user || ((*user)->error_class == code) != is_class) {
        return rzm_error(MPI_ERR_ARG, "%s is %d, not made by MPI_Add_error_%s",
                         is_class ? "errorclass" : "errorcode", code, is_class ? "class" : "code");
    }
    if ((*user)->text[0] != '\0') {
        return rzm_error(MPI_ERR_ARG, "%s %d still has a string (MPI_Remove_error_string)",
                         is_class ? "errorclass" : "errorcode", code);
    }
    return MPI_SUCCESS;
}

/* Its number is free again when no larger one is in use. */
static void remove_code(struct user_code *user)
{
    *user = (struct user_code){0};
    while (n_user_codes > 0 && user_codes[n_user_codes - 1].error_class == 0) {
        n_user_codes--;
    }
    rz_error_last_used = USER_FIRST + n_user_codes - 1;
}

int rzm_remove_error_class(int errorclass)
{
    struct user_code *user;
    int error = find_removable(errorclass, true, &user);
    if (error != MPI_SUCCESS) {
        return error;
    }
    for (int i = 0; i < n_user_codes; i++) {
        if (user_codes[i].error_class == errorclass && &user_codes[i] != user) {
            return rzm_error(MPI_ERR_ARG, "errorclass %d still has code %d", errorclass,
                             USER_FIRST + i);
        }
    }
    remove_code(user);
    return MPI_SUCCESS;
}

int rzm_remove_error_code(int errorcode)
{
    struct user_code *user;
    int error = find_removable(errorcode, false, &user);
    if (error == MPI_SUCCESS) {
        remove_code(user);
    }
    return error;
}

int rzm_remove_error_string(int errorcode)
{
    struct user_code *user = user_code_of(errorcode);
    if (!user || user->text[0] == '\0') {
        return rzm_error(MPI_ERR_ARG, "errorcode is %d, which has no string of the program",
                         errorcode);
    }
    user->text[0] = '\0';
    return MPI_SUCCESS;
}

/* ---- Classes and strings of codes ---- */

int rzm_error_class(int errorcode, int *errorclass)
{
    const struct user_code *user = user_code_of(errorcode);
    if (!user && !standard_text(errorcode)) {
        return no_such_code(errorcode);
    }
    *errorclass = user ? user->error_class : errorcode;
    return MPI_SUCCESS;
}

int rzm_error_string(int errorcode, char *string, int *resultlen)
{
    const struct user_code *user = user_code_of(errorcode);
    const char *text = user ? user->text : standard_text(errorcode);
    if (!text) {
        return no_such_code(errorcode);
    }
    size_t length = strlen(text);
    memcpy(string, text, length + 1);
    *resultlen = (int)length;
    return MPI_SUCCESS;
}
