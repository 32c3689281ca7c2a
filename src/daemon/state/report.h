/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this daemon tells: lines for the user, and messages for rzrun, that is what has happened
 * here. Where they go is plugged in from above: the stream to rzrun is the sink; a detached job
 * puts a tap in front of it, which sees everything first.
 */
#ifndef RZ_DAEMON_REPORT_H
#define RZ_DAEMON_REPORT_H

#include "wire/launch_messages.h"

#include <stdbool.h>
#include <stdint.h>

struct rz_report_sink {
    void *arg;
    void (*send)(void *arg, const struct rz_launch_message *message);
};

struct rz_report_tap {
    void *arg;
    /* False: the message goes no further. */
    bool (*message)(void *arg, const struct rz_launch_message *message);
    /* True: the line was kept, and does not go to standard error. */
    bool (*line)(void *arg, const char *line);
};

struct rz_report {
    uint32_t node;              /* of this daemon */
    uint32_t verbosity;         /* of the job */
    struct rz_report_sink sink; /* send NULL: messages are dropped */
    struct rz_report_tap tap;   /* message and line NULL: there is none */
};

/* One line to standard error when the job's verbosity is at least level (0: always). No newline at
 * the end of format. Never blocks: a daemon that waits is taken for a failed one. */
void rz_report_log(const struct rz_report *report, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A message to rzrun; queued, never blocks. */
void rz_report_send(const struct rz_report *report, const struct rz_launch_message *message);

/*
 * Tells rzrun what happened here. Fields that do not apply: RZ_ID_NONE for rank and incarnation, 0
 * for value and epoch. node RZ_ID_NONE: this node. at_ns 0: now. note NULL: "".
 */
void rz_report_event(const struct rz_report *report, const struct rz_launch_event *event);

/* A process ends the whole job (it called abort, or its program cannot be run): rzrun hears it and
 * ends all daemons. */
void rz_report_aborted(const struct rz_report *report, uint32_t rank, uint32_t code,
                       const char *reason);

#endif
