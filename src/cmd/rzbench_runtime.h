/*
 * Inside the study `runtime`: a job of real daemons with a fault in it, and its dates from the
 * record that rzrun writes (--report). All dates are of one clock, CLOCK_MONOTONIC, since all nodes
 * stand on this machine. The parts follow the figures of RDaemon# (EuroMPI 2019), whose simulated
 * twins `rzsim figure` draws.
 */
#ifndef RZ_CMD_RZBENCH_RUNTIME_H
#define RZ_CMD_RZBENCH_RUNTIME_H

#include "cmd/rzbench.h"

enum { RZ_BENCH_NODES_MAX = 64, RZ_BENCH_VICTIMS_MAX = 8 };

enum rz_bench_fault {
    RZ_BENCH_KILL_RANK,
    RZ_BENCH_STOP_RANK, /* silence of one process: found by --detector flat alone */
    RZ_BENCH_KILL_NODE, /* SIGKILL to its daemon: connections break */
    RZ_BENCH_CUT_NODE   /* nothing comes from it any more and no connection breaks: silence */
};

struct rz_bench_job {
    unsigned nodes, per_node;
    rz_time period, timeout; /* of heartbeats */
    const char *detector;    /* "ring", "swim", "flat" */
    enum rz_bench_fault fault;
    unsigned n_victims, victims[RZ_BENCH_VICTIMS_MAX]; /* ranks or nodes */
    rz_time at;    /* of the fault, from the moment when all ranks are initialised */
    rz_time every; /* between two killed ranks; nodes all fail at once */
    rz_time limit; /* of the run; 0: that of the command line */
};

/* Of one victim; 0: did not happen. */
struct rz_bench_dates {
    rz_time injected, seen, news_first, news_last;
    unsigned news; /* daemons that have the news; of a stopped process: processes that have it */
};

/* How a job of the part went; `told` is what its figures may be taken from. */
enum rz_bench_told { RZ_BENCH_TOLD_ALL, RZ_BENCH_TOLD_PART, RZ_BENCH_TOLD_FALSE, RZ_BENCH_NOT_RUN };

/* Counted over a part, and shown behind its tables. */
struct rz_bench_tally {
    unsigned runs, incomplete, falsely;
};

/* Runs the job until every living daemon (or process, of a stopped one) has the news of every
 * victim; dates: one for each. */
enum rz_bench_told rz_bench_job_run(struct rz_bench *bench, const struct rz_bench_job *job,
                                    struct rz_bench_dates *dates, struct rz_bench_tally *tally);
void rz_bench_job_show(struct rz_bench *bench, const struct rz_bench_job *job);
void rz_bench_tally_show(struct rz_bench *bench, const struct rz_bench_tally *tally);

/* An even choice of phases: the part of a period by which the fault of this repetition is late. */
rz_time rz_bench_phase(rz_time period, unsigned repetition);

/* Milliseconds between two dates into a cell; nothing where one is missing. */
void rz_bench_put_ms(struct rz_bench_table *table, const char *row, const char *column,
                     unsigned repetition, rz_time from, rz_time to);

/* Of silent nodes: T = 2 P, and when the fault comes: swim begins to probe two seconds late. */
struct rz_bench_job rz_bench_silent_job(const struct rz_bench *bench, unsigned nodes,
                                        unsigned per_node, rz_time period, const char *detector,
                                        unsigned repetition);

/* --- the parts; false: a program of theirs does not compile --- */

bool rz_bench_runtime_noise(struct rz_bench *bench);
bool rz_bench_runtime_accuracy(struct rz_bench *bench);
bool rz_bench_runtime_detect(struct rz_bench *bench);
bool rz_bench_runtime_many(struct rz_bench *bench);
bool rz_bench_runtime_spread(struct rz_bench *bench);
bool rz_bench_runtime_members(struct rz_bench *bench);
bool rz_bench_runtime_footprint(struct rz_bench *bench);

#endif
