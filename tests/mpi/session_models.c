/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions, by the argument: "only": without MPI_Init, several and one after another; "world":
 * beside MPI_Init, and after MPI_Finalize; "threads": one in each thread; "pending": they end with
 * sends of others on their way; "outside": MPI_COMM_WORLD without MPI_Init, which ends the program
 * with a sentence.
 */
#include "check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int errors_seen, last_error;
static MPI_Session session_of_error;

static void note_error(MPI_Session *session, int *error, ...)
{
    errors_seen++;
    last_error = *error;
    session_of_error = *session;
}

static MPI_Session open_session(const char *level)
{
    MPI_Session session;
    MPI_Info info = MPI_INFO_NULL;
    if (level) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", level);
    }
    SO(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    if (level) {
        MPI_Info_free(&info);
    }
    char value[64];
    int there;
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", sizeof(value) - 1, value, &there);
    SO(there && strcmp(value, level ? level : "MPI_THREAD_MULTIPLE") == 0);
    MPI_Info_get(info, "mpi_memory_alloc_kinds", sizeof(value) - 1, value, &there);
    SO(there && strstr(value, "mpi") && strstr(value, "system"));
    MPI_Info_free(&info);
    return session;
}

static MPI_Comm comm_of(MPI_Session session, const char *pset, const char *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    SO(MPI_Group_from_session_pset(session, pset, &group) == MPI_SUCCESS);
    SO(group != MPI_GROUP_NULL);
    SO(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
       MPI_SUCCESS);
    MPI_Group_free(&group);
    return comm;
}

/* A sum over comm, and a ring. */
static void use(MPI_Comm comm)
{
    int rank, size, sum = 0, got = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    SO(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    SO(sum == size * (size - 1) / 2);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 7, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 7, comm, MPI_STATUS_IGNORE);
    SO(got == (rank + size - 1) % size);
}

static void check_psets(MPI_Session session)
{
    int n = 0, world_size = -1, there;
    SO(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n) == MPI_SUCCESS && n == 2);
    for (int i = 0; i < n; i++) {
        const char *name = i == 0 ? "mpi://WORLD" : "mpi://SELF";
        char text[MPI_MAX_PSET_NAME_LEN] = "untouched", value[16];
        int length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        SO(length == (int)strlen(name) + 1);
        length = 5;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, text);
        SO(length == (int)strlen(name) + 1 && strcmp(text, "mpi:") == 0);
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, text);
        SO(strcmp(text, name) == 0);
        MPI_Info info;
        SO(MPI_Session_get_pset_info(session, text, &info) == MPI_SUCCESS);
        MPI_Info_get(info, "mpi_size", sizeof(value) - 1, value, &there);
        MPI_Info_free(&info);
        MPI_Comm comm = comm_of(session, text, "psets");
        MPI_Comm_size(comm, &world_size);
        SO(there && atoi(value) == world_size && (i == 0 || world_size == 1));
        use(comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group group;
    SO(MPI_Group_from_session_pset(session, "app://none", &group) == MPI_SUCCESS);
    SO(group == MPI_GROUP_NULL);
}

static void check_errors(MPI_Session session)
{
    MPI_Errhandler handler, got;
    MPI_Info info;
    char name[8];
    int length = (int)sizeof(name);
    SO(MPI_Session_create_errhandler(note_error, &handler) == MPI_SUCCESS);
    SO(MPI_Session_set_errhandler(session, handler) == MPI_SUCCESS);
    SO(MPI_Session_get_errhandler(session, &got) == MPI_SUCCESS && got == handler);
    MPI_Errhandler_free(&got);
    errors_seen = 0;
    SO(MPI_Session_get_pset_info(session, "app://none", &info) == MPI_ERR_ARG);
    SO(errors_seen == 1 && last_error == MPI_ERR_ARG && session_of_error == session);
    SO(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &length, name) == MPI_ERR_ARG);
    SO(MPI_Session_call_errhandler(session, MPI_ERR_OTHER) == MPI_SUCCESS);
    SO(errors_seen == 3 && last_error == MPI_ERR_OTHER);
    /* MPI_Session_init reports its own errors to the handler that it was given. */
    MPI_Session made = MPI_SESSION_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SOMETIMES");
    SO(MPI_Session_init(info, handler, &made) == MPI_ERR_INFO_VALUE);
    SO(errors_seen == 4 && session_of_error == MPI_SESSION_NULL && made == MPI_SESSION_NULL);
    MPI_Info_free(&info);
    SO(MPI_Session_set_errhandler(session, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    SO(MPI_Session_fromint(MPI_Session_toint(session)) == session);
}

static void close_session(MPI_Session *session)
{
    SO(MPI_Session_finalize(session) == MPI_SUCCESS && *session == MPI_SESSION_NULL);
}

static void only(void)
{
    int flag;
    MPI_Session first = open_session("MPI_THREAD_SINGLE"), second = open_session(NULL);
    MPI_Initialized(&flag);
    SO(!flag && first != second);
    check_psets(first);
    check_errors(second);
    MPI_Comm one = comm_of(first, "mpi://WORLD", "one"),
             two = comm_of(second, "mpi://WORLD", "two");
    use(one);
    MPI_Comm_free(&one);
    close_session(&first);
    use(two);
    MPI_Comm_free(&two);
    close_session(&second);
    for (int round = 0; round < 3; round++) {
        MPI_Session again = open_session("MPI_THREAD_FUNNELED");
        MPI_Comm comm = comm_of(again, "mpi://WORLD", "again");
        use(comm);
        MPI_Comm_free(&comm);
        close_session(&again);
    }
    MPI_Finalized(&flag);
    SO(!flag);
}

static void beside_world(void)
{
    int flag;
    MPI_Session session = open_session(NULL);
    MPI_Comm comm = comm_of(session, "mpi://WORLD", "early");
    MPI_Init(NULL, NULL);
    use(MPI_COMM_WORLD);
    use(comm);
    MPI_Session other = open_session(NULL);
    check_psets(other);
    close_session(&other);
    MPI_Finalize();
    MPI_Finalized(&flag);
    SO(flag);
    use(comm);
    MPI_Comm_free(&comm);
    close_session(&session);
    session = open_session(NULL);
    check_psets(session);
    close_session(&session);
}

/* The end of a model waits for no send of another one, which is received after it. */
static void with_sends_pending(void)
{
    enum { BYTES = 1 << 20 };
    int rank, size;
    char *data = calloc(1, BYTES), *got = calloc(1, BYTES);
    MPI_Request of_world, of_session;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Session session = open_session(NULL), other = open_session(NULL);
    MPI_Comm comm = comm_of(session, "mpi://WORLD", "pending");
    MPI_Isend(data, BYTES, MPI_BYTE, right, 1, MPI_COMM_WORLD, &of_world);
    MPI_Isend(data, BYTES, MPI_BYTE, right, 2, comm, &of_session);
    close_session(&other);
    MPI_Recv(got, BYTES, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&of_world, MPI_STATUS_IGNORE);
    MPI_Finalize();
    other = open_session(NULL);
    close_session(&other);
    MPI_Recv(got, BYTES, MPI_BYTE, left, 2, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&of_session, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    close_session(&session);
    free(got);
    free(data);
}

static void *in_thread(void *tag)
{
    for (int round = 0; round < 5; round++) {
        MPI_Session session = open_session(NULL);
        MPI_Comm comm = comm_of(session, "mpi://WORLD", tag);
        for (int i = 0; i < 20; i++) {
            use(comm);
        }
        MPI_Comm_free(&comm);
        close_session(&session);
    }
    return NULL;
}

static void in_threads(void)
{
    static char tags[4][8] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        SO(pthread_create(&threads[i], NULL, in_thread, tags[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "only";
    if (strcmp(what, "only") == 0) {
        only();
    } else if (strcmp(what, "world") == 0) {
        beside_world();
    } else if (strcmp(what, "pending") == 0) {
        with_sends_pending();
    } else if (strcmp(what, "threads") == 0) {
        in_threads();
    } else {
        open_session(NULL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return 0;
}
