/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawned processes: the inter-communicator of MPI_Comm_get_parent, and MPI_Init, which waits until
 * the parents know of all spawned processes.
 */
#include "mpi/create/dynamic.h"
#include "mpi/create/parent.h"

#include "mpi/create/setup_message.h"
#include "mpi/agree/ballot.h"
#include "mpi/request/wait.h"
#include "port/kill_point.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rz_comm *parent; /* the user's, until freed */

int rzm_comm_get_parent(struct rz_comm **the_parent)
{
    *the_parent = parent;
    return MPI_SUCCESS;
}

void rz_parent_ends(const struct rz_comm *comm)
{
    parent = parent == comm ? NULL : parent;
}

/* ---- What the parents have passed ---- */

int rz_parent_write(const struct rz_parent_message *protocol_message,
                    const struct rz_group *parents, struct rz_news *news)
{
    size_t numbers = (size_t)parents->size * sizeof(parents->process[0]);
    struct rz_parent_message *written = malloc(sizeof(*written) + numbers);
    if (!written) {
        return MPI_ERR_NO_MEM;
    }
    if (sizeof(*written) + numbers > RZ_LINK_MESSAGE_MAX / 4) {
        free(written);
        return rzm_error(MPI_ERR_SPAWN, "comm has %d members, too many for a spawn", parents->size);
    }
    *written = *protocol_message;
    written->n = (uint32_t)parents->size;
    memcpy(written + 1, parents->process, numbers);
    *news = (struct rz_news){written, sizeof(*written) + numbers};
    return MPI_SUCCESS;
}

static int read_protocol_message(const struct rz_link_cohort_info *cohort,
                                 struct rz_parent_message *protocol_message,
                                 struct rz_group **parents)
{
    size_t rest = cohort->parent_bytes - sizeof(*protocol_message);
    if (cohort->parent_bytes < sizeof(*protocol_message)) {
        return rzm_error(MPI_ERR_OTHER, "the control message of the parents is malformed");
    }
    memcpy(protocol_message, cohort->parent, sizeof(*protocol_message));
    if (protocol_message->n == 0 || rest != protocol_message->n * sizeof(uint32_t)) {
        return rzm_error(MPI_ERR_OTHER, "the control message of the parents is incomplete");
    }
    uint32_t *numbers = malloc(rest);
    if (!numbers) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(numbers, cohort->parent + sizeof(*protocol_message), rest);
    *parents = rz_group_new((int)protocol_message->n, numbers);
    free(numbers);
    return *parents ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* ---- Whether to continue ---- */

struct awaited {
    const struct rz_parent_message *protocol_message;
    bool go;
};

static bool root_has_spoken(void *arg)
{
    struct awaited *awaited = arg;
    struct rz_setup_message *word =
        rz_setup_message_take(RZ_SETUP_GO, awaited->protocol_message->order);
    awaited->go = word != NULL;
    free(word);
    return awaited->go || rz_dynamic_is_gone(awaited->protocol_message->root);
}

static int common_outcome(struct rz_comm *comm, const struct rz_proposal *proposal, void *result)
{
    (void)comm;
    *(bool *)result = proposal->and != 0;
    return MPI_SUCCESS;
}

/*
 * A root that failed may have sent GO to some of the processes: either all continue or none.
 * Processes that get the decision "none" agree once more, so that all have received it; if one
 * exited earlier, the others would decide without it.
 */
static int settle_init(bool *go)
{
    struct rz_request *request;
    int error =
        rz_ballot_begin(rz_comm_predefined(0x101), *go, false, common_outcome, go, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPI_Init", NULL);
}

static int await_root(const struct rz_parent_message *protocol_message)
{
    struct awaited awaited = {.protocol_message = protocol_message};
    struct rz_blocked blocked = {.call = "MPI_Init", .peer = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    int error = rz_setup_message_send(protocol_message->root, RZ_SETUP_READY,
                                      protocol_message->order, NULL, 0);
    rz_kill_here(RZ_KILL_READY);
    error = error != MPI_SUCCESS ? error : rz_engine_wait(&blocked, root_has_spoken, &awaited);
    if (error == MPI_SUCCESS && awaited.go) {
        error = rz_setup_message_send(protocol_message->root, RZ_SETUP_GOING,
                                      protocol_message->order, NULL, 0);
    }
    error = error != MPI_SUCCESS ? error : settle_init(&awaited.go);
    if (error != MPI_SUCCESS || awaited.go) {
        return error;
    }
    error = settle_init(&awaited.go);
    if (error == MPI_SUCCESS) {
        rz_link_close(rz_engine.link, true);
        _exit(EXIT_SUCCESS);
    }
    return error;
}

int rz_parent_meet(void)
{
    const struct rz_link_info *info = rz_engine.info;
    struct rz_parent_message protocol_message;
    struct rz_group *parents = NULL;
    struct rz_comm *world = rz_comm_predefined(0x101);
    if (!info->cohort.processes || world->unshared) {
        return MPI_SUCCESS;
    }
    int error = read_protocol_message(&info->cohort, &protocol_message, &parents);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_engine_await(world->group->process, world->group->size, "MPI_Init");
    error = error != MPI_SUCCESS
                ? error
                : rz_dynamic_make(protocol_message.words, world, parents, "MPI_Init", &parent);
    rz_group_release(parents);
    if (error == MPI_SUCCESS) {
        strcpy(parent->name, "MPI_COMM_PARENT");
    }
    return error != MPI_SUCCESS ? error : await_root(&protocol_message);
}
