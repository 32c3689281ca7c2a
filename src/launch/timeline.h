/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline of a recovery: computed from the nodes' events: when each phase was over everywhere,
 * and how much work was lost. Pure arithmetic on events; for the story and for case files. It
 * decides nothing, prints nothing, and knows of nodes only what events say.
 *
 * Dates are CLOCK_MONOTONIC of one machine, 0: it did not happen, or is not known.
 */
#ifndef RZ_LAUNCH_TIMELINE_H
#define RZ_LAUNCH_TIMELINE_H

#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <stdio.h>

/*
 * ---- The work that a recovery loses ----
 *
 * Iterations, as the processes mark them (RZ_Progress_mark), and the time for which they ran. The
 * timeline says whether a mark was made before or after a failure.
 */

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
/* The first failure; later ones are ignored until the recovery is over. */
void rz_work_failed(struct rz_work *work, rz_time at);
/* A process began iteration, after the recovery. */
void rz_work_resume(struct rz_work *work, uint64_t iteration, rz_time at);

struct rz_work_lost rz_work_lost(const struct rz_work *work);

/* ---- The recovery ---- */

/* How the job was repaired. */
enum rz_recovery_way {
    RZ_RECOVERY_REINIT,  /* all ranks went back to the start (MPIX_Reinit) */
    RZ_RECOVERY_REPLACE, /* new processes replaced the failed ones (RZ_Comm_replace) */
    RZ_RECOVERY_RESTART  /* the job was ended and restarted (--on-failure restart) */
};

/* The phases, in the order of the report. Unless stated otherwise, each begins when the one before
 * it is over everywhere. */
enum rz_recovery_phase {
    RZ_RECOVERY_DETECT,    /* from the kill, where rzrun did it, until the first notice */
    RZ_RECOVERY_SPREAD,    /* until each node has the news */
    RZ_RECOVERY_AGREE,     /* until each node knows the decision */
    RZ_RECOVERY_STOP,      /* RESTART only: until all processes have ended */
    RZ_RECOVERY_PLACE,     /* until the last process has been started where it was placed */
    RZ_RECOVERY_START,     /* until the last new process stands at the start */
    RZ_RECOVERY_ROLL_BACK, /* from the decision, parallel to PLACE and START: until the last
                              survivor is at the start */
    RZ_RECOVERY_PROTECT,   /* from the decision, parallel to them: until all pieces are where their
                              ranks run, and protected as before */
    RZ_RECOVERY_BARRIER, /* from the end of all these until the last node releases its processes */
    RZ_RECOVERY_RESTORE, /* until the last process has its piece */
    RZ_RECOVERY_PHASE_COUNT
};

extern const char *const rz_recovery_way_names[];   /* "reinit" */
extern const char *const rz_recovery_phase_names[]; /* "roll_back" */

/* One recovery, reported when it is over. */
struct rz_recovery_times {
    enum rz_recovery_way way;
    uint32_t epoch;            /* that runs now; REPLACE: in which it took place */
    uint32_t failures, rounds; /* decisions it took: a failure during a recovery makes one more */
    rz_time killed, seen;      /* the first failure; seen: when it was known at the latest */
    rz_time run, restored;     /* the last node's, the last process's */
    uint64_t generation;       /* that was restored; 0: none */
    uint64_t damaged;          /* the generation that was given up for it; 0: none */
    double phase_ms[RZ_RECOVERY_PHASE_COUNT]; /* NAN: there was none, or it is not known */
    double whole_ms; /* from the kill, or else from `seen`, until the program runs again */
    struct rz_work_lost lost;
};

/* What a timeline knows of each rank's newest incarnation. */
struct rz_timeline_rank {
    uint32_t incarnation;
    uint32_t joined;   /* the epoch in which it arrived; 0: it has not */
    uint32_t at_start; /* the last epoch at whose start it was */
    uint32_t going_on; /* the epoch in which it has restored, or marked an iteration */
    bool awaited;      /* REPLACE: it was spawned, and has not joined yet */
};

struct rz_timeline {
    uint32_t n_ranks;
    struct rz_timeline_rank *ranks;
    struct rz_work *work; /* outlives the timeline, and with it an attempt of the job */
    enum rz_recovery_way way;
    bool open; /* a recovery is under way, or a failure was seen that may lead to one */
    uint32_t epoch, rounds, failures;
    uint32_t n_awaited, n_going_on;
    bool replaced;        /* REPLACE: a spawn was decided */
    rz_time killed, seen; /* the first failure */
    rz_time news, agreed, stopped, begun, started, back, protected, run, restored;
    uint64_t generation, damaged;
};

/* before: of the attempt of the job before this one, which a failure ended; NULL: this is the
 * first. work is the caller's. Running out of memory ends the program, which is a tool. */
void rz_timeline_open(struct rz_timeline *timeline, uint32_t n_ranks, struct rz_work *work,
                      const struct rz_recovery_times *before);
void rz_timeline_close(struct rz_timeline *timeline);

/* A failure, as an observer reports it: killed or seen at 0 is not known (yet). another: it was not
 * reported before. */
void rz_timeline_failure(struct rz_timeline *timeline, rz_time killed, rz_time seen, bool another);
/* All failures that were reported were false. */
void rz_timeline_refuted(struct rz_timeline *timeline);

/* Any event of the record except failures (others are ignored). */
void rz_timeline_event(struct rz_timeline *timeline, const struct rz_launch_event *event);
void rz_timeline_mark(struct rz_timeline *timeline, const struct rz_launch_mark *mark);

/* The program runs again on all nodes that reported so: further failures begin a new recovery. */
bool rz_timeline_runs(const struct rz_timeline *timeline);
/* And no event that belongs to it can still arrive. */
bool rz_timeline_settled(const struct rz_timeline *timeline);

/* The recovery as far as it has come; then it is over, and later events belong to the next one.
 * False: there was none. */
bool rz_timeline_take(struct rz_timeline *timeline, struct rz_recovery_times *times);

/* The attempt has ended by a failure, and another follows: what the next one's timeline begins
 * with. False: there was no failure. */
bool rz_timeline_again(struct rz_timeline *timeline, rz_time stopped,
                       struct rz_recovery_times *times);

/* "event=recovery way=reinit epoch=2 ... detect_ms=0.240 ...", a line of the report. */
void rz_recovery_times_record(const struct rz_recovery_times *times, FILE *report);
/* "spread 0.44, agree 0.47, ... ms" and "12 iterations lost (28 to 40), 0.013 s of work", lines of
 * the story. */
void rz_recovery_tell(const struct rz_recovery_times *times, FILE *terminal);

#endif
