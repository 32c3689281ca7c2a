/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this daemon reports: lines for the user, and messages for rzrun about what has happened
 * here. The modules above set where they go: the stream to rzrun is the sink, and a detached job
 * sets a tap in front of it, which sees everything first. Parts of lines, notes and reasons are
 * texts of processes: what a terminal could take for a command is replaced here (base/printable.h).
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
    uint32_t node;              /* the number of this daemon's node */
    uint32_t verbosity;         /* the job's verbosity */
    struct rz_report_sink sink; /* send NULL: messages are dropped */
    struct rz_report_tap tap;   /* message and line NULL: there is none */
};

/* Writes one line to standard error if the job's verbosity is at least level (0: always). format
 * has no newline at its end. Never blocks: a daemon that waits would be considered failed. */
void rz_report_log(const struct rz_report *report, uint32_t level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends a message to rzrun: it is queued, and the call never blocks. */
void rz_report_send(const struct rz_report *report, const struct rz_launch_message *message);

/*
 * Tells rzrun about an event of this node. Fields that do not apply are RZ_ID_NONE (rank,
 * incarnation) or 0 (value, epoch). node RZ_ID_NONE: this node. at_ns 0: now. note NULL: "".
 */
void rz_report_event(const struct rz_report *report, const struct rz_launch_event *event);

/* The longest reason that rzrun is told, with its NUL; the rest is left out. */
#define RZ_REPORT_REASON_MAX 1024

/* A process ends the whole job (it called MPI_Abort, or its program cannot be executed): rzrun is
 * told, and ends all daemons. */
void rz_report_aborted(const struct rz_report *report, uint32_t rank, uint32_t code,
                       const char *reason);

#endif
