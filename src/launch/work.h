/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work that a recovery loses: iterations, as the processes mark them (RZ_Progress_mark), and
 * the time for which they ran. Pure; for the timeline, which says whether a mark was made before or
 * after a failure.
 */
#ifndef RZ_LAUNCH_WORK_H
#define RZ_LAUNCH_WORK_H

#include <rhizome/types.h>

/* Number of dates of iteration begins that are kept; of more iterations, every second, every
 * fourth, ... */
#define RZ_WORK_DATES_MAX 4096

struct rz_work_date {
    uint64_t iteration;
    rz_time at; /* the first process began it */
};

struct rz_work {
    uint32_t n;
    struct rz_work_date dates[RZ_WORK_DATES_MAX]; /* iterations grow */
    bool marked, resumed;
    uint64_t newest;  /* that any process has begun, before the failure */
    uint64_t again;   /* the least that any process began after it */
    uint64_t reached; /* the greatest */
    rz_time again_at, reached_at;
    rz_time failed; /* 0: no process has */
};

/* known: iterations were marked before the failure and after it. */
struct rz_work_lost {
    bool known;
    uint64_t from, to; /* the program continues with iteration from, after having begun `to` */
    double seconds; /* from the beginning of iteration `from` until the failure; NAN: not known */
};

/* A process began iteration; of the time before the failure, if there was one. */
void rz_work_mark(struct rz_work *work, uint64_t iteration, rz_time at);
/* The first failure; later ones are ignored until rz_work_go_on. */
void rz_work_failed(struct rz_work *work, rz_time at);
/* A process began iteration, after the recovery. */
void rz_work_resume(struct rz_work *work, uint64_t iteration, rz_time at);

struct rz_work_lost rz_work_lost(const struct rz_work *work);
/* The recovery is over; what was lost is forgotten. */
void rz_work_go_on(struct rz_work *work);

#endif
