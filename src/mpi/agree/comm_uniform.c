/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uniform errors: one agreement per operation, in rows of operations that all members begin in one
 * order, and the refusals of members that know of a revocation.
 */
#include "mpi/agree/comm_uniform.h"

#include "base/random.h"
#include "mpi/impl.h"
#include "mpi/engine/waiting.h"

#include <stdlib.h>

/* The flags of a proposal: the operation succeeded here; this process waits for no operation of the
 * row. */
#define WELL UINT64_C(1)
#define IDLE UINT64_C(2)

/* Proposed as maximum: the severity of the local error. */
enum severity { GOOD, OTHER, PROC_FAILED, REVOKED };

/* Distinguish the agreement contexts. */
#define OF_COMM UINT64_C(0x7d1)
#define OF_OPERATION UINT64_C(0x7d2)
#define OF_PART UINT64_C(0x7d3)
#define OF_NONBLOCKING UINT64_C(0x7d4)

struct rz_uniform_results {
    struct rz_agreement_context *agreement_context; /* NULL: no operation has begun in it, or all
                                                       agreement contexts have ended */
    struct rz_comm *comm; /* NULL: it was revoked and has ended, but other members may still wait */
    uint64_t word;        /* distinguishes its agreement context from others of comm */
    bool refuses;         /* a refusal of this member is under way */
    bool announced;       /* all members know of this row, or will */
    uint32_t told_by; /* the member that told this one of the row; if it fails, this one tells the
                         others; UINT32_MAX: none */
    bool refused;     /* by all members: no member waits for a result any more */
    struct rz_uniform_results *next, *prev;
    struct rz_uniform_results *same_comm; /* the next one of comm */
};

static struct rz_uniform_results *rows; /* list of all rows */
static uint64_t rows_ended;             /* so many have left it */

bool rz_comm_is_uniform(const struct rz_comm *comm, enum rz_error_uniform least)
{
    return rz_comm_error_uniform(comm) >= least && rz_engine_fault_tolerant() &&
           !rz_engine.info->alone;
}

/* ---- Rows ---- */

static struct rz_uniform_results *row_new(struct rz_comm *comm, struct rz_group *part,
                                          uint64_t word)
{
    struct rz_uniform_results *row = calloc(1, sizeof(*row));
    if (!row) {
        return NULL;
    }
    row->comm = comm;
    row->word = word;
    row->told_by = UINT32_MAX;
    row->next = rows;
    if (rows) {
        rows->prev = row;
    }
    rows = row;
    row->same_comm = comm->uniform_results;
    comm->uniform_results = row;
    if (rz_agreement_context_open_child(comm, part, word, &row->agreement_context) != MPI_SUCCESS) {
        rz_uniform_results_end(row);
        return NULL;
    }
    if (comm->revoked) {
        rz_agreement_contexts_wake();
    }
    return row;
}

static struct rz_uniform_results *row_find(struct rz_comm *comm, struct rz_group *part,
                                           uint64_t word)
{
    struct rz_uniform_results *row = comm->uniform_results;
    while (row && row->word != word) {
        row = row->same_comm;
    }
    return row ? row : row_new(comm, part, word);
}

struct rz_uniform_results *rz_uniform_results_of(struct rz_comm *comm)
{
    return row_find(comm, NULL, OF_COMM);
}

struct rz_uniform_results *rz_uniform_results_of_nonblocking(struct rz_comm *comm)
{
    return row_find(comm, NULL, OF_NONBLOCKING);
}

/* Calls of the same part with the same tag are one row. */
struct rz_uniform_results *rz_uniform_results_of_part(struct rz_comm *comm, struct rz_group *part,
                                                      int tag)
{
    uint64_t word = rz_mix(OF_PART, (uint64_t)(unsigned)tag);
    for (int i = 0; i < part->size; i++) {
        word = rz_mix(word, part->process[i]);
    }
    return row_find(comm, part, word);
}

struct rz_uniform_results *rz_uniform_results_new(struct rz_comm *comm, uint64_t operation)
{
    return row_find(comm, NULL, rz_mix(OF_OPERATION, operation));
}

static bool may_refuse(const struct rz_uniform_results *row)
{
    return row->agreement_context && !row->refused;
}

/* The row is no longer one of its communicator. */
static void leave_comm(struct rz_uniform_results *row)
{
    if (row->comm) {
        struct rz_uniform_results **link = &row->comm->uniform_results;
        while (*link != row) {
            link = &(*link)->same_comm;
        }
        *link = row->same_comm;
        row->comm = NULL;
    }
}

void rz_uniform_results_end(struct rz_uniform_results *row)
{
    if (!row) {
        return;
    }
    if (row->comm && row->comm->revoked && may_refuse(row)) {
        leave_comm(row);
        rz_agreement_contexts_wake();
        return;
    }
    if (row->agreement_context) {
        rz_agreement_context_dismiss(&row->agreement_context);
    }
    leave_comm(row);
    *(row->prev ? &row->prev->next : &rows) = row->next;
    if (row->next) {
        row->next->prev = row->prev;
    }
    rows_ended++;
    free(row);
}

void rz_uniform_results_comm_ends(struct rz_comm *comm)
{
    while (comm->uniform_results) {
        rz_uniform_results_end(comm->uniform_results);
    }
}

/* ---- Results ---- */

static enum severity severity_of(int error)
{
    return error == MPI_SUCCESS           ? GOOD
           : error == MPI_ERR_PROC_FAILED ? PROC_FAILED
           : error == MPI_ERR_REVOKED     ? REVOKED
                                          : OTHER;
}

/* The common error for a local one, where the worst of all was this. An error of another kind,
 * which the call at one member may have for itself, stays at that member. */
static int common_error(int error, enum severity worst)
{
    if (worst == OTHER) {
        return error != MPI_SUCCESS ? error : MPI_ERR_OTHER;
    }
    return worst == REVOKED ? MPI_ERR_REVOKED : MPI_ERR_PROC_FAILED;
}

#define RESULT_OF(proposal_)                                                                       \
    ((struct rz_uniform_result *)(void *)((char *)(proposal_)-offsetof(struct rz_uniform_result,   \
                                                                       proposal)))

static void result_decided(struct rz_proposal *proposal,
                           struct rz_agreement_context *agreement_context)
{
    struct rz_uniform_result *result = RESULT_OF(proposal);
    (void)agreement_context;
    if (!(WELL & proposal->and)) {
        result->error = common_error(result->error, (enum severity)proposal->max);
    }
    if (!(WELL & proposal->and) && proposal->max == REVOKED) {
        rz_comm_revoked(result->row->comm); /* its notification is on its way, or was lost */
    }
    if (result->row->comm->revoked) {
        rz_agreement_contexts_wake(); /* others may wait for operations that will not begin here */
    }
    result->over = true;
    rz_engine.completions++;
    if (result->ended) {
        result->ended(result);
    }
}

void rz_uniform_result_begin(struct rz_uniform_results *row, struct rz_uniform_result *result)
{
    result->row = row;
    result->over = false;
    result->proposal = (struct rz_proposal){.reserved = true, .decided = result_decided};
    result->put = !row->refused && row->agreement_context;
    if (result->put) {
        rz_agreement_context_put(row->agreement_context, &result->proposal);
    }
}

/* All members know that comm is revoked and refuse: no agreement is needed any more. */
static void end_as_revoked(struct rz_uniform_result *result)
{
    result->put = false;
    result->proposal.and = 0;
    result->proposal.max = REVOKED;
    result_decided(&result->proposal, NULL);
}

void rz_uniform_result_tell(struct rz_uniform_result *result, int error)
{
    struct rz_uniform_results *row = result->row;
    enum severity severity = severity_of(error);
    bool well = severity == GOOD || (severity == OTHER && !result->all);
    result->error = error;
    if (!result->put) {
        end_as_revoked(result);
        return;
    }
    result->proposal.and = well ? WELL : 0;
    result->proposal.max = well ? GOOD : severity;
    rz_agreement_context_ready(row->agreement_context, &result->proposal);
}

static bool result_is_over(void *arg)
{
    return ((const struct rz_uniform_result *)arg)->over;
}

static void tell_what_it_waits_for(struct rz_blocked *blocked, const void *arg)
{
    rz_agreement_context_waits_for(((const struct rz_uniform_result *)arg)->row->agreement_context,
                                   blocked);
}

int rz_uniform_result_wait(struct rz_uniform_result *result, int error, const char *call)
{
    struct rz_blocked blocked = {.call = call,
                                 .comm = result->row->comm,
                                 .peer = MPI_PROC_NULL,
                                 .tag = MPI_ANY_TAG,
                                 .look = tell_what_it_waits_for};
    rz_uniform_result_tell(result, error);
    error = rz_engine_wait(&blocked, result_is_over, result);
    return error != MPI_SUCCESS ? error : result->error;
}

/* ---- Revoked communicators ---- */

/* Ends the operations that were begun here since; none of them waits. */
static void end_the_rest(struct rz_uniform_results *row)
{
    struct rz_proposal *proposal;
    while (row->agreement_context &&
           (proposal = rz_agreement_context_withdraw(row->agreement_context)) != NULL) {
        if (proposal == rz_agreement_context_own_proposal(
                            row->agreement_context)) { /* a refusal, which is not needed any more */
            row->refuses = false;
            continue;
        }
        struct rz_uniform_result *result = RESULT_OF(proposal);
        result->put = false;
        if (!proposal->reserved) {
            end_as_revoked(result);
        }
    }
}

static void refusal_decided(struct rz_proposal *proposal,
                            struct rz_agreement_context *agreement_context)
{
    struct rz_agreement_context **owner = rz_agreement_context_owner(agreement_context);
    if (!owner) {
        return;
    }
    struct rz_uniform_results *row =
        (struct rz_uniform_results *)(void *)((char *)owner - offsetof(struct rz_uniform_results,
                                                                       agreement_context));
    row->refuses = false;
    if (IDLE & proposal->and) {
        row->refused = true;
        end_the_rest(row);
        if (!row->comm) {
            rz_uniform_results_end(row);
        }
    } else {
        rz_agreement_contexts_wake();
    }
}

static void refuse(struct rz_uniform_results *row)
{
    struct rz_proposal *proposal = rz_agreement_context_own_proposal(row->agreement_context);
    row->refuses = true;
    *proposal = (struct rz_proposal){.and = IDLE, .max = REVOKED, .decided = refusal_decided};
    rz_agreement_context_put(row->agreement_context, proposal);
}

static bool is_to_refuse(const struct rz_uniform_results *row)
{
    return (!row->comm || row->comm->revoked) && may_refuse(row) && !row->refuses &&
           rz_agreement_context_is_idle(row->agreement_context);
}

/*
 * All members know the row of the communicator, whatever they begin in it. A row of another kind is
 * known only to members that have begun an operation in it: these tell the others, which must
 * refuse as well.
 */
static bool is_to_announce(const struct rz_uniform_results *row)
{
    return (!row->comm || row->comm->revoked) && may_refuse(row) && !row->announced &&
           row->word != OF_COMM;
}

static void announce_row(struct rz_uniform_results *row)
{
    row->announced = true;
    rz_agreement_context_announce(row->agreement_context, row->word);
}

static void announced(struct rz_comm *comm, struct rz_group *part, uint64_t word, uint32_t by)
{
    rz_comm_revoked(comm); /* the other members know that it is */
    if (rz_agreement_context_was_child(comm, word)) {
        return; /* it may have ended here, and still answers */
    }
    struct rz_uniform_results *row = row_new(comm, part, word);
    if (row) {
        row->announced = true;
        row->told_by = by;
        rz_agreement_contexts_wake();
    }
}

/* If the member that told this one of a row failed, it may not have told all: this member does. */
void rz_uniform_results_failure(uint32_t process)
{
    for (struct rz_uniform_results *row = rows; row; row = row->next) {
        if (row->told_by == process && may_refuse(row)) {
            row->told_by = UINT32_MAX;
            row->announced = false;
            rz_agreement_contexts_wake();
        }
    }
}

static void given_up(struct rz_agreement_context **owner)
{
    struct rz_uniform_results *row =
        (struct rz_uniform_results *)(void *)((char *)owner - offsetof(struct rz_uniform_results,
                                                                       agreement_context));
    if (row->word == OF_COMM || row->refused) {
        return;
    }
    row->refused = true;
    rz_agreement_context_leave(row->agreement_context);
    end_the_rest(row);
    if (!row->comm) {
        rz_uniform_results_end(row);
    }
}

void rz_uniform_results_close(void)
{
    for (struct rz_uniform_results *row = rows, *next; row; row = next) {
        next = row->next;
        if (!row->comm) {
            rz_uniform_results_end(row);
        }
    }
}

void rz_uniform_results_look(struct rz_comm *comm)
{
    if (!comm->revoked || comm->unshared || comm->inter) {
        return;
    }
    if (rz_comm_is_uniform(comm, RZ_UNIFORM_CONSTRUCT)) {
        rz_uniform_results_of(comm);
    }
    if (rows) {
        rz_agreement_contexts_wake();
    }
}

static void speak(void)
{
    struct rz_uniform_results *row = rows;
    while (row) {
        bool speaks = is_to_refuse(row);
        uint64_t before = rows_ended;
        if (is_to_announce(row)) {
            announce_row(row);
        }
        if (speaks) {
            refuse(row);
        }
        row = rows_ended != before ? rows : row->next; /* by a decision */
    }
}

/* ---- Events of agreement contexts ---- */

void rz_uniform_results_open(void)
{
    static const struct rz_child_context_events events = {
        .announced = announced, .given_up = given_up, .woken = speak};
    rz_child_context_events = &events;
}
