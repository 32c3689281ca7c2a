/*
 * The timeline of a recovery: from what the nodes tell, when each phase was over everywhere, and
 * how much work was lost. Pure arithmetic on events; for the story and for case files. It decides
 * nothing, prints nothing, and knows of nodes only what events say.
 *
 * Dates are CLOCK_MONOTONIC of one machine, 0: it did not happen, or is not known.
 */
#ifndef RZ_LAUNCH_TIMELINE_H
#define RZ_LAUNCH_TIMELINE_H

#include "launch/work.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <stdio.h>

/* How the job was repaired. */
enum rz_recovery_way {
    RZ_RECOVERY_REINIT,  /* everybody went back to the start (MPIX_Reinit) */
    RZ_RECOVERY_REPLACE, /* others took the places of the failed (RZ_Comm_replace) */
    RZ_RECOVERY_RESTART  /* the job was ended and restarted (--on-failure restart) */
};

/* The phases, in the order in which they are told. Each but the ones said otherwise begins when the
 * one before it is over everywhere. */
enum rz_recovery_phase {
    RZ_RECOVERY_DETECT,    /* from the kill, where rzrun did it, until somebody notices */
    RZ_RECOVERY_SPREAD,    /* until each node has the news */
    RZ_RECOVERY_AGREE,     /* until each node knows the decision */
    RZ_RECOVERY_STOP,      /* RESTART only: until all that ran is gone */
    RZ_RECOVERY_PLACE,     /* until the last process has been started where it was placed */
    RZ_RECOVERY_START,     /* until the last new process stands at the start */
    RZ_RECOVERY_ROLL_BACK, /* from the decision, beside PLACE and START: until the last survivor
                              does */
    RZ_RECOVERY_PROTECT,   /* from the decision, beside them: until all pieces are where their ranks
                              run, and as safe as before */
    RZ_RECOVERY_BARRIER,   /* from the end of all these until the last node lets its processes run
                            */
    RZ_RECOVERY_RESTORE,   /* until the last process has its piece */
    RZ_RECOVERY_PHASE_COUNT
};

extern const char *const rz_recovery_way_names[];   /* "reinit" */
extern const char *const rz_recovery_phase_names[]; /* "roll_back" */

/* One recovery, told when it is over. */
struct rz_recovery_times {
    enum rz_recovery_way way;
    uint32_t epoch;            /* that runs now; REPLACE: in which it took place */
    uint32_t failures, rounds; /* decisions it took: a failure in a recovery makes one more */
    rz_time killed, seen;      /* the first failure */
    rz_time run, restored;     /* the last node's, the last process's */
    uint64_t generation;       /* that was restored; 0: none */
    uint64_t damaged;          /* the generation that was given up for it; 0: none */
    double phase_ms[RZ_RECOVERY_PHASE_COUNT]; /* NAN: there was none, or nothing is known of it */
    double whole_ms; /* from the kill, or else from `seen`, until the program runs again */
    struct rz_work_lost lost;
};

/* What a timeline knows of one rank, each for its newest incarnation. */
struct rz_timeline_rank {
    uint32_t incarnation;
    uint32_t joined;   /* the epoch in which it came; 0: it has not */
    uint32_t at_start; /* the epoch at whose start it stood last */
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

/* A failure, as its observers tell: killed or seen at 0 is not known (yet). another: it was not
 * told before. */
void rz_timeline_failure(struct rz_timeline *timeline, rz_time killed, rz_time seen, bool another);
/* Of all failures that were told none was one. */
void rz_timeline_refuted(struct rz_timeline *timeline);

/* Any event of the record but failures (others are ignored). */
void rz_timeline_event(struct rz_timeline *timeline, const struct rz_launch_event *event);
void rz_timeline_mark(struct rz_timeline *timeline, const struct rz_launch_mark *mark);

/* The program runs again on all nodes that told so: further failures begin a new recovery. */
bool rz_timeline_runs(const struct rz_timeline *timeline);
/* Moreover nothing that belongs to it can come any more. */
bool rz_timeline_settled(const struct rz_timeline *timeline);

/* The recovery as far as it has come; then it is over, and what comes later belongs to the next
 * one. False: there was none. */
bool rz_timeline_take(struct rz_timeline *timeline, struct rz_recovery_times *times);

/* The attempt has ended by a failure, and there is another: what the next one's timeline begins
 * with. False: nobody failed. */
bool rz_timeline_again(struct rz_timeline *timeline, rz_time stopped,
                       struct rz_recovery_times *times);

/* "event=recovery way=reinit epoch=2 ... detect_ms=0.240 ...", a line of the report. */
void rz_recovery_times_record(const struct rz_recovery_times *times, FILE *report);
/* "spread 0.44, agree 0.47, ... ms" and "12 iterations lost (28 to 40), 0.013 s of work", lines of
 * the story. */
void rz_recovery_tell(const struct rz_recovery_times *times, FILE *terminal);

#endif
