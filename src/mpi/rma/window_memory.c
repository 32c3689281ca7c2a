/* SPDX-License-Identifier: BSD-3-Clause */
/* Making, passing and mapping the memory objects of windows. */
#include "mpi/rma/window_memory.h"

#include "mpi/engine/waiting.h"
#include "mpi/rma/rma_copy.h"
#include "port/memory.h"
#include "port/process.h"

#include <stdlib.h>
#include <unistd.h>

static const struct rz_win_identity *own_identity(void)
{
    static struct rz_win_identity own;
    const struct rz_link_info *info = rz_engine.info;
    own = (struct rz_win_identity){.job = info->self.job,
                                   .job_token = info->job_token,
                                   .rank = info->self.rank,
                                   .incarnation = info->self.incarnation};
    return &own;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = rz_memory_page_bytes();
    return (bytes + page - 1) / page * page;
}

static size_t front_bytes(const struct rz_win *win)
{
    return whole_pages(rz_win_control_bytes(win->members));
}

/* More than the machine has would be given, and end the process at its first use. */
static bool is_too_much(MPI_Aint bytes)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 && bytes / page >= pages;
}

int rz_win_memory_make(struct rz_win *win, MPI_Aint bytes, char **memory)
{
    size_t front = front_bytes(win);
    size_t all = front + whole_pages((size_t)bytes);
    struct rz_win_target *own = rz_win_target(win, win->rank);
    void *at;
    if (is_too_much(bytes) || rz_memory_create("rz-window", all, &win->fd) != RZ_OK) {
        win->fd = -1;
        return rzm_error(MPI_ERR_NO_MEM, "size is %lld: there is not that much memory",
                         (long long)bytes);
    }
    if (rz_memory_reserve(win->fd, 0, front) != RZ_OK ||
        rz_memory_map_range(win->fd, 0, all, true, &at) != RZ_OK) {
        close(win->fd);
        win->fd = -1;
        return rzm_error(MPI_ERR_NO_MEM, "size is %lld: there is not that much memory",
                         (long long)bytes);
    }
    own->mapped = at;
    own->mapped_bytes = all;
    own->control = win->control = at;
    win->control->identity = *own_identity();
    atomic_store(&win->control->open, 1);
    *memory = (char *)at + front;
    return MPI_SUCCESS;
}

void rz_win_memory_offer(const struct rz_win *win, int error, struct rz_win_offer *offer)
{
    *offer = (struct rz_win_offer){.node = rz_engine.info->node,
                                   .pid = (uint64_t)getpid(),
                                   .fd = (uint64_t)win->fd,
                                   .bytes = rz_win_target(win, win->rank)->mapped_bytes,
                                   .address = (uintptr_t)win->base,
                                   .identity_at = (uintptr_t)own_identity(),
                                   .size = win->size,
                                   .disp_unit = win->disp_unit,
                                   .error = error};
}

static bool by_messages_only(const struct rz_win *win)
{
    const char *way = getenv(RZ_RMA_ENVIRONMENT);
    return way && strcmp(way, "message") == 0 && win->flavor != MPI_WIN_FLAVOR_SHARED;
}

/* The memory may be another process's that has got the same number. */
static bool is_of(const struct rz_win_identity *found, uint32_t process)
{
    const struct rz_link_info *info = rz_engine.info;
    return found->job == info->self.job && found->job_token == info->job_token &&
           found->rank == rz_process_slot(process) &&
           rz_engine_number(found->rank, found->incarnation) == process;
}

static void map_offered(struct rz_win_target *target, const struct rz_win_offer *offer)
{
    int fd;
    void *at;
    if (rz_memory_open_of((pid_t)offer->pid, (int)offer->fd, &fd) != RZ_OK) {
        return;
    }
    if (rz_memory_holds(fd, offer->bytes) &&
        rz_memory_map_range(fd, 0, offer->bytes, true, &at) == RZ_OK) {
        struct rz_win_control *control = at;
        if (is_of(&control->identity, target->process)) {
            target->control = control;
            target->mapped = at;
            target->mapped_bytes = offer->bytes;
        } else {
            rz_memory_unmap(at, offer->bytes);
        }
    }
    close(fd);
}

static bool copies_work(const struct rz_win_target *target)
{
    struct rz_win_identity found;
    struct rz_process_vector vector = {&found, target->identity_at, sizeof(found)};
    const char *told = getenv("RZ_SHM_CMA");
    return !(told && strcmp(told, "0") == 0) && rz_process_copy(target->pid, &vector, 1) &&
           is_of(&found, target->process);
}

void rz_win_memory_take(struct rz_win *win, int rank, const struct rz_win_offer *offer)
{
    struct rz_win_target *target = rz_win_target(win, rank);
    target->address = offer->address;
    target->size = offer->size;
    target->disp_unit = offer->disp_unit;
    target->pid = (pid_t)offer->pid;
    target->identity_at = offer->identity_at;
    target->reach = RZ_REACH_MESSAGE;
    if (rank == win->rank) {
        target->reach = RZ_REACH_MEMORY;
        target->memory = win->base;
        return;
    }
    if (offer->node != rz_engine.info->node || by_messages_only(win)) {
        return;
    }
    map_offered(target, offer);
    if (!target->control) {
        return;
    }
    if (win->atomic) {
        target->reach = RZ_REACH_MEMORY;
        target->memory = rz_win_memory_behind(win, rank);
    } else if (!rz_engine.reinit_open && copies_work(target)) {
        /* Inside MPIX_Reinit a copy could reach memory that its owner, after a roll-back, uses for
         * something else. A message of the former epoch is dropped. */
        target->reach = RZ_REACH_COPY;
    }
}

char *rz_win_memory_behind(const struct rz_win *win, int rank)
{
    char *mapped = rz_win_target(win, rank)->mapped;
    return mapped ? mapped + front_bytes(win) : NULL;
}

void rz_win_memory_taken(struct rz_win *win)
{
    if (win->fd >= 0) {
        close(win->fd);
        win->fd = -1;
    }
}

void rz_win_memory_end(struct rz_win *win)
{
    rz_win_memory_taken(win);
    if (win->control) {
        atomic_store(&win->control->open, 0);
    }
    for (int i = 0; i < win->members; i++) {
        struct rz_win_target *target = rz_win_target(win, i);
        rz_memory_unmap(target->mapped, target->mapped_bytes);
        rz_rma_copy_end(target);
        target->mapped = NULL;
        target->control = NULL;
    }
    win->control = NULL;
}
