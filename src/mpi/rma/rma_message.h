/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending messages about windows. They are control messages of the window's communicator, and
 * arrive at a member in the order in which another one sends them, except for those that are too
 * long for the transport to send along.
 *
 * None is sent from inside a callback of a transport: there they are put into a list, which the
 * next round of progress sends.
 */
#ifndef RZ_MPI_RMA_MESSAGE_H
#define RZ_MPI_RMA_MESSAGE_H

#include "mpi/rma/rma_apply.h"
#include "net/net.h"
#include "wire/window_messages.h"

/* The longest payload that keeps its place in the order. */
enum { RZ_RMA_ORDERED_MAX = RZ_NET_EAGER_LEAST };

/* Sends a message without data to member `rank`: what, and the number of an operation. Messages of
 * this process to itself take effect at once (rz_rma_receive). */
void rz_rma_tell(struct rz_win *win, int rank, enum rz_rma_kind kind, uint32_t what,
                 uint64_t number);

/* Tells that process that this one has no window whose communicator has that context. */
void rz_rma_tell_left(uint32_t process, uint64_t context);

/* How long the message of an operation is. */
size_t rz_rma_message_bytes(const struct rz_rma_operation *operation);

/* The message of an operation, to be done at that address, with a copy of its data. NULL: no
 * memory. */
struct rz_control_message *rz_rma_operation_message(const struct rz_win *win,
                                                    const struct rz_rma_operation *operation,
                                                    uint64_t at, uint64_t number);
/* Sends it to member `rank`; rz_rma_list: with the next round of progress. */
void rz_rma_send(const struct rz_win *win, int rank, struct rz_control_message *message);
void rz_rma_list(const struct rz_win *win, int rank, struct rz_control_message *message);

/* Announces a put of that many bytes at that address, or asks for them. MPI_ERR_NO_MEM. */
int rz_rma_send_row_head(struct rz_win *win, int rank, const struct rz_rma_operation *operation,
                         uint64_t at, uint64_t number);

/* An answer with `bytes` of result, which the caller writes to *result before it calls
 * rz_rma_list. NULL: no memory, on which the process must end. */
struct rz_control_message *rz_rma_answer_new(const struct rz_win *win, uint64_t number, int error,
                                             size_t bytes, char **result);

/* Sends what was put into the list. The work RZ_WORK_WINDOWS. */
unsigned rz_rma_send_listed(void);

/* Whether the list is empty. */
bool rz_rma_all_sent(void);

/* Drops the list: at the end of an epoch. */
void rz_rma_drop_listed(void);

/* Reads the shapes of an operation, to be ended by rz_rma_operation_end. *data: its data. False: it
 * is malformed, or there is no memory. */
bool rz_rma_operation_get(const struct rz_window_message *head, struct rz_wire_reader *reader,
                          struct rz_rma_operation *operation);
void rz_rma_operation_end(struct rz_rma_operation *operation);

#endif
