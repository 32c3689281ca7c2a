/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies along shapes. Before each the identity of the target is read from its memory: a process
 * that was given the number of one that has ended is never written to.
 */
#include "mpi/rma/rma_copy.h"

#include "port/process.h"

#define COPY_MAX ((size_t)1 << 30) /* bytes of one system call */

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

struct place {
    const struct rz_win_target *target;
    uint64_t at;
};

static bool read_there(void *arg, const struct rz_rma_operation *operation, char *packed)
{
    const struct place *place = arg;
    return move(place->target, operation, place->at, packed, false);
}

static bool write_there(void *arg, const struct rz_rma_operation *operation, const char *packed)
{
    const struct place *place = arg;
    return move(place->target, operation, place->at, (char *)(uintptr_t)packed, true);
}

static bool is_there(const struct rz_win_target *target)
{
    struct rz_win_identity found;
    const struct rz_win_identity *expected = &target->control->identity;
    struct rz_process_vector vector = {&found, target->identity_at, sizeof(found)};
    return atomic_load(&target->control->open) && rz_process_copy(target->pid, &vector, 1) &&
           memcmp(&found, expected, sizeof(found)) == 0;
}

static int copy_operation(const struct rz_win_target *target,
                          const struct rz_rma_operation *operation, uint64_t at)
{
    struct place place = {target, at};
    if (rz_rma_accumulates(operation)) {
        struct rz_rma_memory memory = {read_there, write_there, &place};
        return rz_rma_accumulate_by(&memory, operation);
    }
    bool moved = operation->what == RZ_RMA_PUT ? write_there(&place, operation, operation->data)
                                               : read_there(&place, operation, operation->result);
    return moved ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
}

int rz_rma_copy(const struct rz_win_target *target, const struct rz_rma_operation *operation,
                uint64_t at)
{
    int error = is_there(target) ? copy_operation(target, operation, at) : MPI_ERR_PROC_FAILED;
    return error == MPI_ERR_RMA_RANGE && !is_there(target) ? MPI_ERR_PROC_FAILED : error;
}
