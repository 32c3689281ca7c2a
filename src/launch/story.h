/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of a job for its user: a few lines per recovery on standard error, and a record of
 * every event in a file. Times are CLOCK_MONOTONIC of one machine; between machines they are not
 * comparable.
 */
#ifndef RZ_LAUNCH_STORY_H
#define RZ_LAUNCH_STORY_H

#include "launch/progress_line.h"
#include "launch/timeline.h"
#include "port/address.h"
#include "wire/launch_messages.h"

#include <rhizome/types.h>

#include <stdio.h>

#define RZ_STORY_FAILURES_MAX 16

/* One failure as it was detected. */
struct rz_story_failure {
    uint32_t rank; /* RZ_ID_NONE: a node */
    uint32_t node, incarnation;
    rz_time injected, seen; /* 0: unknown */
    bool hung;
    bool told; /* without a recovery: it was recorded, and the program continues */
    char how[64];
};

/* The recovery in progress: from the first failure to the first iteration after it. In a job that
 * does not roll back: each failure when it is agreed, and its replacement. */
struct rz_story {
    FILE *terminal; /* NULL: nothing is shown */
    FILE *report;   /* NULL: nothing is recorded */
    bool progress;  /* --progress */
    bool line;      /* standard error is a terminal, where the line of --progress stays */
    bool line_visible;
    struct rz_progress at;
    uint32_t n_ranks;
    rz_time start; /* all ranks initialised for the first time */
    struct rz_story_failure failures[RZ_STORY_FAILURES_MAX];
    uint32_t n_failures;
    struct rz_timeline timeline;
    rz_time lost; /* rzrun saw the first node end; 0: none */
    rz_time progress_shown;
    uint32_t recoveries;
    uint32_t told_epoch; /* the recovery into this one was reported; epoch 1 is the start */
    /* Called for each recovery when it is over, unless NULL. */
    void (*recovered)(void *arg, const struct rz_recovery_times *times);
    void *arg;
};

/* Records where a node is found, for tools that inspect it or inject faults from outside. */
void rz_story_node(struct rz_story *story, uint32_t node, const struct rz_address *address,
                   uint32_t keeper_pid, uint32_t daemon_pid);

/* Records that a node gives up, and why. */
void rz_story_stopping(struct rz_story *story, uint32_t node, const char *reason);

/* rzrun itself has seen a node end; other nodes may report it with better evidence. */
void rz_story_lost(struct rz_story *story);

/* Records where the network of the nodes' switch (port/netns.h) is found. */
void rz_story_switch(struct rz_story *story, int switch_fd);

/* Writes an event into the report: every event, whichever node reported it. by: the reporting
 * node. */
void rz_story_record(struct rz_story *story, uint32_t by, const struct rz_launch_event *event);

/* Shows it on the terminal; of a node's failure only what the job has agreed on (settled.h). */
void rz_story_event(struct rz_story *story, uint32_t by, const struct rz_launch_event *event);
void rz_story_mark(struct rz_story *story, const struct rz_launch_mark *mark);

/* To be called now and then: draws the line of --progress again, which ages. */
void rz_story_look(struct rz_story *story, rz_time now);

/* Erases that line, because something else is about to be shown. */
void rz_story_give_way(struct rz_story *story);

/* Records how many messages of each node were refused because the others excluded it. */
void rz_story_refused(struct rz_story *story, const uint64_t *messages, uint32_t n_nodes);

/* Shows what is left, ends a progress line, records the exit status. again: another attempt
 * follows, and *before is what its timeline begins with (its failures are 0 if there were none).
 * Closes the timeline. */
void rz_story_end(struct rz_story *story, int status, bool again, struct rz_recovery_times *before);

#endif
