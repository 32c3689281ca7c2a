/* SPDX-License-Identifier: BSD-3-Clause */
/* Restoring: the image is read and checked, the threads stop and end, and the restore program takes
 * over. */
#include "image/area.h"
#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/mman.h>

static bool map_once(uintptr_t at, size_t bytes)
{
    long got = RZ_RAW6(mmap, at, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return got == (long)at;
}

/* The program, of this process's own library: that of the image is the same one. */
static rz_status_t load_program(void)
{
    size_t bytes = (size_t)(rz_restore_program_end - rz_restore_program);
    if (!map_once(RZ_IMAGE_PROGRAM_AT, RZ_IMAGE_PROGRAM_MAX) ||
        !map_once(RZ_IMAGE_STACK_AT, RZ_IMAGE_STACK_BYTES)) {
        return rz_image_refuse(RZ_ERR_NO_MEMORY, "no memory to restore a process");
    }
    rz_raw_copy((void *)RZ_IMAGE_PROGRAM_AT, rz_restore_program, bytes);
    return RZ_RAW3(mprotect, RZ_IMAGE_PROGRAM_AT, RZ_IMAGE_PROGRAM_MAX, PROT_READ | PROT_EXEC) == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_SYSTEM, "the system forbids to run what was not in a file");
}

void rz_image_run_restore(void)
{
    rz_image_on_stack(RZ_IMAGE_STACK_AT + RZ_IMAGE_STACK_BYTES, RZ_IMAGE_PROGRAM_AT);
}

/* Nothing is refused any more. The kernel's first thread restores, this one or a parked one. */
static _Noreturn void take_over(void)
{
    int pid = (int)RZ_RAW0(getpid);
    struct rz_image_parked *me = &RZ_AREA->parked[0];
    RZ_AREA->restorer = 0;
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        RZ_AREA->restorer = RZ_AREA->parked[i].thread.tid == pid ? (int32_t)i : RZ_AREA->restorer;
    }
    atomic_store(&me->state, RZ_THREAD_PARKED);
    rz_image_threads_order(RZ_ORDER_END);
    if (RZ_AREA->restorer == 0) {
        rz_image_run_restore();
    }
    RZ_RAW1(set_tid_address, &me->state);
    while (true) {
        RZ_RAW1(exit, 0);
    }
}

/* In place, pages that have not changed since the image was saved are left alone. If they are not
 * to be told from others, all pages are written. */
static void look_for_changes(void)
{
    RZ_AREA->skips = RZ_AREA->in_place && rz_image_read_maps(&RZ_AREA->here) == RZ_OK &&
                     rz_image_choose_regions(&RZ_AREA->here) == RZ_OK &&
                     rz_image_scan(&RZ_AREA->here) == RZ_OK && rz_image_know_changes() == RZ_OK;
}

/* Returns only if this is refused; then the threads run. */
static rz_status_t stop_and_restore(void)
{
    rz_status_t status = rz_image_threads_stop();
    if (status != RZ_OK) {
        return status;
    }
    struct rz_image_thread *own = &RZ_AREA->parked[0].thread;
    rz_image_thread_note(own);
    look_for_changes();
    status = rz_image_threads_refuse(own, false);
    if (status == RZ_OK && rz_image_thread_forget(own)) {
        take_over();
    }
    rz_image_threads_order(RZ_ORDER_GO);
    rz_image_threads_await();
    return status != RZ_OK ? status
                           : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                             "this version of libc registers its threads with the "
                                             "kernel (rseq) in an unknown way");
}

/* A copy of what the launcher gave under this number, wherever it is by now; -1: it is closed. */
static int copy_of_given(int number)
{
    const int most = 256; /* a process that has not begun has it under its number */
    for (int i = -1; i < most; i++) {
        int fd = i < 0 ? number : i;
        struct stat st;
        if (RZ_RAW2(fstat, fd, &st) == 0 && rz_image_given_of(fd, &st) == number) {
            long copy = RZ_RAW3(fcntl, fd, F_DUPFD_CLOEXEC, RZ_IMAGE_GIVEN);
            int aside = rz_raw_failed(copy) ? -1 : rz_image_descriptor_aside((int)copy);
            if (aside < 0 && !rz_raw_failed(copy)) {
                RZ_RAW1(close, copy);
            }
            return aside;
        }
    }
    return -1;
}

static void release_given(void)
{
    for (int i = 0; i < RZ_IMAGE_GIVEN; i++) {
        if (RZ_AREA->given_at[i] >= 0) {
            rz_image_include_descriptor(RZ_AREA->given_at[i]);
            RZ_RAW1(close, RZ_AREA->given_at[i]);
        }
    }
}

static rz_status_t prepare(int fd, uint64_t bytes)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    rz_status_t status = rz_image_take_tables(fd, image, RZ_POOL_INDEX);
    if (status == RZ_OK && image->head.bytes > bytes) {
        status = rz_image_refuse(RZ_ERR_MALFORMED, "the image is cut");
    }
    RZ_AREA->fd = fd;
    RZ_AREA->in_place = image->head.life[0] != 0 && image->head.life[0] == RZ_AREA->life[0] &&
                        image->head.life[1] == RZ_AREA->life[1];
    for (int i = 0; i < RZ_IMAGE_GIVEN; i++) {
        RZ_AREA->given_at[i] = copy_of_given(i);
    }
    status = status == RZ_OK ? rz_image_check_restore(image, fd) : status;
    status = status == RZ_OK ? load_program() : status;
    if (status == RZ_OK) {
        rz_kill_here(RZ_KILL_IMAGE_CHECKED);
    }
    RZ_AREA->kill = rz_kill_plan ? *rz_kill_plan : (struct rz_kill_plan){.left = 0};
    return status;
}

rz_status_t rz_image_restore(int fd, uint64_t bytes, const void *handover, size_t handover_bytes,
                             char *why, size_t max)
{
    uint64_t mask;
    if (handover_bytes > RZ_IMAGE_HANDOVER_MAX) {
        return RZ_ERR_INVALID;
    }
    if (!rz_image_enter(&mask, why, max)) {
        return RZ_ERR_UNSUPPORTED;
    }
    rz_raw_copy(RZ_AREA->handover_next, handover, handover_bytes);
    RZ_AREA->handover_next_bytes = handover_bytes;
    rz_status_t status = prepare(fd, bytes);
    status = status == RZ_OK ? stop_and_restore() : status;
    release_given();
    rz_image_tell(status, why, max);
    rz_image_leave(&mask);
    return status;
}

uint64_t rz_image_note(int fd, int which)
{
    struct rz_image_head head;
    long n = RZ_RAW4(pread64, fd, &head, sizeof(head), 0);
    return n == (long)sizeof(head) && head.magic == RZ_IMAGE_MAGIC ? head.note[which] : 0;
}

const void *rz_image_handover(size_t *bytes)
{
    bool restored = rz_image_area_ready() && RZ_AREA->restored;
    *bytes = restored ? RZ_AREA->handover_bytes : 0;
    return restored ? RZ_AREA->handover : NULL;
}
