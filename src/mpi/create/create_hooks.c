/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer create: setup messages, the ports and partings of MPI_Finalize, and the
 * end of the parents' inter-communicator.
 */
#include "mpi/create/create_hooks.h"

#include "mpi/create/dynamic.h"
#include "mpi/create/parent.h"
#include "mpi/create/setup_message.h"

static bool answers(const struct rz_setup_message *message)
{
    return rz_connect_answers(message) || rz_spawn_answers(message);
}

static void comm_ends(struct rz_comm *comm, bool goodbye)
{
    (void)goodbye;
    rz_parent_ends(comm);
}

const struct rz_hooks rz_create_hooks = {
    .retire = rz_connect_ports_close,
    .part = rz_dynamic_finish,
    .work = {[RZ_WORK_SETUP_MESSAGES] = rz_setup_messages_look},
    .arrived = {[RZ_ENVELOPE_SETUP] = rz_setup_message_arrived},
    .answers = answers,
    .forget = rz_setup_messages_close,
    .discard = rz_comm_from_group_close,
    .comm_ends = comm_ends,
};
