/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rzrun --report-html FILE: collects what happens in a job, over all its attempts, and writes one
 * page at the end, which needs no network (docs/report-html.md). Its size is bounded: lists keep a
 * bounded number of entries, and the page says how many are left out. Times are of rzrun's clock.
 * Running out of memory ends the program, which is a tool.
 */
#ifndef RZ_LAUNCH_HTML_REPORT_H
#define RZ_LAUNCH_HTML_REPORT_H

#include "launch/timeline.h"
#include "wire/launch_messages.h"

#include <jansson.h>
#include <stdio.h>

struct rz_html_report;

struct rz_html_job {
    const char *command; /* the command line */
    uint32_t n_ranks, n_nodes;
    rz_time begun; /* the times of the page count from then */
};

struct rz_html_report *rz_html_report_open(const struct rz_html_job *job);
void rz_html_report_free(struct rz_html_report *report); /* NULL: nothing */

/* An attempt of the job begins. */
void rz_html_report_attempt(struct rz_html_report *report, uint64_t job, rz_time at);
void rz_html_report_node(struct rz_html_report *report, uint32_t node, const char *host);

/* Events as the story gets them (settled.h), and what else daemons say of processes. */
void rz_html_report_event(struct rz_html_report *report, uint32_t by,
                          const struct rz_launch_event *event);
void rz_html_report_exited(struct rz_html_report *report, const struct rz_launch_exited *exited,
                           rz_time at);
void rz_html_report_mark(struct rz_html_report *report, const struct rz_launch_mark *mark);
void rz_html_report_waiting(struct rz_html_report *report, const struct rz_launch_waiting *waiting,
                            rz_time at);
void rz_html_report_traffic(struct rz_html_report *report, const struct rz_launch_traffic *told);
void rz_html_report_recovered(struct rz_html_report *report, const struct rz_recovery_times *times);
/* A page of waits was shown, with these lines. */
void rz_html_report_hang(struct rz_html_report *report, const char *why, const char *lines,
                         rz_time at);
/* The attempt has ended; cases: the documents of its case files, which the report takes over. */
void rz_html_report_attempt_over(struct rz_html_report *report, int status, const char *cause,
                                 json_t *cases, rz_time at);

/* How often daemons are to be asked for waits. */
rz_time rz_html_report_every(const struct rz_html_report *report);

/* Whether they are to tell now what their processes have sent, too. */
bool rz_html_report_traffic_due(struct rz_html_report *report, rz_time now);

/* An attempt has begun. */
bool rz_html_report_begun(const struct rz_html_report *report);

/* Writes the page; at least one attempt has begun, and all have ended. */
void rz_html_report_write(const struct rz_html_report *report, FILE *out);

#endif
