/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to the daemon for replacement processes (REPLACE): their numbers, and the answers.
 */
#include "mpi/ft/spawn_ask.h"

#include "base/linked_list.h"
#include "base/trace.h"
#include "mpi/impl.h"

#include <stdlib.h>

static struct rz_spawn_ask *requests; /* list of requests, by next */
static uint64_t last_question;

/* ---- Process numbers ---- */

uint32_t rz_spawn_after(uint32_t failed)
{
    return rz_process(rz_process_slot(failed), rz_process_incarnation(failed) + 1);
}

/* ---- Spawns ---- */

static void replaced(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    (void)arg, (void)fds, (void)n_fds;
    uint64_t question = message->replaced.question;
    for (struct rz_spawn_ask *request = requests; request; request = request->next) {
        if (question >= request->first && question <= request->last && request->unanswered > 0) {
            request->unanswered--;
            request->refused[question - request->first] = message->replaced.status != RZ_OK;
            request->status =
                request->status != RZ_OK ? request->status : (rz_status_t)message->replaced.status;
            rz_engine.completions++;
        }
    }
}

static void ask(uint64_t question, uint32_t failed)
{
    uint8_t bytes[RZ_LINK_PAIR_BYTES];
    struct rz_link_process pair = {.slot = rz_process_slot(failed),
                                   .incarnation = rz_process_incarnation(failed) + 1};
    RZ_TRACE(REPLACEMENT_ASK, pair.slot, pair.incarnation, 0);
    rz_link_put_pairs(bytes, &pair, 1);
    struct rz_link_message message = {
        .type = RZ_LINK_REPLACE,
        .replace = {.question = question, .spawns = bytes, .spawns_length = sizeof(bytes)}};
    rz_engine_tell_daemon(&message);
}

int rz_spawn_ask_ask(struct rz_spawn_ask *request, const uint32_t *failed, uint32_t n)
{
    bool *refused = calloc(n + 1, sizeof(*refused));
    if (!refused) {
        return MPI_ERR_NO_MEM;
    }
    *request = (struct rz_spawn_ask){.first = last_question + 1,
                                     .last = last_question + n,
                                     .unanswered = n,
                                     .refused = refused,
                                     .next = requests};
    last_question = request->last;
    requests = request;
    rz_link_handle(rz_engine.link, RZ_LINK_REPLACED, replaced, NULL);
    for (uint32_t i = 0; i < n; i++) { /* one question for each, since some may be refused */
        ask(request->first + i, failed[i]);
    }
    return MPI_SUCCESS;
}

void rz_spawn_ask_end(struct rz_spawn_ask *request)
{
    rz_list_unlink(&requests, request);
    free(request->refused);
    request->refused = NULL;
}
