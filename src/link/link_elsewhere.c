/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that another launcher has started is no child of its daemon. It ends with its
 * guardians: what stands in for it at the daemon, and the process that started it.
 */
#include "link/link_state.h"

#include "pmix/pmix.h"
#include "port/channel.h"
#include "port/descriptor.h"
#include "port/process.h"
#include "wire/meeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* How soon the end of a guardian is seen, at most. */
#define LOOK_EVERY RZ_SECOND

rz_status_t rz_link_join_elsewhere(struct rz_link *link)
{
    const char *why;
    link->guardians = (struct rz_guardians){.stand_in = -1, .launcher = -1};
    if (rz_pmix_is_lost(&why)) {
        fprintf(stderr, "rhizome: %s\n", why);
        return RZ_ERR_UNSUPPORTED;
    }
    if (!rz_pmix_started()) {
        return RZ_OK;
    }
    if (rz_process_open(getppid(), &link->guardians.launcher) != RZ_OK) {
        link->guardians.launcher = -1;
    }
    rz_status_t status = rz_pmix_join(&link->guardians.stand_in);
    link->info.elsewhere = link->guardians.stand_in >= 0;
    return status;
}

/* A stand-in sends nothing: there is something to be read once it has ended. */
void rz_link_look_at_guardians(const struct rz_link *link, uint64_t stop)
{
    const struct rz_guardians *guardians = &link->guardians;
    const int fds[] = {guardians->stand_in, guardians->launcher};
    unsigned ended = guardians->stand_in < 0 ? 0 : rz_descriptor_await(fds, 2, 0);
    if (ended != 0 && stop == RZ_ERR_JOB_ENDED) {
        _exit(EXIT_FAILURE); /* rzrun has said how the job ended */
    }
    if (ended != 0) {
        rz_link_end_by(link, ended & 1 ? "what stands in for it at its daemon has ended"
                                       : "the launcher that started it has ended");
    }
}

void rz_link_tell_guardians(const struct rz_link *link)
{
    const char word = RZ_STAND_IN_LEFT;
    if (link->guardians.stand_in >= 0) {
        rz_channel_send(link->guardians.stand_in, &word, sizeof(word), NULL, 0);
    }
}

rz_time rz_link_beat_period(const struct rz_link *link)
{
    rz_time lease = rz_lease_period(link->board);
    bool guarded = link->guardians.stand_in >= 0;
    return guarded && (lease == 0 || lease > LOOK_EVERY) ? LOOK_EVERY : lease;
}
