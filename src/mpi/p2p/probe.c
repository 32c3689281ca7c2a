/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at messages before they are received: MPI_Probe, MPI_Mprobe and variants. */
#include "mpi/p2p/probe.h"

#include "mpi/p2p/message.h"
#include "mpi/p2p/p2p.h"
#include "mpi/engine/peer.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

/* MPI_Message: a message that was taken out of the matcher by a probe. */
struct rz_matched {
    struct rz_object object;
    struct rz_comm *comm; /* retained */
    struct rz_early *message;
    struct rz_matched *next, *prev; /* list of all of them, for the roll-back */
};

static struct rz_matched *matched_first;
static struct rz_matched no_proc = {
    .object = {.magic = RZ_OBJECT_MAGIC + RZ_OBJECT_MATCHED, .predefined = 0x129, .references = 1}};

struct rz_matched *rz_matched_predefined(unsigned handle)
{
    return handle == 0x129 ? &no_proc : NULL;
}

struct rz_comm *rz_matched_comm(const struct rz_matched *matched)
{
    return matched->comm;
}

static void fill_status(const struct rz_early *message, MPI_Status *status)
{
    if (status) {
        rz_status_set_empty(status);
        status->MPI_SOURCE = message->envelope.source;
        status->MPI_TAG = message->envelope.tag;
        rz_status_set_bytes(status, (int64_t)message->bytes);
    }
}

static void fill_status_no_proc(MPI_Status *status)
{
    if (status) {
        rz_status_set_empty(status);
        status->MPI_SOURCE = MPI_PROC_NULL;
    }
}

/* ---- Looking for a message ---- */

struct look {
    struct rz_comm *comm;
    int source, tag;
    struct rz_early *found;
    int error; /* the error of a failure or revocation, if no message is found */
};

static struct rz_early *find(const struct look *look, bool take)
{
    return rz_message_find(look->comm, RZ_CONTEXT_OFFSET_POINT, look->source, look->tag, take);
}

/* Whether a message was found, or the probe must end with an error (revoked, failed source, a
 * failure not acknowledged: p2p.c). A message that has arrived is found first. */
static bool found_or_refused(void *arg)
{
    struct look *look = arg;
    look->found = find(look, false);
    if (look->found) {
        return true;
    }
    if (look->comm->revoked) {
        look->error = MPI_ERR_REVOKED;
    } else if (rz_liveness.n_failed > 0 && look->source == MPI_ANY_SOURCE) {
        bool news = rz_comm_failed(look->comm) > (int)look->comm->acknowledged;
        look->error = news ? MPI_ERR_PROC_FAILED : MPI_SUCCESS;
    } else if (look->source != MPI_ANY_SOURCE) {
        bool failed = rz_process_failed(rz_comm_process(look->comm, look->source));
        look->error = failed ? MPI_ERR_PROC_FAILED : MPI_SUCCESS;
    }
    return look->error != MPI_SUCCESS;
}

static int look_wait(struct look *look, const char *call)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (!found_or_refused(look)) {
        bool any = look->source == MPI_ANY_SOURCE;
        int64_t peer = any ? -1 : (int64_t)rz_comm_process(look->comm, look->source);
        struct rz_blocked blocked = {
            .call = call, .comm = look->comm, .peer = peer, .tag = look->tag};
        error = rz_engine_wait(&blocked, found_or_refused, look);
    }
    return error != MPI_SUCCESS ? error : look->error;
}

static int look_once(struct look *look)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && !found_or_refused(look)) {
        if (rz_engine_progress() == 0 && rz_engine_yields()) {
            rz_engine_yield();
        }
        error = rz_engine.rollback ? RZM_ROLLBACK : MPI_SUCCESS;
        found_or_refused(look);
    }
    return error != MPI_SUCCESS ? error : look->error;
}

int rzm_probe(int source, int tag, struct rz_comm *comm, MPI_Status *status)
{
    struct look look = {.comm = comm, .source = source, .tag = tag};
    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        return MPI_SUCCESS;
    }
    int error = look_wait(&look, "MPI_Probe");
    if (error == MPI_SUCCESS) {
        fill_status(look.found, status);
    }
    return error;
}

int rzm_iprobe(int source, int tag, struct rz_comm *comm, int *flag, MPI_Status *status)
{
    struct look look = {.comm = comm, .source = source, .tag = tag};
    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        *flag = 1;
        return MPI_SUCCESS;
    }
    int error = look_once(&look);
    if (error == MPI_SUCCESS) {
        *flag = look.found != NULL;
        if (*flag) {
            fill_status(look.found, status);
        }
    }
    return error;
}

/* ---- Taking a message out ---- */

static int take_matched(const struct look *look, struct rz_matched **matched, MPI_Status *status)
{
    struct rz_matched *made = calloc(1, sizeof(*made));
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    rz_object_init(&made->object, RZ_OBJECT_MATCHED, 0);
    made->comm = look->comm;
    rz_comm_retain(look->comm);
    made->message = find(look, true);
    made->next = matched_first;
    if (made->next) {
        made->next->prev = made;
    }
    matched_first = made;
    fill_status(made->message, status);
    *matched = made;
    return MPI_SUCCESS;
}

static void matched_free(struct rz_matched *matched)
{
    *(matched->prev ? &matched->prev->next : &matched_first) = matched->next;
    if (matched->next) {
        matched->next->prev = matched->prev;
    }
    rz_comm_release(matched->comm);
    rz_object_release(&matched->object);
    free(matched);
}

void rz_matched_close(void)
{
    while (matched_first) {
        rz_message_drop(matched_first->message);
        matched_free(matched_first);
    }
}

/* Of a revoked communicator: its sender has ended the message, and would not answer. */
static void leave_payload(struct rz_early *message)
{
    if (message->token) {
        rz_peer_drop(rz_message_from(&message->envelope), message->path, message->token);
        message->token = NULL;
        message->bytes = 0;
    }
}

void rz_matched_revoked(const struct rz_comm *comm)
{
    for (struct rz_matched *matched = matched_first; matched; matched = matched->next) {
        if (matched->comm == comm) {
            leave_payload(matched->message);
        }
    }
}

int rzm_mprobe(int source, int tag, struct rz_comm *comm, struct rz_matched **message,
               MPI_Status *status)
{
    struct look look = {.comm = comm, .source = source, .tag = tag};
    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        *message = &no_proc;
        return MPI_SUCCESS;
    }
    int error = look_wait(&look, "MPI_Mprobe");
    return error != MPI_SUCCESS ? error : take_matched(&look, message, status);
}

int rzm_improbe(int source, int tag, struct rz_comm *comm, int *flag, struct rz_matched **message,
                MPI_Status *status)
{
    struct look look = {.comm = comm, .source = source, .tag = tag};
    if (source == MPI_PROC_NULL) {
        fill_status_no_proc(status);
        *message = &no_proc;
        *flag = 1;
        return MPI_SUCCESS;
    }
    int error = look_once(&look);
    if (error == MPI_SUCCESS) {
        *flag = look.found != NULL;
        error = *flag ? take_matched(&look, message, status) : MPI_SUCCESS;
    }
    return error;
}

void rz_matched_each(void (*visit)(struct rz_early *message, void *arg), void *arg)
{
    for (struct rz_matched *matched = matched_first; matched; matched = matched->next) {
        visit(matched->message, arg);
    }
}

/* ---- Receiving a message that was taken out ---- */

int rzm_imrecv(void *buf, MPI_Count count, struct rz_datatype *datatype, struct rz_matched *matched,
               struct rz_request **request)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (matched == &no_proc) {
        *request = &rz_request_no_proc;
        return MPI_SUCCESS;
    }
    struct rz_early *message = matched->message;
    struct rz_request *made =
        rz_p2p_new(&(struct rz_p2p_message){.buffer = buf,
                                            .count = count,
                                            .datatype = datatype,
                                            .peer = message->envelope.source,
                                            .tag = message->envelope.tag,
                                            .comm = matched->comm,
                                            .context_offset = RZ_CONTEXT_OFFSET_POINT});
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    if (matched->comm->revoked) {
        leave_payload(message); /* the probe may have found it after the revocation */
    }
    matched_free(matched);
    rz_p2p_meet(made, message);
    *request = made;
    return MPI_SUCCESS;
}

int rzm_mrecv(void *buf, MPI_Count count, struct rz_datatype *datatype, struct rz_matched *matched,
              MPI_Status *status)
{
    struct rz_request *request;
    int error = rzm_imrecv(buf, count, datatype, matched, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Mrecv", status);
}
