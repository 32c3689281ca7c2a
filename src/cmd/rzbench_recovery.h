/*
 * Inside the study `recovery`: global restart after Georgakoudis, Guo, Laguna (Reinit++, ISC 2020),
 * figures 4 to 7, on emulated nodes of this machine: by MPIX_Reinit, in the way of ULFM, and by
 * restarting; and what peers need for the same. All ways take turns in each repetition. Values
 * are medians with the 95 % interval of the mean by Student's t.
 */
#ifndef RZ_CMD_RZBENCH_RECOVERY_H
#define RZ_CMD_RZBENCH_RECOVERY_H

#include "cmd/rzbench_interval.h"

/* How a job is made whole again, and by whom. */
enum rz_bench_way {
    RZ_BENCH_WAY_REINIT,  /* ours: MPIX_Reinit */
    RZ_BENCH_WAY_REPLACE, /* ours: revoke, RZ_Comm_replace */
    RZ_BENCH_WAY_SPAWN,   /* ours: revoke, shrink, spawn, merge, split */
    RZ_BENCH_WAY_RESTART, /* ours: rzrun --on-failure restart */
    RZ_BENCH_WAY_OPENMPI, /* mpirun aborts, mpirun again */
    RZ_BENCH_WAY_MPICH,
    RZ_BENCH_WAY_ULFM, /* Open MPI 5 in a root folder of its own: as SPAWN */
    RZ_BENCH_WAY_COUNT
};

extern const char *const rz_bench_way_names[RZ_BENCH_WAY_COUNT]; /* of columns */

enum rz_bench_failure_of { RZ_BENCH_PROCESS, RZ_BENCH_NODE };
extern const char *const rz_bench_failure_names[]; /* "process" */

enum { RZ_BENCH_RECOVERY_RANKS_MAX = 16 };

struct rz_bench_recovery {
    struct rz_bench *bench;
    unsigned n_ranks, ranks[RZ_BENCH_RECOVERY_RANKS_MAX];
    bool peer;             /* Open MPI 5 is here, and has the program */
    unsigned runs, failed; /* of ours: did not print what it should, or did not end well */
    unsigned peer_runs, peer_failed;
    unsigned peer_most[RZ_BENCH_WAY_COUNT]; /* a run of so many ranks was over the limit; 0: none */
    struct rz_bench_claims claims;
};

/* 16 ranks per node as in the paper, but two nodes at least; --nodes says otherwise. */
unsigned rz_bench_recovery_nodes(const struct rz_bench_recovery *study, unsigned ranks);

/* A command is about to be run for the first time: its working files of earlier runs go. */
void rz_bench_recovery_forget(const struct rz_bench_recovery *study);

/* The file for rzrun --report. */
void rz_bench_recovery_report(const struct rz_bench_recovery *study, char *out, size_t bytes);
/* rz_bench_report_value of that file; NAN: there is none, either. */
double rz_bench_recovery_told(const struct rz_bench_recovery *study, const char *name);

/* The value in milliseconds, or whatever it is, of `name` in a line `name=value` of the last
 * recovery that rzrun's report tells of; NAN: there is none. */
double rz_bench_report_value(const char *report, const char *name);

/* The number behind `word` in a line "times total 1.2 application 0.9 ..."; NAN: there is none. */
double rz_bench_times_value(const char *line, const char *word);

/* Ranks along each axis of a box: factors as near to each other as they come. */
void rz_bench_dimensions(unsigned ranks, unsigned n[3]);

/* --- the parts; false: they could not be made --- */

/* Figures 6 and 7: the recovery alone, with a program of nothing but barriers. */
bool rz_bench_recovery_times(struct rz_bench_recovery *study, enum rz_bench_failure_of failure);
/* Figures 4 and 5: three proxy applications that lose a process or a node in a random iteration. */
bool rz_bench_recovery_apps(struct rz_bench_recovery *study);

#endif
