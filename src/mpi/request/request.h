/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests. All of them come from one pool whose memory is never given back to the system, so a
 * stale handle reads a failed object, not foreign memory.
 *
 * States: made inactive -> rz_request_activate -> rz_request_complete -> destroyed by wait, test or
 * free (persistent ones: inactive again; shared ones: as before). Kinds of requests differ in their
 * rz_request_class: point-to-point messages, non-blocking collectives and others each have one.
 */
#ifndef RZ_MPI_REQUEST_H
#define RZ_MPI_REQUEST_H

#include "mpi/comm/comm.h"
#include "mpi/type/datatype.h"
#include "mpi/engine/waiting.h"
#include "mpi/engine/hooks.h"
#include "mpi/engine/send_desc.h"
#include "mpi/request/match_entry.h"

struct rz_request;
struct rz_bounce; /* bounce.h */

/* What differs between kinds of requests. Functions may be NULL. */
struct rz_request_class {
    const char *name;

    /* It can only be waited for: MPI_Cancel is an error, and so is MPI_Request_free while it is
     * active and not persistent. */
    bool waited_for;

    /* MPI_Start of a persistent request: MPI_SUCCESS (it is active or complete from then on), an
     * error class, RZM_ROLLBACK. */
    int (*start)(struct rz_request *request);

    /* Called in each round of progress while active; calls rz_request_complete when done. May start
     * messages and look at its own requests; must not wait. */
    void (*poll)(struct rz_request *request);
    bool polled_for_parts; /* only when one of its parts has completed (rz_request_part_of) */

    /* MPI_Cancel: best effort; completes the request with rz_status_set_cancelled if it worked. */
    void (*cancel)(struct rz_request *request);

    /* A call looks at a complete request, or ends its use: sets request->status; returns the error
     * that the call reports. */
    int (*query)(struct rz_request *request, bool ends);

    /* The job rolls back: abandons its own messages (rz_p2p_abandon); then the engine completes the
     * request. */
    void (*abandon)(struct rz_request *request);

    /* A call looks again at a request with a pending_error, which may not hold any more. */
    void (*look_again)(struct rz_request *request);

    /* The request is complete, and has a serial or RZ_REQUEST_BSEND: releases what belongs to
     * these. */
    void (*ended)(struct rz_request *request);

    /* For reports: sets what differs from a wait for any member of comm (engine/blocked.h). */
    void (*waits_for)(const struct rz_request *request, struct rz_blocked *blocked);

    /* Frees what `state` holds; the request is destroyed. */
    void (*destroy)(struct rz_request *request);
};

enum rz_request_flags {
    /* Set by the call; kept when a persistent request starts again. */
    RZ_REQUEST_PERSISTENT = 1 << 0,
    RZ_REQUEST_SEND = 1 << 1,
    RZ_REQUEST_SYNC = 1 << 2,     /* MPI_Ssend: not complete before the acknowledgement */
    RZ_REQUEST_BSEND = 1 << 3,    /* its payload counts towards the attached buffer (with COPY) */
    RZ_REQUEST_BLOCKING = 1 << 4, /* of a blocking call: a failure ends it if its source is
                                     ANY_SOURCE (a non-blocking one stays pending) */
    RZ_REQUEST_COPY = 1 << 5,     /* the payload is copied before the call returns */
    RZ_REQUEST_ALONE = 1 << 6,    /* of a send: the call waits for it, and for nothing else */
    RZ_REQUEST_OF_CALL = (1 << 7) - 1,
    /* The state of the request. */
    RZ_REQUEST_DETACHED =
        1 << 7, /* freed by the user, or a request of the library itself: destroyed when complete */
    RZ_REQUEST_NETWORK = 1 << 8,      /* the transport holds send_desc.op: its memory must stay */
    RZ_REQUEST_POSTED = 1 << 9,       /* in the matcher */
    RZ_REQUEST_PAYLOAD_DUE = 1 << 10, /* the transport has not taken the payload yet */
    RZ_REQUEST_ACK_DUE = 1 << 11,     /* the acknowledgement has not arrived yet */
    RZ_REQUEST_LOST = 1 << 12,       /* its connection is gone; a failure report of the daemons or a
                                        roll-back will end it */
    RZ_REQUEST_TRUNCATED = 1 << 13,  /* the message was longer than the buffer */
    RZ_REQUEST_CANCEL_DUE = 1 << 14, /* the receiver was asked whether the send can be cancelled */
    RZ_REQUEST_INQUIRED = 1 << 15,   /* its peer was asked about it (p2p/inquiry.h) */
    RZ_REQUEST_ANSWER_DUE = 1 << 16, /* a receive whose acknowledgement has not left yet (sync.h) */
    RZ_REQUEST_SHARED = 1 << 17,     /* rz_request_done and its like: never destroyed */
    RZ_REQUEST_PART = 1 << 18,       /* `state` is the request that it is a part of */
    RZ_REQUEST_WOKEN = 1 << 19,      /* one of its parts has completed: it is in engine.woken */
    RZ_REQUEST_ASKS = 1 << 20        /* its peer is to be asked about it: it is in engine.asking */
};

struct rz_request {
    struct rz_object object;
    const struct rz_request_class *class;
    uint32_t flags;
    bool active, complete;
    int error;                      /* MPI_SUCCESS or class, once complete */
    MPI_Status status;              /* once complete; for a receive: source, tag, bytes */
    struct rz_comm *comm;           /* retained; NULL: none */
    void *state;                    /* belongs to the class */
    struct rz_request *next, *prev; /* engine.active while active; the pool while free */
    /* engine.polled or engine.woken; of a message: engine.asking */
    struct rz_request *poll_next, *poll_prev;

    /* Point-to-point (p2p.c). */
    struct rz_match_entry match;   /* a receive: its key */
    struct rz_send_desc send_desc; /* the message in the transport */
    void *buffer;                  /* the user's, or a bounce buffer */
    MPI_Count count;
    struct rz_datatype *datatype; /* retained; NULL: none */
    void *packed; /* owned until complete: packed data of a non-contiguous datatype, or the payload
                     of a buffered send */
    size_t bytes; /* send: length of the payload; receive: length of the user's buffer */
    struct rz_bounce *bounces; /* owned: buffers in the place of sections; NULL: none */
    uint64_t serial;   /* a send that may wait for its receiver: its name in answers; also of a
                          receive with ANSWER_DUE; 0: none */
    int peer, tag;     /* as the user gave them: destination or source, and tag */
    int pending_error; /* MPI_ERR_PROC_FAILED_PENDING: a test or wait must report it; otherwise
                          MPI_SUCCESS */
    enum rz_context_offset context_offset;
};

/* A new request of that class, inactive, with one reference; comm is retained when not NULL. NULL:
 * no memory. */
struct rz_request *rz_request_new(const struct rz_request_class *class, struct rz_comm *comm);

/* As rz_request_new, in the caller's own memory: for a call that waits until the request has ended,
 * and then calls rz_request_clear. It is never destroyed, detached or given to the user. */
static inline void rz_request_init(struct rz_request *request, const struct rz_request_class *class,
                                   struct rz_comm *comm)
{
    rz_object_init(&request->object, RZ_OBJECT_REQUEST, 0);
    request->class = class;
    request->flags = 0;
    request->active = false;
    request->complete = false;
    request->error = MPI_SUCCESS;
    request->pending_error = MPI_SUCCESS;
    request->comm = comm;
    request->state = NULL;
    request->datatype = NULL;
    request->packed = NULL;
    request->bounces = NULL;
    request->serial = 0;
    rz_status_set_empty(&request->status);
    if (comm) {
        rz_comm_retain(comm);
    }
}

void rz_request_clear(struct rz_request *request);

/* A message, not complete, is a part of `whole`: when it completes, whole is polled once. So what
 * many pending operations cost in a round of progress is what of them has moved. */
void rz_request_part_of(struct rz_request *message, struct rz_request *whole);

/* The same without a message: whole, if it is active, is polled once. */
void rz_request_wake(struct rz_request *whole);

/* A message, active: it is listed in engine.asking until it completes, or asks no more. */
void rz_request_asks(struct rz_request *message);
void rz_request_asks_no_more(struct rz_request *message);

/* From now on the engine polls the request, ends it at a roll-back, and waits for it in
 * finalize. */
void rz_request_activate(struct rz_request *request);

/*
 * The request has ended; called once. error is MPI_SUCCESS, an error class or RZM_ROLLBACK;
 * request->status is set (for receives). Frees the request when detached. May be called without
 * activate, if the operation is done at once.
 */
void rz_request_complete(struct rz_request *request, int error);

/* RZ_Bounce_bind: *bounce becomes the request's, or ends at once if the request is complete and
 * does not start again. MPI_ERR_ARG: *bounce is NULL. */
int rzm_bounce_bind(struct rz_bounce **bounce, struct rz_request *request);

/* Destroys a request that is complete or was never active, unless it is shared. */
void rz_request_destroy(struct rz_request *request);

/* The user needs the request no more: it is destroyed now if it is inactive or complete, otherwise
 * when it completes. */
void rz_request_detach(struct rz_request *request);

/*
 * Requests that are complete from the start, for operations that need none of their own: all such
 * operations share them, so that one handle may be in use many times, and any number of times in
 * one array. They have no communicator, since they have no error. Their destruction changes
 * nothing; so does a roll-back.
 */
extern struct rz_request rz_request_done; /* an empty status: a send that left at once */
extern struct rz_request
    rz_request_no_proc; /* the status of a matched receive from MPI_PROC_NULL */

/* MPI_Cancel of a generalised request (grequest.c): calls the user's cancel_fn, whether or not the
 * operation has ended. False: request is none; otherwise *error is what the function returned. */
bool rz_grequest_cancel(struct rz_request *request, int *error);

extern const struct rz_hooks rz_request_hooks;

/* At a roll-back: all active requests end with RZM_ROLLBACK. The transports hold no memory any
 * more. */
void rz_requests_abandon(void);

/* Whether all sends of this session (0: of none, as in the World Model; RZ_SESSION_ANY: of all) are
 * done. A receive that is never matched does not count. */
#define RZ_SESSION_ANY UINT64_MAX
bool rz_requests_sent(uint64_t session);

/* Ends all requests, of the user and of the library, active or not: at a roll-back and in
 * finalize. */
void rz_requests_close(void);

#endif
