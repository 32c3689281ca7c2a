/* MPIX_Comm_agree and its kin (ULFM). */
#include "mpi/ft/comm_agree.h"

#include "base/random.h"
#include "mpi/ft/birth_wish.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

struct ballot {
    struct rz_motion motion;
    struct rz_request *request;
    rz_ballot_outcome_t outcome;
    void *result;
    bool acknowledge;
    uint32_t n_acknowledged;
    rz_id acknowledged[]; /* members, sorted, whose deaths the user had acknowledged at the call */
};

#define BALLOT_OF(motion_)                                                                         \
    ((struct ballot *)(void *)((char *)(motion_)-offsetof(struct ballot, motion)))

/* ---- What was acknowledged ---- */

static int by_id(const void *a, const void *b)
{
    rz_id left = *(const rz_id *)a, right = *(const rz_id *)b;
    return (left > right) - (left < right);
}

static void take_acknowledged(const struct rz_comm *comm, struct ballot *ballot)
{
    for (uint32_t i = 0; i < rz_engine.n_dead && ballot->n_acknowledged < comm->acknowledged; i++) {
        rz_id member = rz_council_member(comm, rz_engine.dead[i]);
        if (member != RZ_ID_NONE) {
            ballot->acknowledged[ballot->n_acknowledged++] = member;
        }
    }
    qsort(ballot->acknowledged, ballot->n_acknowledged, sizeof(rz_id), by_id);
}

/* Two members that acknowledged different deaths propose different words, so that minimum and
 * maximum differ. */
static uint64_t word_of_acknowledged(const struct ballot *ballot)
{
    uint64_t word = ballot->n_acknowledged;
    for (uint32_t i = 0; i < ballot->n_acknowledged; i++) {
        word = rz_mix(word, ballot->acknowledged[i]);
    }
    return word;
}

/* Each of the agreed dead was acknowledged here; the same was acknowledged everywhere. */
static bool all_acknowledged(const struct ballot *ballot)
{
    const struct rz_motion *motion = &ballot->motion;
    if (motion->min != motion->max) {
        return false;
    }
    for (uint32_t i = 0; i < motion->n_dead; i++) {
        if (bsearch(&motion->dead[i], ballot->acknowledged, ballot->n_acknowledged, sizeof(rz_id),
                    by_id) == NULL) {
            return false;
        }
    }
    return true;
}

void rz_ballot_acknowledge(const struct rz_comm *comm, const struct rz_motion *motion)
{
    for (uint32_t i = 0; i < motion->n_dead; i++) {
        uint32_t process = rz_council_process(comm->council, motion->dead[i]);
        rz_deaths_acknowledge(&process, 1);
    }
}

/* ---- Ballots ---- */

static void ballot_decided(struct rz_motion *motion, struct rz_council *council)
{
    struct ballot *ballot = BALLOT_OF(motion);
    struct rz_request *request = ballot->request;
    (void)council;
    int error = ballot->outcome(request->comm, motion, ballot->result);
    if (error == MPI_SUCCESS && ballot->acknowledge && !all_acknowledged(ballot)) {
        error = MPI_ERR_PROC_FAILED;
    }
    rz_request_complete(request, error);
}

static void ballot_destroy(struct rz_request *request)
{
    free(request->state);
}

static void ballot_waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    rz_council_waits_for(request->comm->council, blocked);
}

static const struct rz_request_class ballot_class = {.name = "agreement",
                                                     .waited_for = true,
                                                     .waits_for = ballot_waits_for,
                                                     .destroy = ballot_destroy};

int rz_ballot_begin(struct rz_comm *comm, uint64_t and, bool acknowledge,
                    rz_ballot_outcome_t outcome, void *result, struct rz_request **request)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && comm->unshared) {
        error = rzm_error(MPI_ERR_COMM, "this MPI_COMM_WORLD is of a process that replaces a dead "
                                        "one: nobody else has it (see RZ_Comm_replace)");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_request *made = rz_request_new(&ballot_class, comm);
    struct ballot *ballot =
        malloc(sizeof(*ballot) + (acknowledge ? comm->acknowledged : 0) * sizeof(rz_id));
    if (made == NULL || ballot == NULL) {
        free(ballot);
        if (made != NULL) {
            rz_request_destroy(made);
        }
        return MPI_ERR_NO_MEM;
    }
    *ballot = (struct ballot){
        .request = made, .outcome = outcome, .result = result, .acknowledge = acknowledge};
    made->state = ballot;
    if (acknowledge) {
        take_acknowledged(comm, ballot);
    }
    uint64_t word = acknowledge ? word_of_acknowledged(ballot) : 0;
    ballot->motion =
        (struct rz_motion){.and = and, .min = word, .max = word, .decided = ballot_decided};
    rz_request_activate(made);
    error = rz_council_propose(comm, &ballot->motion);
    if (error != MPI_SUCCESS) {
        rz_request_complete(made, error);
        rz_request_destroy(made);
        return error;
    }
    *request = made;
    return MPI_SUCCESS;
}

/* ---- MPIX_Comm_agree ---- */

#define HALF 32
#define LOW_HALF UINT64_C(0xffffffff)

/* Of an inter-communicator each group proposes in its own half, and is told the other's. */
static uint64_t flag_as_bits(const struct rz_comm *comm, int flag)
{
    uint64_t bits = (uint32_t)flag;
    return rz_council_second(comm) ? bits << HALF | LOW_HALF : bits | LOW_HALF << HALF;
}

static int agree_outcome(struct rz_comm *comm, const struct rz_motion *motion, void *result)
{
    bool inter = comm->remote != comm->group;
    bool high = inter && !rz_council_second(comm);
    uint64_t bits = high ? motion->and >> HALF : motion->and;
    *(int *)result = (int)(uint32_t)(bits & LOW_HALF);
    rz_ballot_acknowledge(comm, motion);
    return MPI_SUCCESS;
}

int rzm_comm_iagree(struct rz_comm *comm, int *flag, struct rz_request **request)
{
    return rz_ballot_begin(comm, flag_as_bits(comm, *flag), true, agree_outcome, flag, request);
}

/* With --no-ft: no communicator outlives a death, so that there is none to agree on. */
static int agree_by_allreduce(struct rz_comm *comm, int *flag)
{
    int mine = *flag;
    struct rz_op *band = rz_op_predefined((unsigned)(uintptr_t)MPI_BAND);
    return rzm_allreduce(&mine, flag, 1, rz_datatype_of(MPI_INT), band, comm);
}

int rzm_comm_agree(struct rz_comm *comm, int *flag)
{
    if (!rz_engine_fault_tolerant()) {
        return agree_by_allreduce(comm, flag);
    }
    struct rz_request *request;
    int error = rzm_comm_iagree(comm, flag, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPIX_Comm_agree", NULL);
}

/* ---- MPIX_Comm_agree_failed ---- */

/* A group of the members in dead: what all members then know of the failed. */
static int failed_outcome(struct rz_comm *comm, const struct rz_motion *motion, void *result)
{
    uint32_t *process = malloc((motion->n_dead + 1) * sizeof(*process));
    if (process == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < motion->n_dead; i++) {
        process[i] = rz_council_process(comm->council, motion->dead[i]);
    }
    rz_deaths_acknowledge(process, motion->n_dead);
    struct rz_group *group = rz_group_predefined(0x109);
    if (motion->n_dead > 0) {
        group = rz_group_new((int)motion->n_dead, process);
    } else if (group != NULL) {
        rz_group_retain(group);
    }
    free(process);
    if (group == NULL) {
        return MPI_ERR_NO_MEM;
    }
    *(MPI_Group *)result = (MPI_Group)rz_object_handle(&group->object, (uintptr_t)MPI_GROUP_NULL);
    return MPI_SUCCESS;
}

int rzm_comm_iagree_failed(struct rz_comm *comm, MPI_Group *group, struct rz_request **request)
{
    return rz_ballot_begin(comm, 0, false, failed_outcome, group, request);
}

int rzm_comm_agree_failed(struct rz_comm *comm, MPI_Group *group)
{
    struct rz_request *request;
    int error = rzm_comm_iagree_failed(comm, group, &request);
    return error != MPI_SUCCESS ? error : rz_wait_end(request, "MPIX_Comm_agree_failed", NULL);
}
