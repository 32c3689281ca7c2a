/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles as integers and back (MPI 5.0, "Handle Serialization"): predefined handles keep the
 * number of the ABI, users' handles get numbers above the predefined space, the same at every call;
 * what is no number of a living handle of that kind is refused safely. A user's handle is never
 * below 0x1000.
 */
#include "abi_check.h"
#include "abi_facts.h"

#include <limits.h>
#include <string.h>

enum { PREDEFINED_END = 0x1000, MANY = 3000 };

/* Each constant of one kind, there and back. */
#define THERE_AND_BACK(short_name, name, value)                                                    \
    CHECK(MPI_##short_name##_toint(name) == (value));                                              \
    CHECK(MPI_##short_name##_fromint(value) == (name));                                            \
    CHECK((uintptr_t)(name) < PREDEFINED_END);

#define X_COMM(name, value) THERE_AND_BACK(Comm, name, value)
#define X_DATATYPE(name, value) THERE_AND_BACK(Type, name, value)
#define X_ERRHANDLER(name, value) THERE_AND_BACK(Errhandler, name, value)
#define X_FILE(name, value) THERE_AND_BACK(File, name, value)
#define X_GROUP(name, value) THERE_AND_BACK(Group, name, value)
#define X_INFO(name, value) THERE_AND_BACK(Info, name, value)
#define X_MESSAGE(name, value) THERE_AND_BACK(Message, name, value)
#define X_OP(name, value) THERE_AND_BACK(Op, name, value)
#define X_REQUEST(name, value) THERE_AND_BACK(Request, name, value)
#define X_SESSION(name, value) THERE_AND_BACK(Session, name, value)
#define X_WIN(name, value) THERE_AND_BACK(Win, name, value)

static void predefined(void)
{
    ABI_HANDLES_OF_MPI_Comm(X_COMM);
    ABI_HANDLES_OF_MPI_Datatype(X_DATATYPE);
    ABI_HANDLES_OF_MPI_Errhandler(X_ERRHANDLER);
    ABI_HANDLES_OF_MPI_File(X_FILE);
    ABI_HANDLES_OF_MPI_Group(X_GROUP);
    ABI_HANDLES_OF_MPI_Info(X_INFO);
    ABI_HANDLES_OF_MPI_Message(X_MESSAGE);
    ABI_HANDLES_OF_MPI_Op(X_OP);
    ABI_HANDLES_OF_MPI_Request(X_REQUEST);
    ABI_HANDLES_OF_MPI_Session(X_SESSION);
    ABI_HANDLES_OF_MPI_Win(X_WIN);
}

/* A user's handle: its number is none of the predefined, stays, and leads back. Then numbers of
 * other kinds and of nothing, which lead to the null handle or to one that calls refuse. */
#define USER(short_name, handle, null)                                                             \
    do {                                                                                           \
        int number = MPI_##short_name##_toint(handle);                                             \
        CHECK((uintptr_t)(handle) >= PREDEFINED_END);                                              \
        CHECK(number >= PREDEFINED_END || number < 0);                                             \
        CHECK(MPI_##short_name##_toint(handle) == number);                                         \
        CHECK(MPI_##short_name##_fromint(number) == (handle));                                     \
        for (size_t i = 0; i < sizeof(strangers) / sizeof(*strangers); i++) {                      \
            CHECK(MPI_##short_name##_fromint(strangers[i]) == (null));                             \
        }                                                                                          \
    } while (0)

static const int strangers[] = {-1, INT_MIN, INT_MAX, PREDEFINED_END + 1000000};

static void sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void silent(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
}

static void communicators_and_groups(void)
{
    MPI_Comm comm;
    MPI_Group group, part;
    int zero = 0;
    GOOD(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    GOOD(MPI_Comm_group(comm, &group));
    GOOD(MPI_Group_incl(group, 1, &zero, &part));
    USER(Comm, comm, MPI_COMM_NULL);
    USER(Group, group, MPI_GROUP_NULL);
    USER(Group, part, MPI_GROUP_NULL);
    /* Numbers of one kind are none of another. */
    CHECK(MPI_Comm_fromint(MPI_Group_toint(group)) == MPI_COMM_NULL);
    CHECK(MPI_Group_fromint(MPI_Comm_toint(comm)) == MPI_GROUP_NULL);
    int number = MPI_Comm_toint(comm);
    GOOD(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK(MPI_Comm_fromint(number) == MPI_COMM_NULL);
    GOOD(MPI_Group_free(&group));
    GOOD(MPI_Group_free(&part));
}

static void types_and_operations(void)
{
    MPI_Datatype type;
    MPI_Op op;
    MPI_Errhandler handler;
    MPI_Info info;
    GOOD(MPI_Type_contiguous(3, MPI_INT, &type));
    GOOD(MPI_Op_create(sum, 1, &op));
    GOOD(MPI_Comm_create_errhandler(silent, &handler));
    GOOD(MPI_Info_create(&info));
    USER(Type, type, MPI_DATATYPE_NULL);
    USER(Op, op, MPI_OP_NULL);
    USER(Errhandler, handler, MPI_ERRHANDLER_NULL);
    USER(Info, info, MPI_INFO_NULL);
    GOOD(MPI_Type_free(&type));
    GOOD(MPI_Op_free(&op));
    GOOD(MPI_Errhandler_free(&handler));
    GOOD(MPI_Info_free(&info));
}

static void requests_and_messages(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Session session;
    int in = 0, out = 7, rank;
    GOOD(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    GOOD(MPI_Isend(&out, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request));
    USER(Request, request, MPI_REQUEST_NULL);
    GOOD(MPI_Mprobe(rank, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    USER(Message, message, MPI_MESSAGE_NULL);
    /* A request that went through an integer is as good as before. */
    request = MPI_Request_fromint(MPI_Request_toint(request));
    message = MPI_Message_fromint(MPI_Message_toint(message));
    GOOD(MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    GOOD(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in == 7 && request == MPI_REQUEST_NULL && message == MPI_MESSAGE_NULL);
    GOOD(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    USER(Session, session, MPI_SESSION_NULL);
    GOOD(MPI_Session_finalize(&session));
}

/* Where this build has windows and files. */
static void windows_and_files(const char *name)
{
    MPI_Win win;
    MPI_File file;
    int memory[4], error;
    error = MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    if (class_of(error) != MPI_ERR_UNSUPPORTED_OPERATION) {
        GOOD(error);
        USER(Win, win, MPI_WIN_NULL);
        GOOD(MPI_Win_free(&win));
    }
    error = MPI_File_open(MPI_COMM_SELF, name,
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                          &file);
    if (class_of(error) != MPI_ERR_UNSUPPORTED_OPERATION) {
        GOOD(error);
        USER(File, file, MPI_FILE_NULL);
        GOOD(MPI_File_close(&file));
    }
}

/* Handles made of nonsense are refused by the calls that are given them. */
static void nonsense(void)
{
    int size;
    MPI_Datatype type = MPI_Type_fromint(0x2fe);
    MPI_Comm comm = MPI_Comm_fromint(5);
    MPI_Group group = MPI_Group_fromint(0x200);
    REFUSED(MPI_Comm_size(comm, &size), MPI_ERR_COMM);
    REFUSED(MPI_Comm_size(MPI_Comm_fromint(-7), &size), MPI_ERR_COMM);
    REFUSED(MPI_Group_size(group, &size), MPI_ERR_GROUP);
    REFUSED(MPI_Type_size(type, &size), MPI_ERR_TYPE);
    REFUSED(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
}

static void many(void)
{
    static MPI_Info infos[MANY];
    static int numbers[MANY];
    static char seen[4 * MANY];
    for (int i = 0; i < MANY; i++) {
        GOOD(MPI_Info_create(&infos[i]));
        numbers[i] = MPI_Info_toint(infos[i]);
        CHECK(numbers[i] >= PREDEFINED_END);
        if (numbers[i] - PREDEFINED_END < (int)sizeof(seen)) {
            CHECK(seen[numbers[i] - PREDEFINED_END]++ == 0);
        }
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK(MPI_Info_fromint(numbers[i]) == infos[i]);
        GOOD(MPI_Info_free(&infos[i]));
    }
}

int main(int argc, char **argv)
{
    predefined(); /* at any time */
    GOOD(MPI_Init(&argc, &argv));
    GOOD(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    GOOD(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    predefined();
    communicators_and_groups();
    types_and_operations();
    requests_and_messages();
    char name[64];
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof(name), "abi_handles.%d.tmp", rank);
    windows_and_files(name);
    nonsense();
    many();
    GOOD(MPI_Finalize());
    predefined();
    return abi_faults != 0;
}
