/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's side of the board (link/board.h), and its only writer. Words are written first; then
 * rz_board_writer_publish makes them visible as news and rings the doorbells of the node's
 * processes.
 */
#ifndef RZ_DAEMON_BOARD_WRITER_H
#define RZ_DAEMON_BOARD_WRITER_H

#include "base/status.h"
#include "daemon/state/own_node.h"
#include "link/board.h"

struct rz_board_writer;

struct rz_board_writer_config {
    const struct rz_own_node *own;
    uint32_t processors; /* the number that the processes of this node are bound to; 0: not bound */
    void *arg;
    void (*ring)(void *arg); /* rings the doorbells of all processes of this node */
};

/* Makes the board of the job and begins to renew its lease every hb_period. */
rz_status_t rz_board_writer_open(struct rz_board_writer **writer,
                                 const struct rz_board_writer_config *config);
void rz_board_writer_close(struct rz_board_writer *writer);

/* The board for processes: a descriptor that cannot be mapped writable. */
int rz_board_writer_fd(const struct rz_board_writer *writer);

/* Writes the node and the state of a rank. The state of an incarnation never returns to ALIVE. */
void rz_board_writer_rank(struct rz_board_writer *writer, uint32_t rank, uint32_t incarnation,
                          uint32_t node, enum rz_process_state state);
enum rz_process_state rz_board_writer_state(const struct rz_board_writer *writer, uint32_t rank);
/* Whether that process has failed or ended, or another one is in its place. */
bool rz_board_writer_gone(const struct rz_board_writer *writer, uint32_t rank,
                          uint32_t incarnation);
void rz_board_writer_phase(struct rz_board_writer *writer, uint32_t epoch,
                           enum rz_recover_phase phase);
void rz_board_writer_committed(struct rz_board_writer *writer, uint64_t generation);

/* Writes the address at which the process of rank is reached (rz_board_ring_word), unless a newer
 * one is known; only with --detector flat. */
void rz_board_writer_ring(struct rz_board_writer *writer, uint32_t rank, uint64_t word);

/* The snapshot of that number is wanted in this epoch (mpi/rewind). */
void rz_board_writer_snapshot(struct rz_board_writer *writer, uint32_t epoch, uint32_t number);

/* Adds a revocation to the log. */
void rz_board_writer_revoked(struct rz_board_writer *writer, uint64_t revocation);

/* Counts another daemon that is known to have failed. */
void rz_board_writer_node_failed(struct rz_board_writer *writer);

/* The processes of this node must end; the lease is withdrawn for good. Publishes. */
void rz_board_writer_stop(struct rz_board_writer *writer, rz_status_t why);

void rz_board_writer_publish(struct rz_board_writer *writer);

#endif
