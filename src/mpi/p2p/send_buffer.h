/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The buffers that the user attaches for buffered sends. Nothing is stored in an attached buffer:
 * payloads are copied to memory of the library, and the size of the buffer only limits how much may
 * be on its way at a time. So the user's memory holds none of the library's data.
 *
 * A send counts towards the buffer of its communicator, else of the communicator's session, else of
 * the process.
 */
#ifndef RZ_MPI_SEND_BUFFER_H
#define RZ_MPI_SEND_BUFFER_H

#include "mpi/request/request.h"

enum rz_buffer_owner { RZ_BUFFER_OF_PROCESS, RZ_BUFFER_OF_COMM, RZ_BUFFER_OF_SESSION };

struct rz_send_buffer {
    enum rz_buffer_owner kind;
    uint64_t owner; /* context id or session id; both are never used again */
    void *address;
    MPI_Count size, used;
    unsigned references; /* one of the list while attached, and one of each MPI_Buffer_iflush */
    struct rz_send_buffer *next;
};

/* The buffer of a send that has no request yet. */
extern struct rz_send_buffer *rz_send_buffer_starting;

/* Attaches the user's buffer. MPI_ERR_BUFFER, MPI_ERR_NO_MEM. */
int rz_send_buffer_attach(enum rz_buffer_owner kind, uint64_t owner, void *address, MPI_Count size);

/* The place in the list that holds the owner's buffer; *place NULL: none is attached. */
struct rz_send_buffer **rz_send_buffer_find(enum rz_buffer_owner kind, uint64_t owner);

/* Takes the buffer at that place out of the list; releases one reference. */
void rz_send_buffer_detach(struct rz_send_buffer **at);
void rz_send_buffer_release(struct rz_send_buffer *buffer);

/* The buffer that sends on comm count towards; NULL: there is none. */
struct rz_send_buffer *rz_send_buffer_for(const struct rz_comm *comm);

/* Takes so many bytes of it. MPI_ERR_BUFFER: it has too little left, or is NULL. */
int rz_send_buffer_reserve(struct rz_send_buffer *buffer, MPI_Count bytes);

/* A buffered send has ended: its share of its buffer is free again. */
void rz_send_buffer_ended(struct rz_request *request);

/* The session or communicator of that id ends; its buffer is detached, unless messages count
 * towards it (of a session none do). */
void rz_send_buffer_owner_ends(enum rz_buffer_owner kind, uint64_t owner);

/* At a roll-back and in finalize: detaches all buffers. */
void rz_send_buffers_close(void);

/* ---- For the user's calls, of which `call` names one; buffered.c ---- */

/* Waits until no message counts towards the owner's buffer any more, also where none is attached.
 * MPI_SUCCESS or RZM_ROLLBACK. */
int rz_buffered_flush(enum rz_buffer_owner kind, uint64_t owner, const char *call);

/* As rz_buffered_flush, and detaches the buffer. MPI_ERR_BUFFER: none is attached. */
int rz_buffered_detach(enum rz_buffer_owner kind, uint64_t owner, const char *call, void *address,
                       MPI_Count *size);

/* Makes a request that completes when rz_buffered_flush would return. */
int rz_buffered_iflush(enum rz_buffer_owner kind, uint64_t owner, struct rz_request **request);

#endif
