/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of the user (MPI_Grequest_start), looking at requests without ending them, buffers of
 * communicators and sessions, removing error codes, hardware.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* ---- Generalised requests ---- */

struct work {
    int queried, freed, cancelled, cancelled_complete, error, free_error;
    MPI_Request request;
};

static int on_query(void *extra, MPI_Status *status)
{
    struct work *work = extra;
    int here;
    MPI_Comm_rank(MPI_COMM_WORLD, &here); /* no lock is held */
    work->queried++;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, work->cancelled > 0);
    status->MPI_SOURCE = 11;
    status->MPI_TAG = 22;
    return work->error;
}

static int on_free(void *extra)
{
    struct work *work = extra;
    work->freed++;
    return work->free_error;
}

static int on_cancel(void *extra, int complete)
{
    struct work *work = extra;
    work->cancelled++;
    work->cancelled_complete = complete;
    return MPI_SUCCESS;
}

static void *complete_later(void *arg)
{
    struct work *work = arg;
    usleep(2000);
    CHECK(MPI_Grequest_complete(work->request) == MPI_SUCCESS);
    return NULL;
}

static MPI_Request start(struct work *work)
{
    CHECK(MPI_Grequest_start(on_query, on_free, on_cancel, work, &work->request) == MPI_SUCCESS);
    return work->request;
}

static void check_status(const MPI_Status *status)
{
    int count = 0;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(count == 5 && status->MPI_SOURCE == 11 && status->MPI_TAG == 22);
}

static void grequest_completes(void)
{
    struct work work = {0};
    MPI_Status status;
    pthread_t thread;
    int flag = 1;
    MPI_Request request = start(&work);
    MPI_Test(&request, &flag, &status);
    CHECK(!flag && work.queried == 0);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(!flag && work.queried == 0);
    pthread_create(&thread, NULL, complete_later, &work);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    pthread_join(thread, NULL);
    check_status(&status);
    CHECK(work.queried == 1 && work.freed == 1);
    /* A look first, then the end. */
    work = (struct work){0};
    request = start(&work);
    MPI_Grequest_complete(request);
    MPI_Request_get_status(request, &flag, &status);
    CHECK(flag && work.queried == 1 && work.freed == 0);
    check_status(&status);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(flag && work.queried == 2 && work.freed == 1);
}

static void grequest_fails_and_is_freed(void)
{
    struct work work = {.error = MPI_ERR_IO};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request request = start(&work);
    MPI_Grequest_complete(request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_IO && request == MPI_REQUEST_NULL);
    CHECK(work.freed == 1);
    work = (struct work){.free_error = MPI_ERR_NO_SPACE};
    MPI_Request both[2] = {start(&work), MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Grequest_complete(both[0]);
    CHECK(MPI_Waitall(2, both, statuses) == MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_NO_SPACE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    work = (struct work){.error = MPI_ERR_IO, .free_error = MPI_ERR_NO_SPACE};
    request = start(&work);
    MPI_Grequest_complete(request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_NO_SPACE);
    /* Freed before it is complete: its end is MPI_Grequest_complete. */
    work = (struct work){0};
    request = start(&work);
    MPI_Request_free(&request);
    CHECK(work.freed == 0 && request == MPI_REQUEST_NULL);
    MPI_Grequest_complete(work.request);
    CHECK(work.freed == 1 && work.queried == 0);
    CHECK(MPI_Grequest_complete(MPI_REQUEST_NULL) == MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void grequest_is_cancelled(void)
{
    struct work work = {0};
    MPI_Status status;
    int flag;
    MPI_Request request = start(&work);
    MPI_Cancel(&request);
    CHECK(work.cancelled == 1 && !work.cancelled_complete);
    MPI_Grequest_complete(request);
    MPI_Cancel(&request);
    CHECK(work.cancelled == 2 && work.cancelled_complete);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && work.freed == 1);
}

/* ---- Looking at many ---- */

static void get_status_of_many(void)
{
    enum { N = 4 };
    int values[N], outcount, indices[N], flag, indx, me = rank;
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < N; i++) {
        requests[i] = MPI_REQUEST_NULL;
    }
    MPI_Request_get_status_any(N, requests, &indx, &flag, statuses);
    CHECK(flag && indx == MPI_UNDEFINED && statuses[0].MPI_SOURCE == MPI_ANY_SOURCE);
    MPI_Request_get_status_all(N, requests, &flag, statuses);
    CHECK(flag);
    MPI_Request_get_status_some(N, requests, &outcount, indices, statuses);
    CHECK(outcount == MPI_UNDEFINED);
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Request_get_status_any(N, requests, &indx, &flag, statuses);
    CHECK(!flag && indx == MPI_UNDEFINED);
    MPI_Request_get_status_some(N, requests, &outcount, indices, statuses);
    CHECK(outcount == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    for (flag = 0; !flag;) {
        MPI_Request_get_status_any(N, requests, &indx, &flag, statuses);
    }
    CHECK(indx == 1 && statuses[0].MPI_SOURCE == left && statuses[0].MPI_TAG == 1);
    MPI_Request_get_status_all(N, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK(!flag);
    MPI_Request_get_status_some(N, requests, &outcount, indices, statuses);
    CHECK(outcount == 1 && indices[0] == 1 && statuses[0].MPI_TAG == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Send(&me, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    for (flag = 0; !flag;) {
        MPI_Request_get_status_all(N, requests, &flag, statuses);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(statuses[i].MPI_TAG == i && statuses[i].MPI_ERROR == MPI_SUCCESS);
        CHECK(requests[i] != MPI_REQUEST_NULL);
    }
    MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
}

/* ---- Buffers ---- */

static void buffers_of_communicators(void)
{
    static char room[1000 + MPI_BSEND_OVERHEAD], small[100 + MPI_BSEND_OVERHEAD], data[1000];
    char got[1000];
    void *address;
    int bytes, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Comm comm, other;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    CHECK(MPI_Bsend(data, 1, MPI_CHAR, right, 0, comm) == MPI_ERR_BUFFER);
    CHECK(MPI_Comm_detach_buffer(comm, &address, &bytes) == MPI_ERR_BUFFER);
    MPI_Buffer_attach(small, sizeof(small));
    CHECK(MPI_Bsend(data, 1000, MPI_CHAR, right, 0, comm) == MPI_ERR_BUFFER);
    CHECK(MPI_Comm_attach_buffer(comm, room, sizeof(room)) == MPI_SUCCESS);
    CHECK(MPI_Comm_attach_buffer(comm, room, sizeof(room)) == MPI_ERR_BUFFER);
    memset(data, 'a' + rank % 20, sizeof(data));
    CHECK(MPI_Bsend(data, 1000, MPI_CHAR, right, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Bsend(data, 1000, MPI_CHAR, right, 0, other) == MPI_ERR_BUFFER);
    CHECK(MPI_Comm_iflush_buffer(comm, &request) == MPI_SUCCESS);
    MPI_Recv(got, 1000, MPI_CHAR, left, 0, comm, MPI_STATUS_IGNORE);
    CHECK(got[999] == 'a' + left % 20);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPI_Comm_flush_buffer(comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_detach_buffer(comm, &address, &bytes) == MPI_SUCCESS);
    CHECK(address == room && bytes == (int)sizeof(room));
    MPI_Buffer_detach(&address, &bytes);
    CHECK(address == small);
    /* Without a bound. */
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    for (int i = 0; i < 100; i++) {
        CHECK(MPI_Bsend(data, 1000, MPI_CHAR, right, i, comm) == MPI_SUCCESS);
    }
    for (int i = 0; i < 100; i++) {
        MPI_Recv(got, 1000, MPI_CHAR, left, i, comm, MPI_STATUS_IGNORE);
    }
    MPI_Comm_detach_buffer(comm, &address, &bytes);
    CHECK(address == MPI_BUFFER_AUTOMATIC);
    MPI_Buffer_iflush(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
}

static void buffers_of_sessions(void)
{
    static char room[1000 + MPI_BSEND_OVERHEAD], data[1000];
    char got[1000];
    void *address;
    int bytes, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, part;
    MPI_Request request;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_split(comm, 0, rank, &part);
    MPI_Session_attach_buffer(session, room, sizeof(room));
    CHECK(MPI_Bsend(data, 1, MPI_CHAR, right, 0, MPI_COMM_SELF) != MPI_SUCCESS);
    CHECK(MPI_Bsend(data, 1001, MPI_CHAR, right, 0, comm) == MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(data, 1000, MPI_CHAR, right, 0, part) == MPI_SUCCESS);
    MPI_Recv(got, 1000, MPI_CHAR, left, 0, part, MPI_STATUS_IGNORE);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_flush_buffer(session);
    MPI_Session_detach_buffer(session, &address, &bytes);
    CHECK(address == room && bytes == (int)sizeof(room));
    CHECK(MPI_Bsend(data, 1, MPI_CHAR, right, 0, comm) == MPI_ERR_BUFFER);
    MPI_Session_attach_buffer(session, room, sizeof(room));
    MPI_Comm_free(&comm);
    MPI_Comm_free(&part);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

/* ---- The rest ---- */

static int last_used(void)
{
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag);
    return *value;
}

static void error_codes_are_removed(void)
{
    int class, code, other, again, before = last_used(), length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_code(class, &other);
    MPI_Add_error_string(code, "sentence");
    CHECK(last_used() == other);
    CHECK(MPI_Remove_error_class(class) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_class(code) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(class) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(MPI_ERR_RANK) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    CHECK(length == 0 && MPI_Remove_error_string(code) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS && last_used() == other);
    CHECK(MPI_Error_class(code, &again) == MPI_ERR_ARG);
    CHECK(MPI_Remove_error_code(other) == MPI_SUCCESS);
    CHECK(MPI_Remove_error_class(class) == MPI_SUCCESS && last_used() == before);
    MPI_Add_error_class(&again);
    CHECK(again == class);
    MPI_Remove_error_class(again);
}

static void hardware_is_named(void)
{
    MPI_Info info;
    int n, there;
    char key[MPI_MAX_INFO_KEY], value[8];
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    MPI_Info_get_nkeys(info, &n);
    CHECK(n > 0);
    for (int i = 0; i < n; i++) {
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, sizeof(value) - 1, value, &there);
        CHECK(strstr(key, "://") != NULL);
        CHECK(strcmp(value, "true") == 0 || strcmp(value, "false") == 0);
    }
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grequest_completes();
    grequest_fails_and_is_freed();
    grequest_is_cancelled();
    get_status_of_many();
    buffers_of_communicators();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    buffers_of_sessions();
    error_codes_are_removed();
    hardware_is_named();
    MPI_Finalize();
    return 0;
}
