/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies along shapes. Before each the identity of the target is read from its memory: a process
 * that was given the number of one that has ended is never written to. Short rows go through a
 * descriptor of the target's memory, whose identity was read when it was opened.
 */
#include "mpi/rma/rma_copy.h"

#include "port/process.h"

#include <errno.h>
#include <unistd.h>

#define COPY_MAX ((size_t)1 << 30) /* bytes of one system call */

/* Bytes of a short row; descriptors of this process, further targets have none. */
enum { SHORT_MAX = 4096, DESCRIPTORS_MAX = 64 };
static unsigned n_descriptors;

struct copy {
    const struct rz_win_target *target;
    struct rz_process_range ranges[RZ_PROCESS_RANGES_MAX];
    unsigned n;
    size_t bytes;
    char *packed;
    bool writes, failed;
};

static void flush(struct copy *copy)
{
    if (copy->n == 0 || copy->failed) {
        return;
    }
    copy->failed = copy->writes
                       ? !rz_process_scatter(copy->target->pid, copy->ranges, copy->n, copy->packed)
                       : !rz_process_gather(copy->target->pid, copy->ranges, copy->n, copy->packed);
    copy->packed += copy->bytes;
    copy->n = 0;
    copy->bytes = 0;
}

static bool add_row(void *arg, uint64_t at, MPI_Count bytes)
{
    struct copy *copy = arg;
    for (size_t left = (size_t)bytes; left > 0;) {
        size_t n = left < COPY_MAX ? left : COPY_MAX;
        if (copy->n == RZ_PROCESS_RANGES_MAX || copy->bytes + n > COPY_MAX) {
            flush(copy);
        }
        copy->ranges[copy->n++] = (struct rz_process_range){at, n};
        copy->bytes += n;
        at += n;
        left -= n;
    }
    return !copy->failed;
}

static bool move(const struct rz_win_target *target, const struct rz_rma_operation *operation,
                 uint64_t at, char *packed, bool writes)
{
    struct copy copy = {.target = target, .packed = packed, .writes = writes};
    rz_shape_rows(&operation->shape, operation->count, at, add_row, &copy);
    flush(&copy);
    return !copy.failed;
}

bool rz_rma_is_there(const struct rz_win_target *target)
{
    struct rz_win_identity found;
    const struct rz_win_identity *expected = &target->control->identity;
    struct rz_process_vector vector = {&found, target->identity_at, sizeof(found)};
    return atomic_load(&target->control->open) && rz_process_copy(target->pid, &vector, 1) &&
           memcmp(&found, expected, sizeof(found)) == 0;
}

bool rz_rma_has_ended(const struct rz_win_target *target)
{
    struct rz_win_identity found;
    struct rz_process_vector vector = {&found, target->identity_at, sizeof(found)};
    return target->control && !rz_process_copy(target->pid, &vector, 1) && errno == ESRCH;
}

bool rz_rma_copy_row(const struct rz_win_target *target, uint64_t there, void *here, size_t bytes,
                     bool writes)
{
    const struct rz_process_range range = {there, bytes};
    return writes ? rz_process_scatter(target->pid, &range, 1, here)
                  : rz_process_gather(target->pid, &range, 1, here);
}

/* ---- Short rows ---- */

static void open_memory(struct rz_win_target *target)
{
    struct rz_win_identity found;
    target->memory_fd = -2;
    if (n_descriptors == DESCRIPTORS_MAX ||
        rz_process_memory_open(target->pid, &target->memory_fd) != RZ_OK) {
        return;
    }
    n_descriptors++;
    bool good =
        rz_process_memory_read(target->memory_fd, target->identity_at, &found, sizeof(found)) &&
        memcmp(&found, &target->control->identity, sizeof(found)) == 0;
    if (!good) {
        rz_rma_copy_end(target);
        target->memory_fd = -2;
    }
}

void rz_rma_copy_end(struct rz_win_target *target)
{
    if (target->memory_fd >= 0) {
        close(target->memory_fd);
        target->memory_fd = -1;
        n_descriptors--;
    }
}

static bool is_short(struct rz_win_target *target, const struct rz_rma_operation *operation)
{
    if (!operation->shape.contiguous || rz_rma_bytes(operation) > SHORT_MAX) {
        return false;
    }
    if (target->memory_fd == -1) {
        open_memory(target);
    }
    return target->memory_fd >= 0;
}

/* ---- Both ---- */

struct place {
    const struct rz_win_target *target;
    uint64_t at;
    bool is_short;
};

static bool read_there(void *arg, const struct rz_rma_operation *operation, char *packed)
{
    const struct place *place = arg;
    return place->is_short ? rz_process_memory_read(place->target->memory_fd,
                                                    place->at + (uint64_t)operation->shape.true_lb,
                                                    packed, (size_t)rz_rma_bytes(operation))
                           : move(place->target, operation, place->at, packed, false);
}

static bool write_there(void *arg, const struct rz_rma_operation *operation, const char *packed)
{
    const struct place *place = arg;
    return place->is_short
               ? rz_process_memory_write(place->target->memory_fd,
                                         place->at + (uint64_t)operation->shape.true_lb, packed,
                                         (size_t)rz_rma_bytes(operation))
               : move(place->target, operation, place->at, (char *)(uintptr_t)packed, true);
}

static int copy_operation(struct place *place, const struct rz_rma_operation *operation)
{
    if (rz_rma_accumulates(operation)) {
        struct rz_rma_memory memory = {read_there, write_there, place};
        return rz_rma_accumulate_by(&memory, operation);
    }
    bool moved = operation->what == RZ_RMA_PUT ? write_there(place, operation, operation->data)
                                               : read_there(place, operation, operation->result);
    return moved ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

int rz_rma_copy(struct rz_win_target *target, const struct rz_rma_operation *operation, uint64_t at)
{
    struct place place = {target, at, is_short(target, operation)};
    bool there = place.is_short ? atomic_load(&target->control->open) : rz_rma_is_there(target);
    int error = there ? copy_operation(&place, operation) : MPI_ERR_PROC_FAILED;
    return error == MPI_ERR_RMA_RANGE && !rz_rma_is_there(target) ? MPI_ERR_PROC_FAILED : error;
}
