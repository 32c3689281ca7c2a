/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer agree: protocol messages, failures, revocations on the board, and the
 * begin and end of communicators.
 */
#include "mpi/agree/agreement_context.h"

#include "mpi/agree/comm_revoke.h"
#include "mpi/agree/comm_uniform.h"

#include <stdlib.h>

/* With another engine or tree than at the other ranks, agreements would never end. */
static int check_environment(void)
{
    const char *name, *words;
    return rz_agreement_environment_is_known(&name, &words)
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_OTHER, "%s is '%s', not %s", name, getenv(name), words);
}

static int open_all(void)
{
    int error = check_environment();
    if (error == MPI_SUCCESS) {
        rz_revoke_open();
        rz_decision_requests_open();
        rz_uniform_results_open();
    }
    return error;
}

/* Called before the requests that wait for the process end: an error range may end them with
 * MPI_ERR_REVOKED. */
static void gone(uint32_t process, bool failed)
{
    if (failed) {
        rz_comms_look_at_ranges();
    }
    rz_agreement_contexts_failure(process);
    rz_uniform_results_failure(process);
}

static void stop(void)
{
    rz_agreement_contexts_close();
    rz_uniform_results_close();
}

static void comm_begun(struct rz_comm *comm)
{
    rz_agreement_contexts_comm_begun();
    rz_revoke_comm_begun(comm);
}

static void comm_ends(struct rz_comm *comm, bool goodbye)
{
    if (goodbye) {
        rz_agreement_context_open(comm); /* other members may wait for our goodbye */
    }
    rz_agreement_context_comm_ends(comm, goodbye);
    rz_uniform_results_comm_ends(comm);
}

static void forget_messages(void)
{
    rz_protocol_queue_close(&rz_agree_unread);
}

const struct rz_hooks rz_agree_hooks = {
    .open = open_all,
    .work = {[RZ_WORK_PROTOCOL_MESSAGES] = rz_agreement_contexts_read,
             [RZ_WORK_DEADLINE] = rz_agreement_contexts_tick},
    .check = rz_agreement_contexts_ask_slowly,
    .board_changed = rz_revoke_look,
    .arrived = {[RZ_ENVELOPE_PROTOCOL] = rz_protocol_message_arrived},
    .gone = gone,
    .stop = stop,
    .forget = forget_messages,
    .comm_begun = comm_begun,
    .comm_revoked = rz_uniform_results_look,
    .comm_ends = comm_ends,
};
