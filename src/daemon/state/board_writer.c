/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the board in memory that only the daemon can write, writes its words with atomic stores,
 * and renews the lease with a timer. */
#include "daemon/state/board_writer.h"

#include "base/assert.h"
#include "daemon/state/loop.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "port/memory.h"
#include "port/nudge.h"
#include "port/processor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number of heartbeat timeouts that a lease lasts. A daemon considered failed thus stops its
 * processes, too. */
#define LEASE_TIMEOUTS 3

struct rz_board_writer {
    struct rz_board_writer_config config;
    struct rz_board *board;
    size_t bytes;
    int fd;
    struct event *lease;
};

static void lease_renew(evutil_socket_t fd, short what, void *arg)
{
    struct rz_board_writer *writer = arg;
    (void)fd, (void)what;
    if (atomic_load_explicit(&writer->board->stop, memory_order_relaxed) == 0) {
        atomic_store_explicit(&writer->board->lease_renewed_ns, rz_clock_now(),
                              memory_order_release);
    }
}

/* RZ_REVOCATION_LOG sets the size of the log, for tests of its overflow. */
static uint32_t log_words(void)
{
    const char *text = getenv("RZ_REVOCATION_LOG");
    unsigned long words = text ? strtoul(text, NULL, 10) : 0;
    return words >= 2 && words < RZ_BOARD_REVOCATIONS_MAX ? (uint32_t)words
                                                          : RZ_BOARD_REVOCATIONS_MAX;
}

static rz_status_t board_create(struct rz_board_writer *writer)
{
    const struct rz_daemon_job *job = &writer->config.own->job;
    int fd;
    void *at;
    bool ring = job->detector == RZ_DETECTOR_FLAT && !(job->flags & RZ_JOB_NO_FT);
    writer->bytes =
        ring ? rz_board_bytes_ring(job->n_slots, job->n_nodes) : rz_board_bytes(job->n_slots);
    rz_status_t status = rz_memory_create_own("rhizome-board", writer->bytes, &at, &fd);
    if (status != RZ_OK) {
        return status;
    }
    writer->board = at;
    status = rz_descriptor_read_only(fd, &writer->fd);
    close(fd);
    if (status != RZ_OK) {
        return status;
    }
    struct rz_board *board = writer->board;
    board->magic = RZ_BOARD_MAGIC;
    board->layout = RZ_BOARD_LAYOUT;
    board->n_ranks = job->n_ranks;
    board->n_slots = job->n_slots;
    board->n_nodes = job->n_nodes;
    board->node = job->node;
    board->revocations_max = log_words();
    board->job = job->id;
    board->hb_period_ns = job->hb_period_ns;
    bool one_machine = job->flags & RZ_JOB_ONE_MACHINE;
    board->flags = (rz_job_single_host(job) || one_machine ? RZ_BOARD_ONE_HOST : 0) |
                   (one_machine ? RZ_BOARD_OWN_NAMES : 0) |
                   (job->flags & RZ_JOB_OVERSUBSCRIBED ? RZ_BOARD_OVERSUBSCRIBED : 0) |
                   (job->flags & RZ_JOB_REWIND ? RZ_BOARD_REWIND : 0) |
                   (job->flags & RZ_JOB_TRAFFIC ? RZ_BOARD_TRAFFIC : 0) |
                   (job->flags & RZ_JOB_REPAIR_NEVER ? RZ_BOARD_NO_REPAIR : 0);
    board->processors = writer->config.processors;
    if (board->processors > 0) {
        board->flags |= RZ_BOARD_BOUND;
    } else {
        board->processors = rz_processor_count();
    }
    if (job->flags & RZ_JOB_NO_FT) {
        board->flags |= RZ_BOARD_NO_FT;
    }
    if (ring) {
        board->flags |= RZ_BOARD_RING;
        for (uint32_t node = 0; node < job->n_nodes; node++) {
            memcpy((uint8_t *)board + rz_board_node_ip(board, node), job->peers[node].address.ip,
                   RZ_IP_BYTES);
        }
    }
    /* On the only node no other node could go on without these processes: ending them would be of
     * no use. */
    bool forever = (job->flags & RZ_JOB_NO_FT) || job->n_nodes == 1;
    board->lease_ns = forever ? RZ_BOARD_LEASE_FOREVER : LEASE_TIMEOUTS * job->hb_timeout_ns;
    return RZ_OK;
}

rz_status_t rz_board_writer_open(struct rz_board_writer **result,
                                 const struct rz_board_writer_config *config)
{
    struct rz_board_writer *writer = calloc(1, sizeof(*writer));
    if (!writer) {
        return RZ_ERR_NO_MEMORY;
    }
    writer->config = *config;
    writer->fd = -1;
    rz_status_t status = board_create(writer);
    if (status == RZ_OK) {
        lease_renew(-1, 0, writer);
        status = rz_loop_timer(config->own->base, &writer->lease, lease_renew, writer);
    }
    if (status != RZ_OK) {
        rz_board_writer_close(writer);
        return status;
    }
    rz_loop_arm_every(writer->lease, config->own->job.hb_period_ns);
    *result = writer;
    return RZ_OK;
}

void rz_board_writer_close(struct rz_board_writer *writer)
{
    if (!writer) {
        return;
    }
    rz_loop_free(writer->lease);
    if (writer->board) {
        rz_memory_unmap(writer->board, writer->bytes);
    }
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    free(writer);
}

int rz_board_writer_fd(const struct rz_board_writer *writer)
{
    return writer->fd;
}

void rz_board_writer_rank(struct rz_board_writer *writer, uint32_t rank, uint32_t incarnation,
                          uint32_t node, enum rz_process_state state)
{
    rz_assert(rank < writer->board->n_slots);
    uint64_t before = atomic_load_explicit(&writer->board->rank[rank], memory_order_relaxed);
    rz_assert(rz_board_incarnation(before) <= incarnation);
    if (rz_board_incarnation(before) == incarnation && rz_board_state(before) != RZ_PROCESS_ALIVE) {
        return;
    }
    atomic_store_explicit(&writer->board->rank[rank], rz_board_rank_word(incarnation, node, state),
                          memory_order_release);
    atomic_fetch_add_explicit(&writer->board->rank_news, 1, memory_order_release);
}

enum rz_process_state rz_board_writer_state(const struct rz_board_writer *writer, uint32_t rank)
{
    return rz_board_state(atomic_load_explicit(&writer->board->rank[rank], memory_order_relaxed));
}

bool rz_board_writer_gone(const struct rz_board_writer *writer, uint32_t rank, uint32_t incarnation)
{
    uint64_t word = atomic_load_explicit(&writer->board->rank[rank], memory_order_relaxed);
    uint32_t newest = rz_board_incarnation(word);
    return newest > incarnation ||
           (newest == incarnation && rz_board_state(word) != RZ_PROCESS_ALIVE);
}

void rz_board_writer_phase(struct rz_board_writer *writer, uint32_t epoch,
                           enum rz_recover_phase phase)
{
    atomic_store_explicit(&writer->board->epoch_phase, (uint64_t)epoch << 8 | (uint64_t)phase,
                          memory_order_release);
}

void rz_board_writer_committed(struct rz_board_writer *writer, uint64_t generation)
{
    atomic_store_explicit(&writer->board->committed, generation, memory_order_release);
}

void rz_board_writer_ring(struct rz_board_writer *writer, uint32_t rank, uint64_t word)
{
    struct rz_board *board = writer->board;
    rz_assert(board->flags & RZ_BOARD_RING && rank < board->n_ranks);
    _Atomic uint64_t *at = &board->rank[board->n_slots + rank];
    uint64_t before = atomic_load_explicit(at, memory_order_relaxed);
    if (rz_board_ring_incarnation(before) <= rz_board_ring_incarnation(word)) {
        atomic_store_explicit(at, word, memory_order_release);
    }
}

void rz_board_writer_snapshot(struct rz_board_writer *writer, uint32_t epoch, uint32_t number)
{
    atomic_store_explicit(&writer->board->snapshot, (uint64_t)epoch << 32 | number,
                          memory_order_release);
}

void rz_board_writer_revoked(struct rz_board_writer *writer, uint64_t revocation)
{
    struct rz_board *board = writer->board;
    uint64_t count = atomic_load_explicit(&board->revocations, memory_order_relaxed);
    /* Release: a reader that sees this word in place of an older one also sees that the count has
     * moved on. */
    atomic_store_explicit(&board->revocation[count % board->revocations_max], revocation,
                          memory_order_release);
    atomic_store_explicit(&board->revocations, count + 1, memory_order_release);
}

void rz_board_writer_node_failed(struct rz_board_writer *writer)
{
    atomic_fetch_add_explicit(&writer->board->nodes_failed, 1, memory_order_release);
}

void rz_board_writer_stop(struct rz_board_writer *writer, rz_status_t why)
{
    atomic_store_explicit(&writer->board->stop, (uint64_t)why, memory_order_release);
    atomic_store_explicit(&writer->board->lease_renewed_ns, 0, memory_order_release);
    rz_board_writer_publish(writer);
}

void rz_board_writer_publish(struct rz_board_writer *writer)
{
    atomic_fetch_add_explicit(&writer->board->news, 1, memory_order_release);
    writer->config.ring(writer->config.arg);
    rz_nudge_wake(&writer->board->news); /* wakes processes that compute inside MPIX_Reinit_async */
}
