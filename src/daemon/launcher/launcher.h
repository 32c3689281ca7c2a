/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream to rzrun (wire/launch_messages.h): what rzrun is told, and which module handles which
 * order. Modules register when they are opened.
 */
#ifndef RZ_DAEMON_LAUNCHER_H
#define RZ_DAEMON_LAUNCHER_H

#include "daemon/state/own_node.h"
#include "net/stream/stream.h"

struct rz_launcher;

/* When an order is obeyed. At another time it is dropped if the daemon is ending, and refused if
 * there is no job yet. */
enum rz_launcher_when {
    RZ_LAUNCHER_ALWAYS,
    RZ_LAUNCHER_BEFORE_END, /* also before JOB */
    RZ_LAUNCHER_IN_JOB      /* from JOB on, before the end */
};

/* Returns NULL if the order was obeyed, else why it is refused, in words; a refusal ends the
 * daemon. */
typedef const char *(*rz_launcher_handler_fn)(void *arg, const struct rz_launch_message *message);

struct rz_launcher_config {
    struct rz_own_node *own;  /* the launcher becomes the sink of its report */
    struct rz_stream *stream; /* taken over */
    void *arg;
    /* Whether orders are dropped because the daemon is ending. */
    bool (*deaf)(void *arg);
    /* The stream to rzrun, or a reader of rzrun's output, is backed up (true) or has room again
     * (false). */
    void (*backed_up)(void *arg, bool hold);
    /* rzrun has gone. */
    void (*lost)(void *arg);
    /* An order of rzrun was refused, and rzrun was told so: the daemon ends. */
    void (*refused)(void *arg);
};

rz_status_t rz_launcher_open(struct rz_launcher **launcher,
                             const struct rz_launcher_config *config);
void rz_launcher_close(struct rz_launcher *launcher); /* NULL: nothing */

/* One handler per type. */
void rz_launcher_handle(struct rz_launcher *launcher, enum rz_launch_type type,
                        enum rz_launcher_when when, rz_launcher_handler_fn handler, void *arg);

/* The job has arrived: orders for RZ_LAUNCHER_IN_JOB are obeyed from now on. */
void rz_launcher_in_job(struct rz_launcher *launcher);

/* Tells rzrun where the overlay listens, and where in the other family (NULL: nowhere). This is the
 * first message. */
void rz_launcher_say_listening(struct rz_launcher *launcher, uint32_t node,
                               const struct rz_overlay_peer *at,
                               const struct rz_overlay_peer *other);

/* Waits until everything queued is written, at most timeout_ms. */
void rz_launcher_flush(struct rz_launcher *launcher, uint32_t timeout_ms);

#endif
