/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the memories and descriptors that a process gets when it joins, and releases them when it
 * was reaped. */
#include "daemon/process/share.h"

#include "net/shm/shm.h"
#include "port/descriptor.h"
#include "port/memory.h"

#include <errno.h>
#include <unistd.h>

#define LANES_MIN 64u
#define LANES_MAX 4096u

_Static_assert(sizeof(struct rz_doorbell) <= 4096,
               "the doorbell fills at most the first page of an inbox");

void rz_share_init(struct rz_child_share *share)
{
    *share = (struct rz_child_share){
        .slot = RZ_CHILD_NO_SLOT, .inbox_fd = -1, .bell_fd = -1, .waits_fd = -1};
}

uint32_t rz_share_lanes_max(uint32_t n_slots)
{
    /* Several incarnations of a slot may have failed while a process that computes has not closed
     * their lanes. */
    uint64_t lanes = (uint64_t)n_slots * 4;
    return lanes < LANES_MIN ? LANES_MIN : lanes > LANES_MAX ? LANES_MAX : (uint32_t)lanes;
}

/* Makes a memory of which the first `mapped` bytes have pages and are mapped here. */
static rz_status_t make_share_memory(const char *name, size_t bytes, size_t mapped, int *fd,
                                     void **at)
{
    rz_status_t status = rz_memory_create(name, bytes, fd);
    if (status == RZ_OK) {
        status = rz_memory_reserve(*fd, 0, mapped);
    }
    if (status == RZ_OK) {
        status = rz_memory_map(*fd, mapped, true, at, NULL);
    }
    return status;
}

/* Describes by errno what the system refused for an inbox. */
static const char *shortage(void)
{
    switch (errno) {
    case EMFILE:
        return "its daemon has no descriptor left for its inbox: raise the hard limit of open "
               "files (ulimit -Hn), or start fewer processes on the node";
    case ENFILE:
        return "the machine has no descriptor left for its inbox (sysctl fs.file-max)";
    case ENOSPC:
    case ENOMEM:
        return "no memory for its inbox";
    case EFBIG:
        return "its daemon may not make a file as large as its inbox (ulimit -f)";
    default:
        return "the system refuses memory or an event for its inbox";
    }
}

rz_status_t rz_share_make(struct rz_child *process, struct rz_watch *watch, struct rz_lanes *lanes,
                          const char **why)
{
    struct rz_child_share *share = &process->share;
    const struct rz_daemon_job *job = &process->all->own->job;
    uint32_t lanes_max = rz_share_lanes_max(job->n_slots);
    void *bell = NULL, *waits = NULL;
    *why = "as many processes of this node as it can serve have not ended yet";
    if (rz_watch_slot_open(watch, &share->slot) != RZ_OK) {
        return RZ_ERR_NO_MEMORY;
    }
    rz_status_t status = make_share_memory("rhizome-inbox", rz_shm_inbox_bytes(lanes_max),
                                           rz_memory_page_bytes(), &share->inbox_fd, &bell);
    if (status == RZ_OK) {
        size_t all = rz_waits_bytes(job->n_slots);
        share->waits_bytes =
            job->flags & RZ_JOB_TRAFFIC ? all : rz_waits_bytes_without_traffic(job->n_slots);
        status =
            make_share_memory("rhizome-waits", all, share->waits_bytes, &share->waits_fd, &waits);
    }
    share->bell = bell;
    share->waits = waits;
    if (status == RZ_OK) {
        status = rz_event_fd_make(&share->bell_fd);
    }
    if (status != RZ_OK) {
        *why = shortage();
    }
    if (status == RZ_OK &&
        !rz_lanes_take(lanes, process->rank, process->incarnation, &share->lane)) {
        *why = "processes of this node have not closed yet what failed ones left them: they have "
               "computed for too long without a call of MPI";
        status = RZ_ERR_NO_MEMORY;
    }
    if (status != RZ_OK) {
        rz_share_give_back(share, watch);
        return status;
    }
    return RZ_OK;
}

void rz_share_give_back(struct rz_child_share *share, struct rz_watch *watch)
{
    if (share->bell) {
        rz_memory_unmap(share->bell, rz_memory_page_bytes());
    }
    if (share->waits) {
        rz_memory_unmap(share->waits, share->waits_bytes);
    }
    if (share->slot != RZ_CHILD_NO_SLOT) {
        rz_watch_slot_close(watch, share->slot);
    }
    int fds[] = {share->inbox_fd, share->bell_fd, share->waits_fd};
    for (int i = 0; i < 3; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    rz_share_init(share);
}
