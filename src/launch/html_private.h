/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report has collected: for html_report.c, which collects, with html_samples.c and
 * html_traffic.c, and html_data.c, which writes. */
#ifndef RZ_LAUNCH_HTML_PRIVATE_H
#define RZ_LAUNCH_HTML_PRIVATE_H

#include "launch/html_report.h"

/*
 * ---- html_samples.c: what ranks do over the time of a job ----
 *
 * For how long each has waited in MPI calls, and which iterations were reached. Of constant size:
 * when the job has outgrown it, two bins of time become one. Pure; time is given by the caller.
 */

/* The number of bins of time is even, and at most this; with many ranks it is smaller. */
#define RZ_HTML_BINS_MAX 1200u
#define RZ_HTML_CELLS_MAX (600u * 1024)
/* The first width of a bin. */
#define RZ_HTML_BIN_NS (100 * RZ_MILLISECOND)

struct rz_html_share {
    rz_time known,
        waiting; /* of a bin: the time of which something is known, and its waiting part */
};

struct rz_html_iterations {
    uint64_t least, most; /* most 0: no mark in this bin */
};

struct rz_html_samples {
    uint32_t n_ranks, n_bins;
    rz_time bin_ns;
    uint32_t used;                         /* bins up to the newest entry */
    struct rz_html_share *cells;           /* [n_ranks][n_bins] */
    struct rz_html_iterations *iterations; /* [n_bins] */
};

/* Running out of memory ends the program, which is a tool. */
void rz_html_samples_open(struct rz_html_samples *samples, uint32_t n_ranks);
void rz_html_samples_close(struct rz_html_samples *samples);

/* Between these two ages of the job the rank has waited for so long; when in between is not known.
 * Other ranks are ignored, and so is a time that does not grow. */
void rz_html_samples_take(struct rz_html_samples *samples, uint32_t rank, rz_time from,
                          rz_time until, rz_time waited);

/* A rank began an iteration. */
void rz_html_samples_mark(struct rz_html_samples *samples, uint64_t iteration, rz_time at);

/* A character for each of `used` bins: '0' to '9', ninths of the known time for which the rank has
 * waited (0: it ran, 9: it waited all the time), '.': nothing is known. text has n_bins + 1 bytes.
 */
void rz_html_samples_text(const struct rz_html_samples *samples, uint32_t rank, char *text);

/* How often ranks are to be looked at now. */
rz_time rz_html_samples_every(const struct rz_html_samples *samples);

/*
 * ---- html_traffic.c: messages and bytes between groups of ranks (wire/traffic_groups.h) ----
 *
 * Over all incarnations of the ranks. Each process tells again and again what it has sent since it
 * began. Pure.
 */

struct rz_html_sent {
    uint64_t messages, bytes;
};

/* A process that has told what it has sent. */
struct rz_html_teller {
    struct rz_html_teller *next; /* another incarnation of the slot */
    uint32_t incarnation;
    struct rz_html_sent told[]; /* [n_groups]: in the matrix already */
};

struct rz_html_traffic {
    uint32_t n_ranks, n_groups;  /* n_groups: with that of spawned processes */
    struct rz_html_sent *matrix; /* [n_groups][n_groups]: from, to */
    uint32_t n_slots;
    struct rz_html_teller **tellers; /* [n_slots]: the processes of this attempt that have told */
    rz_time asked, apart; /* when the daemons were last asked; the time until they are again */
};

/* Running out of memory ends the program, which is a tool. */
void rz_html_traffic_open(struct rz_html_traffic *traffic, uint32_t n_ranks);
void rz_html_traffic_close(struct rz_html_traffic *traffic);

/* The job begins again: its processes are others. */
void rz_html_traffic_attempt(struct rz_html_traffic *traffic, rz_time now);

void rz_html_traffic_take(struct rz_html_traffic *traffic, const struct rz_launch_traffic *told);

/* Whether the daemons are to be asked now: less and less often, since all that is lost otherwise is
 * what processes of a node that fails have sent since. */
bool rz_html_traffic_due(struct rz_html_traffic *traffic, rz_time now);

/* ---- html_report.c ---- */

#define RZ_HTML_LIVES_MAX 16384u
#define RZ_HTML_RECOVERIES_MAX 512u
#define RZ_HTML_CHECKPOINTS_MAX 2048u
#define RZ_HTML_LINES_MAX 2000u
#define RZ_HTML_HANGS_MAX 8u
#define RZ_HTML_CASES_MAX 200u

/* How the life of a process ended. */
enum rz_html_end { RZ_HTML_RUNS, RZ_HTML_EXITED, RZ_HTML_FAILED, RZ_HTML_ENDED_WITH_JOB };

/* One incarnation of a rank. Times: 0, it did not happen. */
struct rz_html_life {
    uint32_t slot, incarnation, node, attempt;
    rz_time begun, joined, ended;
    rz_time seen,
        waited; /* when it was looked at last, and how long its calls had waited by then */
    enum rz_html_end end;
};

struct rz_html_checkpoint {
    uint64_t generation, bytes;
    uint32_t epoch;
    rz_time at; /* when the first node reported it */
};

struct rz_html_line {
    rz_time at;
    char text[120];
    bool bad;
};

struct rz_html_hang {
    rz_time at;
    char *text;
};

struct rz_html_attempt {
    uint64_t job;
    rz_time from, until;
    int status;
    char cause[200];
};

struct rz_html_place {
    char host[72];
    rz_time failed; /* 0: it has not */
};

struct rz_html_report {
    struct rz_html_job job;
    char *command;
    struct rz_html_place *nodes;
    struct rz_html_samples samples;
    struct rz_html_traffic traffic;
    uint32_t *newest_life; /* [n_ranks]: the life that began last, plus 1; 0: none yet */
    uint32_t n_attempts, n_lives, max_lives, n_recoveries, n_checkpoints, n_lines, n_hangs;
    uint32_t stride; /* of the checkpoints one of so many is kept */
    struct rz_html_attempt *attempts;
    struct rz_html_life *lives;
    struct rz_recovery_times *recoveries;
    struct rz_html_checkpoint *checkpoints, newest; /* newest: not in the list yet, or the last */
    struct rz_html_line *lines;
    struct rz_html_hang hangs[RZ_HTML_HANGS_MAX];
    json_t *cases;
    uint64_t left_out; /* entries for which there was no room */
};

/* ---- html_data.c ---- */

/* All that was collected, as JSON that may stand inside a script element. */
void rz_html_data_write(const struct rz_html_report *report, FILE *out);

#endif
