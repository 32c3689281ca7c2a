#include "mpi/ft/comm_uniform.h"

#include "base/random.h"
#include "mpi/chapter.h"
#include "mpi/core/engine.h"
#include "mpi/ft/comm_revoke.h"

#include <stdlib.h>

/* What a member proposes: it went well here; nobody waits for this here. */
#define WELL UINT64_C(1)
#define IDLE UINT64_C(2)

/* And as maximum: how bad it was. */
enum severity { GOOD, OTHER, PROC_FAILED, REVOKED };

/* Tells the councils apart. */
#define OF_COMM UINT64_C(0x7d1)
#define OF_OPERATION UINT64_C(0x7d2)
#define OF_PART UINT64_C(0x7d3)

struct rz_rulings {
    struct rz_council *council; /* NULL: nothing was begun in it yet, or all councils ended */
    struct rz_comm *comm;       /* NULL: it was revoked and has ended, others may still wait */
    uint64_t word;              /* tells its council from others of comm */
    bool refuses;               /* this member's refusal is under way */
    bool announced;             /* all members know that there is this row, or will */
    uint32_t told_by;           /* if this one died before it told them; UINT32_MAX: nobody */
    bool refused;               /* by all: nobody waits for a verdict any more */
    struct rz_rulings *next, *prev;
};

static struct rz_rulings *rows; /* all of them */

bool rz_comm_is_uniform(const struct rz_comm *comm, enum rz_error_uniform least)
{
    return rz_comm_error_uniform(comm) >= least && rz_engine_fault_tolerant() &&
           !rz_engine.info->alone;
}

/* ---- Rows ---- */

static struct rz_rulings *row_new(struct rz_comm *comm, struct rz_group *part, uint64_t word)
{
    struct rz_rulings *row = calloc(1, sizeof(*row));
    if (row == NULL) {
        return NULL;
    }
    row->comm = comm;
    row->word = word;
    row->told_by = UINT32_MAX;
    row->next = rows;
    if (rows != NULL) {
        rows->prev = row;
    }
    rows = row;
    if (rz_council_beside(comm, part, word, &row->council) != MPI_SUCCESS) {
        rz_rulings_end(row);
        return NULL;
    }
    if (comm->revoked) {
        rz_councils_wake();
    }
    return row;
}

static struct rz_rulings *row_find(struct rz_comm *comm, struct rz_group *part, uint64_t word)
{
    struct rz_rulings *row = rows;
    while (row != NULL && (row->comm != comm || row->word != word)) {
        row = row->next;
    }
    return row != NULL ? row : row_new(comm, part, word);
}

struct rz_rulings *rz_rulings_of(struct rz_comm *comm)
{
    return row_find(comm, NULL, OF_COMM);
}

/* Calls by the same part with the same tag make a row. */
static struct rz_rulings *row_of_part(struct rz_comm *comm, struct rz_group *part, int tag)
{
    uint64_t word = rz_mix(OF_PART, (uint64_t)(unsigned)tag);
    for (int i = 0; i < part->size; i++) {
        word = rz_mix(word, part->process[i]);
    }
    return row_find(comm, part, word);
}

struct rz_rulings *rz_rulings_new(struct rz_comm *comm, uint64_t operation)
{
    return row_find(comm, NULL, rz_mix(OF_OPERATION, operation));
}

static bool may_refuse(const struct rz_rulings *row)
{
    return row->council != NULL && !row->refused;
}

void rz_rulings_end(struct rz_rulings *row)
{
    if (row == NULL) {
        return;
    }
    if (row->comm != NULL && row->comm->revoked && may_refuse(row)) {
        row->comm = NULL;
        rz_councils_wake();
        return;
    }
    if (row->council != NULL) {
        rz_council_dismiss(&row->council);
    }
    *(row->prev != NULL ? &row->prev->next : &rows) = row->next;
    if (row->next != NULL) {
        row->next->prev = row->prev;
    }
    free(row);
}

void rz_rulings_comm_ends(struct rz_comm *comm)
{
    for (struct rz_rulings *row = rows, *next; row != NULL; row = next) {
        next = row->next;
        if (row->comm == comm) {
            rz_rulings_end(row);
        }
    }
}

/* ---- Verdicts ---- */

static enum severity severity_of(int error)
{
    return error == MPI_SUCCESS           ? GOOD
           : error == MPI_ERR_PROC_FAILED ? PROC_FAILED
           : error == MPI_ERR_REVOKED     ? REVOKED
                                          : OTHER;
}

/* What error becomes where the worst of all was this. An error of another kind, which the call of
 * one member may have for itself, stays at that one. */
static int common_error(int error, enum severity worst)
{
    if (worst == OTHER) {
        return error != MPI_SUCCESS ? error : MPI_ERR_OTHER;
    }
    return worst == REVOKED ? MPI_ERR_REVOKED : MPI_ERR_PROC_FAILED;
}

#define RULING_OF(motion_)                                                                         \
    ((struct rz_ruling *)(void *)((char *)(motion_)-offsetof(struct rz_ruling, motion)))

static void verdict_decided(struct rz_motion *motion, struct rz_council *council)
{
    struct rz_ruling *verdict = RULING_OF(motion);
    (void)council;
    if (!(WELL & motion->and)) {
        verdict->error = common_error(verdict->error, (enum severity)motion->max);
    }
    if (!(WELL & motion->and) && motion->max == REVOKED) {
        rz_comm_revoked(verdict->row->comm); /* the news of it are on their way, or were lost */
    }
    if (verdict->row->comm->revoked) {
        rz_councils_wake(); /* others may wait for what nobody will begin here */
    }
    verdict->over = true;
    rz_engine.completions++;
    if (verdict->ended != NULL) {
        verdict->ended(verdict);
    }
}

void rz_ruling_begin(struct rz_rulings *row, struct rz_ruling *verdict)
{
    verdict->row = row;
    verdict->over = false;
    verdict->motion = (struct rz_motion){.reserved = true, .decided = verdict_decided};
    verdict->put = !row->refused && row->council != NULL;
    if (verdict->put) {
        rz_council_put(row->council, &verdict->motion);
    }
}

/* All know that comm is revoked, so that all say so: nothing is to be agreed on any more. */
static void end_as_revoked(struct rz_ruling *verdict)
{
    verdict->put = false;
    verdict->motion.and = 0;
    verdict->motion.max = REVOKED;
    verdict_decided(&verdict->motion, NULL);
}

void rz_ruling_tell(struct rz_ruling *verdict, int error)
{
    struct rz_rulings *row = verdict->row;
    enum severity severity = severity_of(error);
    bool well = severity == GOOD || (severity == OTHER && !verdict->all);
    verdict->error = error;
    if (!verdict->put) {
        end_as_revoked(verdict);
        return;
    }
    verdict->motion.and = well ? WELL : 0;
    verdict->motion.max = well ? GOOD : severity;
    rz_council_ready(row->council, &verdict->motion);
}

static bool is_over(void *arg)
{
    return ((const struct rz_ruling *)arg)->over;
}

static void tell_of_ruling(struct rz_blocked *blocked, const void *arg)
{
    rz_council_waits_for(((const struct rz_ruling *)arg)->row->council, blocked);
}

int rz_ruling_wait(struct rz_ruling *verdict, int error, const char *call)
{
    struct rz_blocked blocked = {.call = call,
                                 .comm = verdict->row->comm,
                                 .peer = MPI_PROC_NULL,
                                 .tag = MPI_ANY_TAG,
                                 .look = tell_of_ruling};
    rz_ruling_tell(verdict, error);
    error = rz_engine_wait(&blocked, is_over, verdict);
    return error != MPI_SUCCESS ? error : verdict->error;
}

/* ---- Calls that make communicators ---- */

int rz_uniform_made_by(struct rz_comm *comm, struct rz_group *part, int tag, int error,
                       struct rz_comm **made)
{
    if (error == RZM_ROLLBACK || !rz_comm_is_uniform(comm, RZ_UNIFORM_CONSTRUCT)) {
        return error;
    }
    struct rz_rulings *row = part != NULL ? row_of_part(comm, part, tag) : rz_rulings_of(comm);
    struct rz_ruling verdict = {.all = true};
    int common = MPI_ERR_NO_MEM;
    if (row != NULL) {
        rz_ruling_begin(row, &verdict);
        common = rz_ruling_wait(&verdict, error, comm->call);
    }
    if (common != MPI_SUCCESS && common != RZM_ROLLBACK && error == MPI_SUCCESS && *made != NULL) {
        rzm_comm_free(*made);
        *made = NULL;
    }
    return common;
}

int rz_uniform_made(struct rz_comm *comm, int error, struct rz_comm **made)
{
    if (comm == NULL) { /* a new process, to whom RZ_Comm_replace gives its first one */
        return error;
    }
    rz_comm_create_end(comm);
    return rz_uniform_made_by(comm, NULL, 0, error, made);
}

/* ---- Who knows that a communicator is revoked ---- */

/* What was begun here since does not wait for anybody. */
static void end_the_rest(struct rz_rulings *row)
{
    struct rz_motion *motion;
    while (row->council != NULL && (motion = rz_council_withdraw(row->council)) != NULL) {
        if (motion == rz_council_own_motion(row->council)) { /* a refusal, which nobody needs now */
            row->refuses = false;
            continue;
        }
        struct rz_ruling *verdict = RULING_OF(motion);
        verdict->put = false;
        if (!motion->reserved) {
            end_as_revoked(verdict);
        }
    }
}

static void refusal_decided(struct rz_motion *motion, struct rz_council *council)
{
    struct rz_council **owner = rz_council_owner(council);
    if (owner == NULL) {
        return;
    }
    struct rz_rulings *row =
        (struct rz_rulings *)(void *)((char *)owner - offsetof(struct rz_rulings, council));
    row->refuses = false;
    if (IDLE & motion->and) {
        row->refused = true;
        end_the_rest(row);
        if (row->comm == NULL) {
            rz_rulings_end(row);
        }
    } else {
        rz_councils_wake();
    }
}

static void refuse(struct rz_rulings *row)
{
    struct rz_motion *motion = rz_council_own_motion(row->council);
    row->refuses = true;
    *motion = (struct rz_motion){.and = IDLE, .max = REVOKED, .decided = refusal_decided};
    rz_council_put(row->council, motion);
}

static bool is_to_refuse(const struct rz_rulings *row)
{
    return (row->comm == NULL || row->comm->revoked) && may_refuse(row) && !row->refuses &&
           rz_council_is_idle(row->council);
}

/* All members know the row of the communicator, whatever they begin in it; of another one only who
 * has begun something: the others are told, for they are to refuse, too. */
static bool is_to_announce(const struct rz_rulings *row)
{
    return (row->comm == NULL || row->comm->revoked) && may_refuse(row) && !row->announced &&
           row->word != OF_COMM;
}

static void announce(struct rz_rulings *row)
{
    row->announced = true;
    rz_council_announce(row->council, row->word);
}

void rz_rulings_announced(struct rz_comm *comm, struct rz_group *part, uint64_t word, uint32_t by)
{
    rz_comm_revoked(comm); /* as the others know */
    if (rz_council_was_beside(comm, word)) {
        return; /* perhaps it has ended here, and still answers */
    }
    struct rz_rulings *row = row_new(comm, part, word);
    if (row != NULL) {
        row->announced = true;
        row->told_by = by;
        rz_councils_wake();
    }
}

/* Who announced a row to us may have died before it had told everybody: then we do. */
void rz_rulings_death(uint32_t process)
{
    for (struct rz_rulings *row = rows; row != NULL; row = row->next) {
        if (row->told_by == process && may_refuse(row)) {
            row->told_by = UINT32_MAX;
            row->announced = false;
            rz_councils_wake();
        }
    }
}

void rz_rulings_given_up(struct rz_council **owner)
{
    struct rz_rulings *row =
        (struct rz_rulings *)(void *)((char *)owner - offsetof(struct rz_rulings, council));
    if (row->word == OF_COMM || row->refused) {
        return;
    }
    row->refused = true;
    rz_council_leave(row->council);
    end_the_rest(row);
    if (row->comm == NULL) {
        rz_rulings_end(row);
    }
}

void rz_rulings_close(void)
{
    for (struct rz_rulings *row = rows, *next; row != NULL; row = next) {
        next = row->next;
        if (row->comm == NULL) {
            rz_rulings_end(row);
        }
    }
}

void rz_rulings_look(struct rz_comm *comm)
{
    if (!comm->revoked || comm->unshared || comm->inter != NULL) {
        return;
    }
    if (rz_comm_is_uniform(comm, RZ_UNIFORM_CONSTRUCT)) {
        rz_rulings_of(comm);
    }
    if (rows != NULL) {
        rz_councils_wake();
    }
}

void rz_rulings_speak(void)
{
    struct rz_rulings *row = rows;
    while (row != NULL) {
        bool speaks = is_to_refuse(row);
        if (is_to_announce(row)) {
            announce(row);
        }
        if (speaks) {
            refuse(row);
        }
        row = speaks ? rows : row->next; /* what was decided may have ended any of them */
    }
}
