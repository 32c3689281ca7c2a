/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs with a group monitor ask in each round, whatever happens to the members: all see
 * the same view in a round, and the same progress; rounds and progress never fall; the round's
 * communicator is of the view. What all have seen stands in memory that they share: all processes
 * of these tests run on one machine.
 */
#ifndef GROUP_H
#define GROUP_H

#include "check.h"

#include <mpi-ext.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1 << 20, MEMBERS_MAX = 64 };

struct group_log {
    _Atomic uint64_t view[ROUNDS_MAX];   /* 0: no process has seen it yet */
    _Atomic uint64_t agreed[ROUNDS_MAX]; /* 1 + what was agreed */
    _Atomic uint32_t slow[MEMBERS_MAX];  /* this member's tests last until it is 0 */
    _Atomic pid_t pid[MEMBERS_MAX];
    _Atomic long last;  /* number of steps to do */
    _Atomic int mapped; /* number of processes that see this */
};

enum { NEVER = 1 << 30 };

static struct group_log *group_log;
static uint64_t group_view;           /* of the present round */
static MPI_Count group_number;        /* of it */
static MPI_Count group_agreed = -1;   /* so far */
static long group_broken, group_done; /* rounds that lost a member; others that it computed in */

static inline void group_log_open(const char *name, int makes)
{
    int fd = open(name, O_RDWR | (makes ? O_CREAT | O_TRUNC : 0), 0600);
    CHECK(fd >= 0);
    CHECK(ftruncate(fd, sizeof(*group_log)) == 0);
    group_log = mmap(NULL, sizeof(*group_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(group_log != MAP_FAILED);
    close(fd);
}

/* By all of comm. Nothing stays in the file system, also when rank 0 fails after the broadcast. */
static inline void group_log_share(MPI_Comm comm, long last)
{
    int rank, size;
    char name[64] = "";
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == 0) {
        snprintf(name, sizeof(name), "/dev/shm/rz-group-test-%ld", (long)getpid());
        group_log_open(name, 1);
        group_log->last = last;
    }
    CHECK(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, comm) == MPI_SUCCESS);
    if (rank != 0) {
        group_log_open(name, 0);
    }
    group_log->pid[rank] = getpid();
    if (++group_log->mapped == size) {
        unlink(name);
    }
    MPI_Barrier(
        comm); /* a process that fails after it has seen all arrive: an error means no more */
}

/* Thresholds that a loaded machine keeps; a process that is slow or stopped is found soon. */
static inline MPI_Info group_info(const char *interval, const char *least)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "interval", interval);
    MPI_Info_set(info, "first_threshold", "2s");
    MPI_Info_set(info, "least_threshold", least);
    MPI_Info_set(info, "zeta", "3");
    return info;
}

/* An error of this class, with this text. */
static inline void group_refused(int error, int class, const char *words)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(class_of(error) == class);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, words) != NULL);
}

/* The first to see a round says what it is; all others see the same. */
static inline void group_same(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t seen = 0;
    if (!atomic_compare_exchange_strong(word, &seen, value) && seen != value) {
        fprintf(stderr, "round %lld: %#llx, and another one has seen %#llx\n",
                (long long)group_number, (unsigned long long)value, (unsigned long long)seen);
        CHECK(seen == value);
    }
}

static inline void group_look(RZ_Group_monitor monitor, MPI_Comm start, MPI_Comm comm)
{
    MPI_Count round;
    int members[MEMBERS_MAX], n = 0, me, size, in = 0;
    MPI_Comm_rank(start, &me);
    CHECK(RZ_Group_monitor_get_round(monitor, &round, &n, members) == MPI_SUCCESS);
    CHECK(round > group_number && round < ROUNDS_MAX && n > 0);
    group_number = round;
    group_view = 0;
    for (int i = 0; i < n; i++) {
        CHECK(i == 0 || members[i] > members[i - 1]);
        group_view |= UINT64_C(1) << members[i];
        in = in || members[i] == me;
    }
    CHECK((comm != MPI_COMM_NULL) == in);
    if (in) {
        int rank;
        MPI_Comm_size(comm, &size);
        MPI_Comm_rank(comm, &rank);
        CHECK(size == n && members[rank] == me);
    }
    MPI_Comm_size(start, &size);
    for (int v = 0; v < 2 * size; v++) {
        int owner = -1;
        CHECK(RZ_Group_monitor_owner(monitor, v, &owner) == MPI_SUCCESS);
        CHECK(owner >= 0 && (group_view >> owner & 1));
    }
}

/* The next round; its number, view and progress are what all others see. */
static inline MPI_Comm group_round(RZ_Group_monitor monitor, MPI_Comm start, MPI_Count *step)
{
    MPI_Comm comm = (MPI_Comm)8;
    MPI_Count agreed = -1;
    CHECK(RZ_Group_monitor_round(monitor, *step, &agreed, &comm) == MPI_SUCCESS);
    CHECK(agreed >= group_agreed && agreed >= 0);
    group_agreed = *step = agreed;
    group_look(monitor, start, comm);
    group_same(&group_log->view[group_number], group_view);
    group_same(&group_log->agreed[group_number], (uint64_t)agreed + 1);
    return comm;
}

/* A step: all of the view compute the same, or get an error that a member is missing. */
static inline int group_compute(MPI_Comm comm, MPI_Count step)
{
    int rank, size;
    long mine[2], sum[2] = {0, 0};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine[0] = (long)step;
    mine[1] = rank;
    int error = MPI_Allreduce(mine, sum, 2, MPI_LONG, MPI_SUM, comm);
    if (error == MPI_SUCCESS) {
        CHECK(sum[0] == (long)step * size && sum[1] == (long)size * (size - 1) / 2);
        error = MPI_Barrier(comm);
    }
    int class = class_of(error);
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_REVOKED || class == MPI_ERR_PROC_FAILED);
    *(error == MPI_SUCCESS ? &group_done : &group_broken) += 1;
    return error == MPI_SUCCESS;
}

static inline void group_pause(long us)
{
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

/* Rounds until all have come as far as the log says; after each, `between` is called, if not NULL,
 * and may end them. */
static inline void group_run(RZ_Group_monitor monitor, MPI_Comm start, long pause_us,
                             int (*between)(RZ_Group_monitor monitor, MPI_Count step))
{
    for (MPI_Count step = group_agreed > 0 ? group_agreed : 0;;) {
        MPI_Comm comm = group_round(monitor, start, &step);
        if (step >= group_log->last || (between && between(monitor, step))) {
            return;
        }
        if (comm != MPI_COMM_NULL && group_compute(comm, step)) {
            step++;
        }
        group_pause(pause_us);
    }
}

static inline RZ_Group_monitor_state group_state(RZ_Group_monitor monitor, int rank)
{
    RZ_Group_monitor_state state;
    CHECK(RZ_Group_monitor_get_state(monitor, rank, &state) == MPI_SUCCESS);
    return state;
}

#endif
