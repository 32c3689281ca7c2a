/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board: one page set per node, written by the node's daemon alone, read by its processes. It
 * holds what a process must learn at once, as single atomic words: epoch and phase, the state of
 * each rank, the lease.
 *
 * Order of writing at an event: rank words, then epoch or phase, then `news`, then the doorbells
 * are rung. A reader loads `news` with acquire; when it has changed, it reads the rest.
 */
#ifndef RZ_LINK_BOARD_H
#define RZ_LINK_BOARD_H

#include "port/address.h"
#include "wire/slots.h"

#include <rhizome/types.h>

#include <stdatomic.h>

#define RZ_BOARD_MAGIC UINT32_C(0x52485a42) /* "BZHR" */
#define RZ_BOARD_LAYOUT 6

enum rz_process_state {
    RZ_PROCESS_ALIVE,
    RZ_PROCESS_FAILED,
    RZ_PROCESS_HUNG,
    RZ_PROCESS_DISCONNECTED,
    RZ_PROCESS_ENDED
};

/* One word per slot: incarnation (32 bits), node (24), state (8). Slots 0..n_ranks-1 are the ranks;
 * a slot behind them that never had a process has the word 0. */
static inline uint64_t rz_board_rank_word(uint32_t incarnation, uint32_t node,
                                          enum rz_process_state state)
{
    return (uint64_t)incarnation << 32 | (uint64_t)(node & 0xFFFFFF) << 8 | (uint64_t)state;
}
static inline uint32_t rz_board_incarnation(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
static inline uint32_t rz_board_node(uint64_t word)
{
    return (uint32_t)(word >> 8) & 0xFFFFFF;
}
static inline enum rz_process_state rz_board_state(uint64_t word)
{
    return (enum rz_process_state)(word & 0xFF);
}

/* Flags of a board. */
#define RZ_BOARD_ONE_HOST                                                                          \
    1u /* all nodes of the job are on one machine: its processors serve all ranks */

#define RZ_BOARD_OWN_NAMES 16u /* each node has a host name of its own, also on one machine */

#define RZ_BOARD_OVERSUBSCRIBED                                                                    \
    128u /* the ranks of the job outnumber its processors: the same on all nodes */
#define RZ_BOARD_NO_REPAIR 2u /* failures are errors, also inside MPIX_Reinit */
#define RZ_BOARD_NO_FT 4u     /* the first failure ends the job: no state must outlive one */
#define RZ_BOARD_REWIND 32u   /* ranks are restored from images of their memory (mpi/rewind) */
#define RZ_BOARD_BOUND 8u     /* processes have cores of their own; `processors` counts these */
#define RZ_BOARD_TRAFFIC 256u /* processes count what they send to each other (link/waits.h) */

/* With --detector flat, behind the words of the slots: a word for each slot, where its process
 * receives datagrams: low bits of its incarnation's number (16 bits), port (16), node (32); 0: not
 * known yet. Then, for each node, its IP address (port/address.h), which never changes. */
#define RZ_BOARD_RING 64u

static inline uint64_t rz_board_ring_word(uint32_t incarnation, uint32_t node, uint16_t port)
{
    return (uint64_t)(incarnation & 0xFFFF) << 48 | (uint64_t)port << 32 | node;
}
static inline uint32_t rz_board_ring_incarnation(uint64_t word)
{
    return (uint32_t)(word >> 48);
}
static inline uint16_t rz_board_ring_port(uint64_t word)
{
    return (uint16_t)(word >> 32);
}
static inline uint32_t rz_board_ring_node(uint64_t word)
{
    return (uint32_t)word;
}

/* lease_ns of a daemon whose silence has no consequence: failures are not survived, or it is the
 * only one. */
#define RZ_BOARD_LEASE_FOREVER (UINT64_MAX / 4)

/* Words of the log of revocations; tests use fewer. */
#define RZ_BOARD_REVOCATIONS_MAX 4096u

struct rz_board {
    uint32_t magic, layout;
    uint32_t n_ranks, n_nodes, node, flags;
    uint32_t processors; /* number of processors that the processes of this node share; without
                            RZ_BOARD_BOUND those of its machine that the daemon may use; 0: less
                            than one */
    uint32_t n_slots;    /* n_ranks or more */
    uint64_t job;
    uint32_t revocations_max;           /* number of words of the log below that are used */
    uint64_t hb_period_ns, lease_ns;    /* the lease is valid lease_ns after its last renewal */
    _Alignas(64) _Atomic uint64_t news; /* grows with each change below */
    _Atomic uint64_t epoch_phase;       /* epoch << 8 | enum rz_recover_phase */
    _Atomic uint64_t lease_renewed_ns;  /* CLOCK_MONOTONIC at the last renewal; 0: the daemon has
                                           withdrawn the lease */
    _Atomic uint64_t committed;    /* how many checkpoints of the current epoch are committed */
    _Atomic uint64_t nodes_failed; /* number of daemons known as failed */
    _Atomic uint64_t stop;         /* not 0: the processes of this node must end (rz_status_t) */
    /* The log of revocations: their total number, and the last ones: the i-th (from 0) is in word i
     * % revocations_max. A word is written before it is counted. */
    _Atomic uint64_t revocations;
    _Atomic uint64_t rank_news; /* grows after each change of a word of `rank` */
    _Atomic uint64_t snapshot;  /* epoch << 32 | the number of the snapshot that is wanted in it */
    _Alignas(64) _Atomic uint64_t revocation[RZ_BOARD_REVOCATIONS_MAX];
    _Alignas(64) _Atomic uint64_t rank[]; /* [n_slots] rz_board_rank_word */
};

/* Whether a failure has any effect other than the end of the job. */
static inline bool rz_board_fault_tolerant(const struct rz_board *board)
{
    return !(board->flags & RZ_BOARD_NO_FT);
}

static inline size_t rz_board_bytes(uint32_t n_slots)
{
    return sizeof(struct rz_board) + (size_t)n_slots * sizeof(uint64_t);
}

/* The size of a board with what RZ_BOARD_RING adds. */
static inline size_t rz_board_bytes_ring(uint32_t n_slots, uint32_t n_nodes)
{
    return rz_board_bytes(n_slots) + (size_t)n_slots * sizeof(uint64_t) +
           (size_t)n_nodes * RZ_IP_BYTES;
}

/* The place of a node's IP address on a board with RZ_BOARD_RING. */
static inline size_t rz_board_node_ip(const struct rz_board *board, uint32_t node)
{
    return rz_board_bytes_ring(board->n_slots, node);
}

#endif
