/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks all processes, after a wait of a second, whether they may still send a bootstrap message,
 * answers such questions, and ends a process that gets one after it has left.
 */
#include "mpi/ft/bootstrap_peers.h"

#include "mpi/impl.h"
#include "mpi/create/setup_message.h"
#include "mpi/ft/bootstrap.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * A bootstrap message usually comes within milliseconds, so no process is asked before. A wait
 * without a possible sender must last as long before it ends: messages of failed processes may
 * still be on their way.
 */
#define ASK_AFTER RZ_SECOND

/* The `about` of such a message. */
enum { I_WAIT = 1, INVITE_NONE, MAY_INVITE };

/* This process sends no bootstrap message now: it waits for one itself, or has left. */
static bool waits, left;

static void tell(uint32_t process, uint64_t about)
{
    if (rz_setup_message_send(process, RZ_SETUP_WAITS, about, NULL, 0) != MPI_SUCCESS) {
        rz_engine_exit(RZ_ERR_NO_MEMORY); /* that process would wait for ever */
    }
}

static bool lives(uint32_t slot)
{
    return slot != rz_engine.info->self.rank && !rz_liveness.members[slot].failed;
}

static void tell_all(uint64_t about)
{
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        if (lives(slot)) {
            tell(rz_liveness.members[slot].process, about);
        }
    }
}

void rz_bootstrap_peers_begin(struct rz_bootstrap_peers *bootstrap_peers)
{
    *bootstrap_peers = (struct rz_bootstrap_peers){.begun = 0};
}

bool rz_bootstrap_peers_gone(struct rz_bootstrap_peers *bootstrap_peers)
{
    rz_time now = rz_clock_now();
    bootstrap_peers->begun = bootstrap_peers->begun != 0 ? bootstrap_peers->begun : now;
    if (now - bootstrap_peers->begun < ASK_AFTER) {
        return false;
    }
    if (!bootstrap_peers->asked) {
        bootstrap_peers->asked = waits = true;
        tell_all(I_WAIT);
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        if (lives(slot) && member->invites_none != member->process) {
            bootstrap_peers->hopeless_since = 0;
            return false;
        }
    }
    bootstrap_peers->hopeless_since =
        bootstrap_peers->hopeless_since != 0 ? bootstrap_peers->hopeless_since : now;
    return now - bootstrap_peers->hopeless_since >= ASK_AFTER;
}

void rz_bootstrap_peers_joined(struct rz_bootstrap_peers *bootstrap_peers)
{
    *bootstrap_peers = (struct rz_bootstrap_peers){.begun = 0};
    if (waits) {
        waits = false;
        tell_all(MAY_INVITE);
    }
}

/* ---- Leaving, and messages ---- */

enum bootstrapped { NOT_BOOTSTRAPPED, BOOTSTRAPPED, BOOTSTRAPPED_AGAIN };

static enum bootstrapped look_at(const struct rz_setup_message *word)
{
    if (word->kind != RZ_SETUP_BOOTSTRAP) {
        return NOT_BOOTSTRAPPED;
    }
    struct rz_bootstrap bootstrap;
    bool of_use = rz_bootstrap_read(&bootstrap, word);
    bool again = of_use && rz_bootstrap_known(bootstrap.context);
    rz_bootstrap_free(&bootstrap);
    return again ? BOOTSTRAPPED_AGAIN : of_use ? BOOTSTRAPPED : NOT_BOOTSTRAPPED;
}

static _Noreturn void end_for_another(void)
{
    fprintf(stderr,
            "rhizome: rank %u ends: others repair a communicator to which it belongs "
            "(RZ_Comm_replace), but it is in MPI_Finalize\n",
            rz_engine.info->self.rank);
    _exit(EXIT_FAILURE);
}

/* Answers the processes that have asked before. */
void rz_bootstrap_peers_leave(void)
{
    left = true;
    for (const struct rz_setup_message *word = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, NULL);
         word; word = rz_setup_message_next(RZ_SETUP_BOOTSTRAP, word)) {
        if (look_at(word) == BOOTSTRAPPED) {
            end_for_another();
        }
    }
    for (uint32_t slot = 0; slot < rz_engine.info->n_slots; slot++) {
        const struct rz_member *member = &rz_liveness.members[slot];
        if (lives(slot) && member->awaits_bootstrap == member->process) {
            tell(member->process, INVITE_NONE);
        }
    }
}

bool rz_bootstrap_peers_answer(const struct rz_setup_message *word)
{
    struct rz_member *member = rz_member_of(word->process);
    if (word->kind != RZ_SETUP_WAITS) {
        enum bootstrapped bootstrapped = look_at(word);
        if (bootstrapped == BOOTSTRAPPED && left) {
            end_for_another();
        }
        return bootstrapped == BOOTSTRAPPED_AGAIN;
    }
    if (word->about == I_WAIT) {
        member->awaits_bootstrap = word->process;
        member->invites_none = word->process;
    } else {
        member->invites_none = word->about == INVITE_NONE ? word->process : 0;
    }
    if (word->about == I_WAIT && (waits || left) && !rz_process_failed(word->process)) {
        tell(word->process, INVITE_NONE);
    }
    return true;
}

void rz_bootstrap_peers_close(void)
{
    waits = left = false;
}
