/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between two, in all modes, and all the ways of waiting for them. */
#include "kill_matrix.h"

#include <stdlib.h>

#define BYTES (scene.count * (int)sizeof(int))

static void fill(void)
{
    for (int i = 0; i < scene.count; i++) {
        out[i] = scene.rank * 1000003 + i;
        in[i] = -1;
    }
}

/* The received message is what that rank has sent. */
static void is_from(int source, const MPI_Status *status)
{
    int n;
    MPI_Get_count(status, MPI_INT, &n);
    CHECK(status->MPI_SOURCE == source && n == scene.count);
    CHECK(n == 0 || (in[0] == source * 1000003 && in[n - 1] == source * 1000003 + n - 1));
}

static bool i_send(void)
{
    return (scene.rank ^ (int)(scene.how >> 3 & 1)) % 2 == 0;
}

static int receive(void)
{
    MPI_Status status;
    int error = MPI_Recv(in, scene.count, MPI_INT, peer(), 1, scene.comm, &status);
    if (error == MPI_SUCCESS && peer() != MPI_PROC_NULL) {
        is_from(peer(), &status);
    }
    return error;
}

#define SENDS(name, Name, IName)                                                                   \
    static int name(void)                                                                          \
    {                                                                                              \
        fill();                                                                                    \
        return i_send() ? MPI_##Name(out, scene.count, MPI_INT, peer(), 1, scene.comm)             \
                        : receive();                                                               \
    }                                                                                              \
    static int i##name(void)                                                                       \
    {                                                                                              \
        MPI_Request request;                                                                       \
        fill();                                                                                    \
        if (!i_send()) {                                                                           \
            return receive();                                                                      \
        }                                                                                          \
        int error = MPI_##IName(out, scene.count, MPI_INT, peer(), 1, scene.comm, &request);       \
        error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);                 \
        CHECK(request == MPI_REQUEST_NULL);                                                        \
        return error;                                                                              \
    }                                                                                              \
    static int name##_init(void)                                                                   \
    {                                                                                              \
        MPI_Request request;                                                                       \
        fill();                                                                                    \
        int error =                                                                                \
            i_send()                                                                               \
                ? MPI_##Name##_init(out, scene.count, MPI_INT, peer(), 1, scene.comm, &request)    \
                : MPI_Recv_init(in, scene.count, MPI_INT, peer(), 1, scene.comm, &request);        \
        CHECK(error == MPI_SUCCESS);                                                               \
        for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {                                      \
            error = MPI_Start(&request);                                                           \
            error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);             \
        }                                                                                          \
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);                                          \
        return error;                                                                              \
    }

SENDS(send, Send, Isend)
SENDS(ssend, Ssend, Issend)

static int ready(bool now)
{
    fill();
    if (!i_send()) {
        MPI_Request request;
        MPI_Irecv(in, scene.count, MPI_INT, peer(), 1, scene.comm, &request);
        int error = MPI_Send(NULL, 0, MPI_INT, peer(), 2, scene.comm);
        if (error != MPI_SUCCESS) {
            end_all(&request, 1);
            return error;
        }
        return ended(&request, MPI_STATUS_IGNORE);
    }
    int error = MPI_Recv(NULL, 0, MPI_INT, peer(), 2, scene.comm, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || now) {
        return error != MPI_SUCCESS ? error
                                    : MPI_Rsend(out, scene.count, MPI_INT, peer(), 1, scene.comm);
    }
    MPI_Request request;
    error = MPI_Irsend(out, scene.count, MPI_INT, peer(), 1, scene.comm, &request);
    return error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
}

static int rsend(void)
{
    return ready(true);
}

static int irsend(void)
{
    return ready(false);
}

static int buffered(bool now)
{
    int size = BYTES + MPI_BSEND_OVERHEAD, error, error_detach;
    void *buffer = malloc((size_t)size), *detached;
    fill();
    CHECK(MPI_Buffer_attach(buffer, size) == MPI_SUCCESS);
    if (!i_send()) {
        error = receive();
    } else if (now) {
        error = MPI_Bsend(out, scene.count, MPI_INT, peer(), 1, scene.comm);
    } else {
        MPI_Request request;
        error = MPI_Ibsend(out, scene.count, MPI_INT, peer(), 1, scene.comm, &request);
        error = error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
    }
    if (error != MPI_SUCCESS) {
        MPIX_Comm_revoke(scene.comm);
    }
    error_detach = MPI_Buffer_detach(&detached, &size);
    CHECK(error_detach == MPI_SUCCESS);
    free(buffer);
    return error;
}

static int bsend(void)
{
    return buffered(true);
}

static int ibsend(void)
{
    return buffered(false);
}

/* A request that is never completed. */
static int request_free(void)
{
    MPI_Request request;
    fill();
    if (!i_send()) {
        return receive();
    }
    int error = MPI_Isend(out, scene.count, MPI_INT, peer(), 1, scene.comm, &request);
    CHECK(error != MPI_SUCCESS || MPI_Request_free(&request) == MPI_SUCCESS);
    return error;
}

static int cancel(void)
{
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(in, 1, MPI_INT, peer(), 77, scene.comm, &request);
    MPI_Cancel(&request);
    MPI_Status status;
    int error = ended(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(error != MPI_SUCCESS || flag || peer() == MPI_PROC_NULL);
    return error;
}

/* ---- Looking first ---- */

static int probe(void)
{
    MPI_Status status;
    fill();
    if (i_send()) {
        return MPI_Send(out, scene.count, MPI_INT, peer(), 1, scene.comm);
    }
    int flag = 0, error = MPI_SUCCESS;
    if (scene.how & 1) {
        error = MPI_Probe(peer(), 1, scene.comm, &status);
    } else {
        while (!flag && error == MPI_SUCCESS) {
            error = MPI_Iprobe(peer(), MPI_ANY_TAG, scene.comm, &flag, &status);
        }
    }
    return error != MPI_SUCCESS ? error : receive();
}

static int mprobe(void)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    fill();
    if (i_send()) {
        return scene.how & 2 ? MPI_Send(out, scene.count, MPI_INT, peer(), 1, scene.comm)
                             : MPI_Ssend(out, scene.count, MPI_INT, peer(), 1, scene.comm);
    }
    int flag = 0, error = MPI_SUCCESS;
    if (scene.how & 1) {
        error = MPI_Mprobe(peer(), 1, scene.comm, &message, &status);
    } else {
        while (!flag && error == MPI_SUCCESS) {
            error = MPI_Improbe(peer(), MPI_ANY_TAG, scene.comm, &flag, &message, &status);
        }
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (scene.how & 4) {
        return MPI_Mrecv(in, scene.count, MPI_INT, &message, &status);
    }
    error = MPI_Imrecv(in, scene.count, MPI_INT, &message, &request);
    return error != MPI_SUCCESS ? error : ended(&request, &status);
}

/* ---- From any source ---- */

static int any_source(void)
{
    fill();
    if (scene.rank != 0) {
        return MPI_Send(out, scene.count, MPI_INT, 0, 1, scene.comm);
    }
    int error = MPI_SUCCESS;
    for (int i = 1; i < scene.size && error == MPI_SUCCESS; i++) {
        MPI_Status status;
        error = MPI_Recv(in, scene.count, MPI_INT, MPI_ANY_SOURCE, 1, scene.comm, &status);
        if (error == MPI_SUCCESS) {
            is_from(status.MPI_SOURCE, &status);
        }
    }
    return error;
}

static int any_probe(void)
{
    fill();
    if (scene.rank != 0) {
        return MPI_Send(out, scene.count, MPI_INT, 0, 1, scene.comm);
    }
    int error = MPI_SUCCESS;
    for (int i = 1; i < scene.size && error == MPI_SUCCESS; i++) {
        MPI_Status status;
        error = MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, scene.comm, &status);
        if (error == MPI_SUCCESS) {
            error = MPI_Recv(in, scene.count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG,
                             scene.comm, &status);
        }
    }
    return error;
}

/* The request stays, may still match once the failure was acknowledged, and ends with the
 * revocation.
 */
static int any_pending(void)
{
    fill();
    if (scene.rank != 0) {
        return MPI_Send(out, scene.count, MPI_INT, 0, 1, scene.comm);
    }
    int error = MPI_SUCCESS, left = scene.size - 1, acked;
    while (left > 0) {
        MPI_Request request;
        MPI_Irecv(in, scene.count, MPI_INT, MPI_ANY_SOURCE, 1, scene.comm, &request);
        int now = ended(&request, MPI_STATUS_IGNORE);
        if (class_of(now) == MPI_ERR_PROC_FAILED_PENDING) {
            CHECK(request != MPI_REQUEST_NULL);
            MPIX_Comm_ack_failed(scene.comm, scene.size, &acked);
            CHECK(acked == 1);
            end_all(&request, 1);
            return MPI_ERR_PROC_FAILED;
        }
        CHECK(request == MPI_REQUEST_NULL);
        if (now != MPI_SUCCESS) { /* the fetch of its payload, or a revocation */
            return now;
        }
        left--;
    }
    return error;
}

/* ---- Both ways ---- */

static int left(void)
{
    return (scene.rank + scene.size - 1) % scene.size;
}

static int right(void)
{
    return (scene.rank + 1) % scene.size;
}

static int sendrecv(void)
{
    MPI_Status status;
    fill();
    int error = MPI_Sendrecv(out, scene.count, MPI_INT, right(), 3, in, scene.count, MPI_INT,
                             left(), 3, scene.comm, &status);
    if (error == MPI_SUCCESS) {
        is_from(left(), &status);
    }
    return error;
}

static int sendrecv_any(void)
{
    fill();
    return MPI_Sendrecv(out, scene.count, MPI_INT, right(), 3, in, scene.count, MPI_INT,
                        MPI_ANY_SOURCE, 3, scene.comm, MPI_STATUS_IGNORE);
}

static int sendrecv_replace(void)
{
    fill();
    return MPI_Sendrecv_replace(out, scene.count, MPI_INT, right(), 3, left(), 3, scene.comm,
                                MPI_STATUS_IGNORE);
}

static int isendrecv(void)
{
    MPI_Request request;
    fill();
    int error = MPI_Isendrecv(out, scene.count, MPI_INT, right(), 3, in, scene.count, MPI_INT,
                              left(), 3, scene.comm, &request);
    return error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
}

static int isendrecv_replace(void)
{
    MPI_Request request;
    fill();
    int error = MPI_Isendrecv_replace(out, scene.count, MPI_INT, right(), 3, left(), 3, scene.comm,
                                      &request);
    return error != MPI_SUCCESS ? error : ended(&request, MPI_STATUS_IGNORE);
}

/* ---- Waiting for many: all ranks to all ranks ---- */

enum { MANY_MAX = 2 * RANKS_MAX };
static MPI_Request many[MANY_MAX];
static MPI_Status statuses[MANY_MAX];
static int partner[MANY_MAX], n_many;

static int many_begin(void)
{
    int error = MPI_SUCCESS;
    fill();
    n_many = 0;
    for (int i = 0; i < scene.size && error == MPI_SUCCESS; i++) {
        for (int way = 0; way < 2 && i != scene.rank; way++, n_many++) {
            many[n_many] = MPI_REQUEST_NULL;
            partner[n_many] = i;
            int now = way == 0
                          ? MPI_Irecv(in + i * scene.count, scene.count, MPI_INT, i, 1, scene.comm,
                                      &many[n_many])
                          : MPI_Isend(out, scene.count, MPI_INT, i, 1, scene.comm, &many[n_many]);
            error = error != MPI_SUCCESS ? error : now;
        }
    }
    return error;
}

/* The error of request i, which has ended, concerns its partner. */
static void concerns(int i, int error)
{
    int class = class_of(error);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_REVOKED ||
          (class == MPI_ERR_PROC_FAILED && partner[i] == scene.victim));
}

/* What a call that ended with MPI_ERR_IN_STATUS has said of each. */
static int from_statuses(int error, bool told_all)
{
    int worst = MPI_SUCCESS;
    if (class_of(error) != MPI_ERR_IN_STATUS) {
        return error;
    }
    for (int i = 0; i < n_many && told_all; i++) {
        int class = class_of(statuses[i].MPI_ERROR);
        CHECK((class == MPI_ERR_PENDING) == (many[i] != MPI_REQUEST_NULL));
        if (class != MPI_ERR_PENDING) {
            concerns(i, class);
            worst = class != MPI_SUCCESS ? class : worst;
        }
    }
    CHECK(!told_all || worst != MPI_SUCCESS);
    return worst;
}

static int many_end(int error)
{
    if (error != MPI_SUCCESS) {
        end_all(many, n_many);
    }
    for (int i = 0; i < n_many; i++) {
        CHECK(many[i] == MPI_REQUEST_NULL);
    }
    return error;
}

static int waitall(void)
{
    int error = many_begin();
    return many_end(
        error != MPI_SUCCESS ? error : from_statuses(MPI_Waitall(n_many, many, statuses), true));
}

static int testall(void)
{
    int error = many_begin(), flag = 0;
    while (error == MPI_SUCCESS && !flag) {
        error = MPI_Testall(n_many, many, &flag, statuses);
    }
    return many_end(from_statuses(error, true));
}

static int any_of_many(bool wait)
{
    int error = many_begin(), index = 0;
    while (error == MPI_SUCCESS && index != MPI_UNDEFINED) {
        int flag = 0;
        index = -1;
        if (wait) {
            error = MPI_Waitany(n_many, many, &index, statuses);
            flag = 1;
        } else {
            error = MPI_Testany(n_many, many, &index, &flag, statuses);
        }
        if (index == MPI_UNDEFINED && !flag) {
            index = -1; /* none yet */
        } else if (index != MPI_UNDEFINED) {
            concerns(index, error);
            CHECK(many[index] == MPI_REQUEST_NULL);
        }
    }
    return many_end(error);
}

static int waitany(void)
{
    return any_of_many(true);
}

static int testany(void)
{
    return any_of_many(false);
}

static int some_of_many(bool wait)
{
    int error = many_begin(), n = 0, indices[MANY_MAX], worst = MPI_SUCCESS;
    while (error == MPI_SUCCESS && n != MPI_UNDEFINED) {
        error = wait ? MPI_Waitsome(n_many, many, &n, indices, statuses)
                     : MPI_Testsome(n_many, many, &n, indices, statuses);
        for (int i = 0; i < n && class_of(error) == MPI_ERR_IN_STATUS; i++) {
            concerns(indices[i], statuses[i].MPI_ERROR);
            worst = statuses[i].MPI_ERROR != MPI_SUCCESS ? statuses[i].MPI_ERROR : worst;
        }
    }
    CHECK(class_of(error) != MPI_ERR_IN_STATUS || worst != MPI_SUCCESS);
    return many_end(class_of(error) == MPI_ERR_IN_STATUS ? worst : error);
}

static int waitsome(void)
{
    return some_of_many(true);
}

static int testsome(void)
{
    return some_of_many(false);
}

/* All partitions of one round; the receiver has fewer, and asks for each of them. */
static int partitions_travel(MPI_Request *request, int n)
{
    int error = MPI_Start(request), flag = 0;
    for (int i = 0; i < n && error == MPI_SUCCESS; i++) {
        if (i_send()) {
            error = MPI_Pready(n - 1 - i, *request);
            continue;
        }
        for (flag = 0; error == MPI_SUCCESS && !flag;) {
            error = MPI_Parrived(*request, i, &flag);
        }
    }
    /* The request has the error that MPI_Parrived gave. */
    int end = ended(request, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS || class_of(error) == class_of(end));
    return end;
}

static int partitioned(void)
{
    MPI_Request request;
    int parts = scene.count % 4 == 0 ? 4 : 1, n = i_send() ? parts : parts / 2 + parts % 2;
    fill();
    int error = i_send() ? MPI_Psend_init(out, n, scene.count / n, MPI_INT, peer(), 1, scene.comm,
                                          MPI_INFO_NULL, &request)
                         : MPI_Precv_init(in, n, scene.count / n, MPI_INT, peer(), 1, scene.comm,
                                          MPI_INFO_NULL, &request);
    CHECK(error == MPI_SUCCESS);
    for (int i = 0; i < 3 && error == MPI_SUCCESS; i++) {
        error = partitions_travel(&request, n);
        if (error == MPI_SUCCESS && !i_send() && peer() != MPI_PROC_NULL && scene.count > 0) {
            CHECK(in[0] == peer() * 1000003 &&
                  in[scene.count - 1] == peer() * 1000003 + scene.count - 1);
        }
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    return error;
}

static int startall(void)
{
    n_many = 2;
    partner[0] = left();
    partner[1] = right();
    fill();
    MPI_Recv_init(in, scene.count, MPI_INT, left(), 1, scene.comm, &many[0]);
    MPI_Send_init(out, scene.count, MPI_INT, right(), 1, scene.comm, &many[1]);
    int error = MPI_SUCCESS, result = MPI_SUCCESS;
    for (int i = 0; i < 3 && result == MPI_SUCCESS; i++) {
        error = MPI_Startall(2, many);
        error = error != MPI_SUCCESS ? error : MPI_Waitall(2, many, statuses);
        result = error;
        for (int k = 0; k < 2 && class_of(error) == MPI_ERR_IN_STATUS; k++) {
            int class = class_of(statuses[k].MPI_ERROR);
            if (class != MPI_ERR_PENDING) {
                concerns(k, class);
                result = class != MPI_SUCCESS ? class : result;
            }
        }
    }
    if (result != MPI_SUCCESS) {
        MPIX_Comm_revoke(scene.comm);
    }
    for (int k = 0; k < 2; k++) {
        concerns(k, MPI_Wait(&many[k], MPI_STATUS_IGNORE)); /* inactive: at once */
        CHECK(MPI_Request_free(&many[k]) == MPI_SUCCESS);
    }
    return result;
}

const struct kill_row kill_point_rows[] = {
    {"send", send, NULL, ROW_PEER},
    {"isend", isend, NULL, ROW_PEER},
    {"send_init", send_init, NULL, ROW_PEER},
    {"ssend", ssend, NULL, ROW_PEER},
    {"issend", issend, NULL, ROW_PEER},
    {"ssend_init", ssend_init, NULL, ROW_PEER},
    {"partitioned", partitioned, NULL, ROW_PEER},
    {"rsend", rsend, NULL, ROW_PEER},
    {"irsend", irsend, NULL, ROW_PEER},
    {"bsend", bsend, NULL, ROW_PEER},
    {"ibsend", ibsend, NULL, ROW_PEER},
    {"request_free", request_free, NULL, ROW_PEER},
    {"cancel", cancel, NULL, ROW_PEER},
    {"probe", probe, NULL, ROW_PEER},
    {"mprobe", mprobe, NULL, ROW_PEER},
    {"recv_any", any_source, NULL, ROW_TO_0},
    {"probe_any", any_probe, NULL, ROW_TO_0},
    {"irecv_any", any_pending, NULL, ROW_TO_0},
    {"sendrecv", sendrecv, NULL, ROW_RING},
    {"sendrecv_any", sendrecv_any, NULL, ROW_FAILS},
    {"sendrecv_replace", sendrecv_replace, NULL, ROW_RING},
    {"isendrecv", isendrecv, NULL, ROW_RING},
    {"isendrecv_replace", isendrecv_replace, NULL, ROW_RING},
    {"waitall", waitall, NULL, ROW_FAILS},
    {"testall", testall, NULL, ROW_FAILS},
    {"waitany", waitany, NULL, ROW_FAILS},
    {"testany", testany, NULL, ROW_FAILS},
    {"waitsome", waitsome, NULL, ROW_FAILS},
    {"testsome", testsome, NULL, ROW_FAILS},
    {"startall", startall, NULL, ROW_FAILS},
    {NULL, NULL, NULL, 0},
};
