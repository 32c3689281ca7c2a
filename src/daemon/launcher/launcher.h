/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream to rzrun (wire/launch_messages.h): which module obeys which order, and what rzrun is
 * told. Modules register at their opening.
 */
#ifndef RZ_DAEMON_LAUNCHER_H
#define RZ_DAEMON_LAUNCHER_H

#include "daemon/state/own_node.h"

struct rz_launcher;

/* When an order is obeyed; else it is dropped where the daemon ends, and refused where there is no
 * job yet. */
enum rz_launcher_when {
    RZ_LAUNCHER_ALWAYS,
    RZ_LAUNCHER_BEFORE_END, /* also before JOB */
    RZ_LAUNCHER_IN_JOB      /* from JOB on, before the end */
};

/* NULL: obeyed; else why it is refused, in words, which ends the daemon. */
typedef const char *(*rz_launcher_handler_fn)(void *arg, const struct rz_launch_message *message);

struct rz_launcher_config {
    struct rz_own_node *own; /* the launcher becomes the sink of its report */
    int fd;                  /* the stream; taken over */
    void *arg;
    /* Whether orders are dropped, because the daemon ends. */
    bool (*deaf)(void *arg);
    /* The stream to rzrun, or what rzrun writes to, is backed up (true) or has room again. */
    void (*backed_up)(void *arg, bool hold);
    /* rzrun is gone. */
    void (*lost)(void *arg);
    /* rzrun was refused, and told so: the daemon ends. */
    void (*refused)(void *arg);
};

rz_status_t rz_launcher_open(struct rz_launcher **launcher,
                             const struct rz_launcher_config *config);
void rz_launcher_close(struct rz_launcher *launcher); /* NULL: nothing */

/* One handler per type. */
void rz_launcher_handle(struct rz_launcher *launcher, enum rz_launch_type type,
                        enum rz_launcher_when when, rz_launcher_handler_fn handler, void *arg);

/* The job has come. */
void rz_launcher_in_job(struct rz_launcher *launcher);

/* Says where the overlay listens: the first message. */
void rz_launcher_say_listening(struct rz_launcher *launcher, uint32_t node, const char *address,
                               uint16_t tcp_port, uint16_t udp_port);

/* Waits at most timeout_ms until everything queued is written. */
void rz_launcher_flush(struct rz_launcher *launcher, uint32_t timeout_ms);

#endif
