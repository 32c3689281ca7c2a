/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one engine object of the process, and what ends the process: rz_engine_exit, also when the
 * link to the daemon is broken.
 */
#include "mpi/engine/engine.h"
#include "port/kill_point.h"
#include "port/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Another launcher shows the exit status of the process that ends first: that which has ended the
 * job has this time. */
#define LAST_WORD_US 250000

struct rz_engine rz_engine;

_Noreturn void rz_engine_exit(rz_status_t why)
{
    if (why != RZ_ERR_JOB_ENDED) {
        fprintf(stderr, "rhizome: rank %u ends: %s\n", rz_engine.info->self.rank,
                why == RZ_ERR_CLOSED ? "the daemon of its node has ended" : rz_status_text(why));
    }
    if (why == RZ_ERR_JOB_ENDED && rz_engine.info->elsewhere) {
        usleep(LAST_WORD_US);
    }
    _exit(EXIT_FAILURE);
}

/* The daemon has sent the signal before it showed the epoch; if the daemon has ended, the process
 * ends with it. */
_Noreturn void rz_engine_await_end(void)
{
    for (;;) {
        rz_signals_await();
    }
}

bool rz_engine_arm_kill(const char *text)
{
    bool understood = rz_kill_arm(text, rz_engine.info->self.rank);
    rz_engine.kills_here = rz_kill_plan != NULL;
    return understood;
}

void rz_engine_tell_daemon(const struct rz_link_message *message)
{
    rz_status_t status = rz_link_send(rz_engine.link, message, -1);
    if (status != RZ_OK) {
        rz_engine_exit(status);
    }
}

void rz_engine_close_fds(const int *fds, unsigned n_fds)
{
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
}
