/* SPDX-License-Identifier: BSD-3-Clause */
/* A launcher for tests: starts the daemons of a job (each under its keeper), gives them the job,
 * keeps what they say. */
#ifndef TEST_FAKE_LAUNCHER_H
#define TEST_FAKE_LAUNCHER_H

#include "../../patience.h"
#include "port/channel.h"
#include "wire/launch_messages.h"

#include <sys/types.h>

#define FAKE_NODES_MAX 4
#define FAKE_TEXT_MAX 65536

struct fake_message {
    struct fake_message *next;
    struct rz_launch_message message; /* pointers lead into bytes */
    uint8_t bytes[];
};

struct fake_node {
    pid_t keeper, daemon; /* daemon: from LISTENING */
    int alive_fd;
    struct rz_frames *frames; /* NULL: closed */
    uint32_t tcp_port, udp_port;
    struct fake_message *first, **last; /* messages that it sent and that were not taken yet */
};

struct fake_job {
    uint32_t n_nodes, n_ranks;
    struct fake_node node[FAKE_NODES_MAX];
    const char *const *arguments;   /* NULL-terminated */
    const char *const *environment; /* NULL-terminated, or NULL */
    uint64_t hb_period_ns, hb_timeout_ns;
    rz_time rewind_ns;
    uint32_t flags, detector; /* RZ_JOB_*, enum rz_detector */
};

/* Starts n_nodes daemons; their LISTENING is not waited for. */
void fake_start_only(struct fake_job *job, uint32_t n_nodes);

/* Starts n_nodes daemons and waits for LISTENING of each. */
void fake_start(struct fake_job *job, uint32_t n_nodes);

/* Sends JOB: ranks are dealt out in blocks. */
void fake_run(struct fake_job *job, uint32_t n_ranks, const char *const *arguments);

void fake_send(struct fake_job *job, uint32_t node, const struct rz_launch_message *message);

/* The next message of any type and node. */
struct fake_message *fake_await_any(struct fake_job *job);

/* The next message of that type of any node, taken out; other messages stay. Asserts that it
 * arrives. The caller frees it. */
struct fake_message *fake_await(struct fake_job *job, enum rz_launch_type type);

/* The next message for which match returns true; as fake_await. what: for the failure's text. */
struct fake_message *fake_await_match(struct fake_job *job, const char *what,
                                      bool (*match)(const struct rz_launch_message *message,
                                                    const void *arg),
                                      const void *arg);

/* EXITED of rank: its wait status, clean and hello are checked. */
void fake_await_exit(struct fake_job *job, uint32_t rank, uint32_t status, bool clean, bool hello);

/* Everything rank wrote to stream so far, in order, without taking it; NUL-terminated in text. */
void fake_output(struct fake_job *job, uint32_t rank, uint32_t stream, char text[FAKE_TEXT_MAX]);

/* Waits until rank has written a line that begins so. */
void fake_await_line(struct fake_job *job, uint32_t rank, const char *line);

/* Reads what there is, waiting for at most timeout_ms for something. */
void fake_pump(struct fake_job *job, int timeout_ms);

/* The launcher vanishes: its ends of stream and pipe close at once, as the kernel does at its
 * failure. */
void fake_vanish(struct fake_job *job);

/* SHUTDOWN to all, LEAVE when all have said DONE or ended, waits for their exits (status expected),
 * frees. */
void fake_end(struct fake_job *job, int status);

/* Frees; the daemons must have ended or be about to. */
void fake_free(struct fake_job *job);

/* This process adopts all orphans: nothing can leave unseen. Once, first. */
void fake_adopt(void);

/* Waits until no descendant is left; fails, after killing them, when some stay. */
void fake_assert_nothing_left(const char *when);

#endif
