/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The restore program: linked apart, at the fixed address where it runs, without any reference to
 * something else. It runs in the kernel's first thread, on a stack of its own, when all checks have
 * passed; what is refused to it ends the process.
 */
#include "image/restore_program.h"

#include "image/raw_call.h"

#include <linux/futex.h>
#include <linux/prctl.h>
#include <sched.h>

#define SET_FS 0x1002
#define REQUEST_VECTOR_PERMISSION 0x1023 /* arch_prctl */
#define VECTOR_STATES 64

void rz_restore_fail(const char *what, const char *which)
{
    static const char head[] = "rhizome: this process cannot be restored: ";
    /* 2 may be a file of the program by now. */
    const int fd = RZ_AREA->given_at[2] >= 0 ? RZ_AREA->given_at[2] : 2;
    RZ_RAW3(write, fd, head, sizeof(head) - 1);
    RZ_RAW3(write, fd, what, rz_raw_length(what));
    RZ_RAW3(write, fd, which, rz_raw_length(which));
    RZ_RAW3(write, fd, "\n", 1);
    while (true) {
        RZ_RAW1(exit_group, RZ_IMAGE_EXIT_STATUS);
    }
}

void rz_restore_kill_here(enum rz_kill_point point)
{
    struct rz_kill_plan *plan = &RZ_AREA->kill;
    if (plan->left > 0 && plan->point == point && --plan->left == 0) {
        RZ_RAW2(kill, RZ_RAW0(getpid), plan->signal);
    }
}

/* The compiler calls these. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    rz_raw_copy(to, from, bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    return to;
}

static void await_ends(void)
{
    for (uint32_t i = 0; i < RZ_AREA->n_parked; i++) {
        while ((int32_t)i != RZ_AREA->restorer &&
               atomic_load(&RZ_AREA->parked[i].state) == RZ_THREAD_PARKED) {
            RZ_RAW0(sched_yield);
        }
    }
}

/* Without its registration a program's membarrier() fails. One too many does no harm. */
static void restore_barriers(int32_t barriers)
{
    for (int i = 0; i < 31; i++) {
        if ((barriers >> i & 1) && (RZ_IMAGE_BARRIERS >> i & 1)) {
            RZ_RAW3(membarrier, 1 << i, 0, 0);
        }
    }
}

static void restore_controls(const struct rz_image_head *head)
{
    if (head->dumpable == 0 || head->dumpable == 1) {
        RZ_RAW2(prctl, PR_SET_DUMPABLE, head->dumpable);
    }
    if (head->huge_pages_off >= 0) {
        RZ_RAW5(prctl, PR_SET_THP_DISABLE, head->huge_pages_off, 0, 0, 0);
    }
    RZ_RAW2(prctl, PR_SET_CHILD_SUBREAPER, head->subreaper);
    if (head->no_new_privileges == 1) {
        RZ_RAW5(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    restore_barriers(head->barriers < 0 ? RZ_IMAGE_BARRIERS : head->barriers);
    RZ_RAW1(personality, head->personality);
}

static void restore_process(void)
{
    const struct rz_image_head *head = &RZ_AREA->image.head;
    const char *folder = RZ_AREA->image.text + head->folder;
    if (RZ_RAW1(chdir, folder) != 0) {
        rz_restore_fail("there is no more folder ", folder);
    }
    restore_controls(head);
    RZ_RAW1(umask, head->mask_of_files);
    for (int i = 0; i < RZ_IMAGE_LIMITS; i++) {
        uint64_t limit[2]; /* hard limits are the launcher's, or below */
        if (RZ_RAW4(prlimit64, 0, i, 0, limit) == 0) {
            limit[1] = head->limit[i][1] < limit[1] ? head->limit[i][1] : limit[1];
            limit[0] = head->limit[i][0] < limit[1] ? head->limit[i][0] : limit[1];
            RZ_RAW4(prlimit64, 0, i, limit, 0);
        }
    }
    for (int i = 1; i < RZ_IMAGE_SIGNALS; i++) {
        if (!(RZ_AREA->park_left && i == RZ_AREA->park_signal)) {
            RZ_RAW4(rt_sigaction, i, head->action[i], 0, 8);
        }
    }
    for (int i = 0; i < 3; i++) {
        RZ_RAW3(setitimer, i, head->timer[i], 0);
    }
    for (int i = 0; i < VECTOR_STATES; i++) {
        if (head->vector_permission >> i & 1) {
            RZ_RAW2(arch_prctl, REQUEST_VECTOR_PERMISSION, i); /* no error if it is granted */
        }
    }
}

/* They wait for an order until all have their ids (rz_restore_owners). */
static void restore_threads(uint32_t own)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID;
    RZ_AREA->n_parked = 1;
    atomic_store(&RZ_AREA->order, RZ_ORDER_WAIT);
    for (uint32_t i = 1; i < image->head.n_threads; i++) {
        uint32_t slot = (uint32_t)image->thread[i].slot;
        while (RZ_AREA->n_parked <= slot) {
            atomic_store(&RZ_AREA->parked[RZ_AREA->n_parked++].state, RZ_THREAD_FREE);
        }
        RZ_AREA->parked[slot].thread = image->thread[i];
        atomic_store(&RZ_AREA->parked[slot].state, RZ_THREAD_PARKED);
    }
    for (uint32_t i = 0; i < image->head.n_threads; i++) {
        const struct rz_image_thread *t = &image->thread[i];
        long id = i == own
                      ? RZ_RAW0(gettid)
                      : rz_image_clone(flags, t->registers.rsp, t->tid_at, t->fs, &t->registers);
        if (id < 0) {
            rz_restore_fail("the system makes no more threads", "");
        }
        RZ_AREA->new_tid[i] = (int32_t)id;
    }
}

__attribute__((section(".text.start"))) void rz_restore_program_main(void)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    uint32_t own = image->head.leader < image->head.n_threads ? image->head.leader : 0;
    await_ends();
    rz_restore_memory();
    rz_restore_kill_here(RZ_KILL_IMAGE_PAGES);
    rz_restore_files();
    restore_process();
    rz_restore_kill_here(RZ_KILL_IMAGE_FILES);
    rz_raw_copy(RZ_AREA->handover, RZ_AREA->handover_next, RZ_AREA->handover_next_bytes);
    RZ_AREA->handover_bytes = RZ_AREA->handover_next_bytes;
    RZ_AREA->restored = true;
    RZ_AREA->owners = (void *)image->head.owners;
    restore_threads(own);
    rz_restore_owners();
    rz_restore_kill_here(RZ_KILL_IMAGE_THREADS);
    rz_restore_files_end();
    atomic_store(&RZ_AREA->order, RZ_ORDER_GO);
    RZ_RAW3(futex, &RZ_AREA->order, FUTEX_WAKE_PRIVATE, RZ_IMAGE_THREADS);
    RZ_RAW2(arch_prctl, SET_FS, image->thread[own].fs);
    rz_image_registers_load(&image->thread[own].registers);
}
