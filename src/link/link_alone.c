/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Without a daemon the link takes the daemon's role: a board that never changes, an inbox with one
 * lane.
 */
#include "link/link_state.h"

#include "net/shm/shm.h"
#include "port/clock.h"
#include "port/memory.h"
#include "proto/recover/recover.h"

#include <sys/eventfd.h>
#include <unistd.h>

static rz_status_t alone_board(struct rz_link *link)
{
    int fd;
    void *at;
    rz_status_t status = rz_memory_create("rhizome-board", rz_board_bytes(1), &fd);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_memory_map(fd, 0, true, &at, &link->board_bytes);
    close(fd);
    if (status != RZ_OK) {
        return status;
    }
    struct rz_board *board = at;
    board->magic = RZ_BOARD_MAGIC;
    board->layout = RZ_BOARD_LAYOUT;
    board->n_ranks = 1;
    board->n_slots = 1;
    board->n_nodes = 1;
    board->revocations_max = RZ_BOARD_REVOCATIONS_MAX;
    board->job = link->info.self.job;
    board->epoch_phase = UINT64_C(1) << 8 | RZ_PHASE_RUN;
    board->lease_renewed_ns = rz_clock_now();
    board->rank[0] = rz_board_rank_word(1, 0, RZ_PROCESS_ALIVE);
    link->board = board;
    link->info.board = board;
    return RZ_OK;
}

rz_status_t rz_link_join_alone(struct rz_link *link)
{
    struct rz_link_info *info = &link->info;
    info->self = (struct rz_identity){.job = (uint64_t)getpid(), .rank = 0, .incarnation = 1};
    info->n_ranks = 1;
    info->n_slots = 1;
    info->n_nodes = 1;
    info->lanes_max = 1;
    info->job_token = (uint32_t)getpid();
    info->alone = true;
    rz_status_t status = alone_board(link);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_memory_create("rhizome-inbox", rz_shm_inbox_bytes(1), &info->inbox_fd);
    if (status != RZ_OK) {
        return status;
    }
    info->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (info->doorbell_fd < 0) {
        return RZ_ERR_SYSTEM;
    }
    return rz_link_map_doorbell(link);
}
