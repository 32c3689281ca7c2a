/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests. All of them come from one pool whose memory is never given back to the system, so a
 * stale handle reads a failed object, not foreign memory.
 *
 * Life: made inactive -> rz_request_activate -> rz_request_complete -> given back by wait, test or
 * free (persistent ones: back to inactive). What a class adds is behind rz_request_class:
 * point-to-point has its own, non-blocking collectives bring theirs.
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

/* What kinds of requests differ in. Functions may be NULL. */
struct rz_request_class {
    const char *name;

    /* Ends by waiting alone: MPI_Cancel is an error, and so is MPI_Request_free of one that is not
     * persistent and going on. */
    bool waited_for;

    /* MPI_Start of a persistent request: MPI_SUCCESS (active or complete from then on), an error
     * class, RZM_ROLLBACK. */
    int (*start)(struct rz_request *request);

    /* Called in each round of progress while active; calls rz_request_complete when done. May start
     * messages and look at its own ones, must not wait. */
    void (*poll)(struct rz_request *request);

    /* MPI_Cancel: best effort; completes the request with rz_status_set_cancelled if it worked. */
    void (*cancel)(struct rz_request *request);

    /* A complete one is looked at, or its use ends: sets request->status; the error that the call
     * tells. */
    int (*query)(struct rz_request *request, bool ends);

    /* The job rolls back: let go of own messages (rz_p2p_abandon); then the engine completes it. */
    void (*abandon)(struct rz_request *request);

    /* One with a pending_error is looked at again: it may have lost it meanwhile. */
    void (*look_again)(struct rz_request *request);

    /* It is complete, and has a serial or RZ_REQUEST_BSEND: gives back what is kept for that. */
    void (*ended)(struct rz_request *request);

    /* For reports: sets what differs from a wait for anybody of comm (engine/blocked.h). */
    void (*waits_for)(const struct rz_request *request, struct rz_blocked *blocked);

    /* Free what `state` holds; the request goes. */
    void (*destroy)(struct rz_request *request);
};

enum rz_request_flags {
    /* Of the call; kept when a persistent request starts again. */
    RZ_REQUEST_PERSISTENT = 1 << 0,
    RZ_REQUEST_SEND = 1 << 1,
    RZ_REQUEST_SYNC = 1 << 2,     /* MPI_Ssend: not before the acknowledgement */
    RZ_REQUEST_BSEND = 1 << 3,    /* its payload counts against the attached buffer (with COPY) */
    RZ_REQUEST_BLOCKING = 1 << 4, /* behind a blocking call: ANY_SOURCE with a failure ends it (else
                                     it stays pending) */
    RZ_REQUEST_COPY = 1 << 5,     /* the payload is copied before the call returns */
    RZ_REQUEST_OF_CALL = (1 << 6) - 1,
    /* Of its life. */
    RZ_REQUEST_DETACHED =
        1 << 6, /* freed by the user, or of the library itself: goes when complete */
    RZ_REQUEST_NETWORK = 1 << 7,     /* the transport holds send descriptor.op: memory must stay */
    RZ_REQUEST_POSTED = 1 << 8,      /* in the matcher */
    RZ_REQUEST_PAYLOAD_DUE = 1 << 9, /* the payload was not taken over yet */
    RZ_REQUEST_ACK_DUE = 1 << 10,    /* the acknowledgement has not come yet */
    RZ_REQUEST_LOST =
        1 << 11, /* its connection is gone; the daemons' verdict or a roll-back will end it */
    RZ_REQUEST_TRUNCATED = 1 << 12,  /* the message was longer than the room for it */
    RZ_REQUEST_CANCEL_DUE = 1 << 13, /* the receiver was asked whether it can be cancelled */
    RZ_REQUEST_INQUIRED = 1 << 14,   /* its peer was asked about it (p2p/inquiry.h) */
    RZ_REQUEST_ANSWER_DUE = 1 << 15  /* a receive whose acknowledgement has not left yet (sync.h) */
};

struct rz_request {
    struct rz_object object;
    const struct rz_request_class *class;
    uint32_t flags;
    bool active, complete;
    int error;                      /* MPI_SUCCESS or class, once complete */
    MPI_Status status;              /* once complete; for a receive: source, tag, bytes */
    struct rz_comm *comm;           /* retained; NULL: none */
    void *state;                    /* of the class */
    struct rz_request *next, *prev; /* engine.active while active; the pool while free */
    struct rz_request *poll_next, *poll_prev;

    /* Point-to-point (p2p.c). */
    struct rz_match_entry match;   /* a receive: its key */
    struct rz_send_desc send_desc; /* what the transport moves */
    void *buffer;                  /* the user's */
    MPI_Count count;
    struct rz_datatype *datatype; /* retained while needed */
    void *packed;    /* owned until complete: packed data of a non-contiguous type, payload of a
                        buffered send */
    size_t bytes;    /* send: of the payload; receive: room in the user's buffer */
    uint64_t serial; /* of a send that may wait for its receiver: names it in answers; of a receive
                        with ANSWER_DUE; or 0 */
    int peer, tag;   /* as the user gave them: dest or source */
    int pending_error; /* MPI_ERR_PROC_FAILED_PENDING: a test or wait must tell; else MPI_SUCCESS */
    enum rz_context_offset context_offset;
};

/* A request of that class, inactive, one reference; comm is retained when not NULL. NULL: no
 * memory. */
struct rz_request *rz_request_new(const struct rz_request_class *class, struct rz_comm *comm);

/* From now on the engine knows it: it is polled, ended at a roll-back, waited for by finalize. */
void rz_request_activate(struct rz_request *request);

/* It has ended, once: error is MPI_SUCCESS, an error class or RZM_ROLLBACK; request->status is set
 * (for receives). Frees it when detached. May be called without activate (done at once). */
void rz_request_complete(struct rz_request *request, int error);

/* Give back one that is complete or never was active. */
void rz_request_destroy(struct rz_request *request);

/* Nobody asks for it any more: it goes now if it is inactive or complete, else when it completes.
 */
void rz_request_detach(struct rz_request *request);

/* A request that is complete from the start, with an empty status: for MPI_PROC_NULL and empty
 * operations. */
int rz_request_new_complete(struct rz_comm *comm, struct rz_request **request);

extern const struct rz_hooks rz_request_hooks;

/* At a roll-back: all active requests end with RZM_ROLLBACK. The transports hold nothing any more.
 */
void rz_requests_abandon(void);

/* Ends of all requests, of the user and of the library, active or not: at a roll-back and in
 * finalize. */
void rz_requests_close(void);

#endif
