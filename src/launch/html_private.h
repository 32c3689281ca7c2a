/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report has collected: for html_report.c, which collects, and html_data.c, which writes. */
#ifndef RZ_LAUNCH_HTML_PRIVATE_H
#define RZ_LAUNCH_HTML_PRIVATE_H

#include "launch/html_report.h"

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

/* html_data.c: all that was collected, as JSON that may stand inside a script element. */
void rz_html_data_write(const struct rz_html_report *report, FILE *out);

#endif
