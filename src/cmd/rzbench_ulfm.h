/*
 * Inside the study `ulfm`: jobs of one program for each number of ranks and each number of emulated
 * nodes, Rhizome's and its peer's in turns. The peer is Open MPI 5 with ULFM in a root folder of
 * its own (--peer-root, made by tools/setup --peers); it has no emulated nodes: on one node it
 * takes shared memory, on several its TCP over loopback. Programs print `WHAT RANKS VALUE`.
 */
#ifndef RZ_CMD_RZBENCH_ULFM_H
#define RZ_CMD_RZBENCH_ULFM_H

#include "cmd/rzbench.h"

enum {
    RZ_BENCH_LIST_MAX = 16,
    RZ_BENCH_GOALS_MAX = 40,
    RZ_BENCH_GOAL_TEXT_MAX = 160,
    RZ_BENCH_ULFM_RANKS_USUAL = 64 /* goals are stated for so many ranks */
};

struct rz_bench_list {
    unsigned n, value[RZ_BENCH_LIST_MAX];
};

struct rz_bench_ulfm_job {
    bool peer;
    unsigned ranks, nodes;
    const char *program;      /* "bench_ulfm" */
    const char *arguments[3]; /* the first NULL ends them */
    const char *option[2];    /* of rzrun: "--agree", "era"; NULL: none */
    const char *environment;  /* "RZ_REVOKE=flat"; NULL: as it is */
    bool replaces;            /* failures are replaced, not only survived */
    bool slow;                /* it may take longer than the limit: no run that is not complete */
};

/* What was asked for, and what came of it. */
struct rz_bench_goal {
    char what[RZ_BENCH_GOAL_TEXT_MAX], asked[RZ_BENCH_GOAL_TEXT_MAX],
        measured[RZ_BENCH_GOAL_TEXT_MAX];
    const char *verdict;
};

/* What all parts know. */
struct rz_bench_ulfm {
    struct rz_bench *bench;
    struct rz_bench_list ranks, nodes;
    bool peer;             /* is there, and its programs compiled */
    unsigned runs, failed; /* of ours: `failed` did not end with what the program prints */
    unsigned peer_runs, peer_failed;
    unsigned
        peer_limit; /* in this part it was over the limit of time with so many ranks; 0: never */
    const char *engines[8]; /* of rzrun --agree, ended by NULL; empty: it has no such option */
    struct rz_bench_goal goals[RZ_BENCH_GOALS_MAX];
    unsigned n_goals;
};

/* Runs the job; false: it did not end by itself, and nothing may be taken from it (it was counted
 * and said why, or the time is used up). The caller frees run in both cases. */
bool rz_bench_ulfm_run(struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job,
                       struct rz_bench_run *run);
/* Begins the list of commands that stands above a table. */
void rz_bench_ulfm_show(struct rz_bench_ulfm *ulfm, const struct rz_bench_ulfm_job *job);

/* The value of `what` in the output of a job of so many ranks; NAN: not printed. */
double rz_bench_ulfm_value(const struct rz_bench_run *run, const char *what, unsigned ranks);
/* The same into a cell, times `scale`; nothing where it was not printed. */
void rz_bench_ulfm_take(struct rz_bench_table *table, const char *row, const char *column,
                        unsigned repetition, const struct rz_bench_run *run, const char *what,
                        unsigned ranks, double scale);

/* Whether so many ranks can be on so many nodes. */
bool rz_bench_ulfm_fits(unsigned ranks, unsigned nodes);
/* "agree" on one node, "agree-8" on eight: names of tables, in `out` of RZ_BENCH_NAME_MAX. */
const char *rz_bench_ulfm_name(const char *stem, unsigned nodes, char *out);

/* The greatest number in the list up to most; else its first one. */
unsigned rz_bench_ulfm_greatest(const struct rz_bench_list *list, unsigned most);

/* --- rzbench_ulfm_goals.c: what was asked for. NAN for most: nothing was, it is only told. --- */

/* One column of a row: its median is at most so much. */
void rz_bench_ulfm_goal(struct rz_bench_ulfm *ulfm, const char *what, const char *unit, double most,
                        const struct rz_bench_table *table, const char *row, const char *column);
/* Column a over column b of a row, repetition by repetition: the median is at most so much. */
void rz_bench_ulfm_goal_ratio(struct rz_bench_ulfm *ulfm, const char *what, double most,
                              const struct rz_bench_table *table, const char *row, const char *a,
                              const char *b);
/* So many of so many did as they should; it holds where all did. */
void rz_bench_ulfm_goal_count(struct rz_bench_ulfm *ulfm, const char *what, const char *asked,
                              unsigned good, unsigned all);
void rz_bench_ulfm_goals_show(struct rz_bench_ulfm *ulfm);

/* --- the parts; false: they could not be made --- */

bool rz_bench_ulfm_agree(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_trees(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_engines(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_shrink(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_failures(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_revoke(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_perturb(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_detect(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_replace(struct rz_bench_ulfm *ulfm);
bool rz_bench_ulfm_program(struct rz_bench_ulfm *ulfm);

#endif
