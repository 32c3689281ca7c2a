/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes and runs schedules: the steps with their memory, the messages pending at a fence, the end
 * after an error, and the requests of non-blocking and persistent operations.
 */
#include "mpi/coll/schedule.h"

#include "base/no_memory.h"
#include "mpi/agree/comm_uniform.h"
#include "mpi/coll/pending.h"
#include "mpi/p2p/inquiry.h"
#include "mpi/p2p/p2p_inside.h"
#include "mpi/request/wait.h"

#include <stdlib.h>

enum step_kind { STEP_SEND, STEP_RECV, STEP_FENCE, STEP_COPY, STEP_COMBINE };

struct step {
    enum step_kind kind;
    int peer;
    struct rz_comm *comm; /* send, recv */
    const void *from;     /* send, copy, combine (left) */
    void *to;             /* recv, copy, combine (right) */
    MPI_Count from_count, to_count;
    struct rz_datatype *from_type, *to_type; /* retained, or NULL */
    struct rz_op *op;                        /* retained, or NULL */
};

/* Memory for the plan that makes the schedule, in blocks. */
struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

/* What a schedule that has ended leaves for the next one. */
#define BLOCK_SIZE 4096
#define KEPT_MAX 16

struct rz_schedule {
    struct rz_schedule *next;  /* in the list of kept schedules */
    struct rz_comm *comm;      /* as rz_schedule_turn has set it; pending.whole: of the operation */
    struct rz_pending pending; /* the messages that were begun, and the first error */
    bool blocking;             /* the call does */
    bool at_once;              /* steps run as they are added */
    /* of those that were told that this process sends nothing more, the last one */
    const struct rz_comm *told_comm;
    int told_peer;
    struct step *steps;
    size_t n, max, at; /* at: the next step to begin */
    struct block *blocks;
    bool uniform;                   /* all members get the same error (agree/comm_uniform.h) */
    bool part;                      /* of a call that makes a communicator */
    struct rz_uniform_results *row; /* of a persistent operation: its own row of results */
    struct rz_uniform_result result;
    struct rz_request *request; /* of a non-blocking operation that has begun, else NULL */
    bool told; /* its local result was proposed; the agreement's decision ends it */
    uint64_t operation;
    struct rz_participation participation;
};

static struct rz_schedule *kept;
static unsigned n_kept;

/* ---- Memory ---- */

static struct block *block_new(size_t size)
{
    struct block *block = malloc(sizeof(*block) + size);
    if (block) {
        *block = (struct block){.size = size};
    }
    return block;
}

static void blocks_free(struct block *block)
{
    while (block) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
}

static void schedule_free(struct rz_schedule *schedule)
{
    blocks_free(schedule->blocks);
    free(schedule->steps);
    free(schedule->pending.request);
    free(schedule);
}

static void schedule_release(struct rz_schedule *schedule)
{
    rz_assert(schedule->pending.n == 0);
    rz_uniform_results_end(schedule->row);
    for (size_t i = 0; i < schedule->n; i++) {
        struct step *step = &schedule->steps[i];
        if (step->from_type) {
            rz_datatype_release(step->from_type);
        }
        if (step->to_type) {
            rz_datatype_release(step->to_type);
        }
        if (step->op) {
            rz_op_release(step->op);
        }
    }
    if (n_kept >= KEPT_MAX) {
        schedule_free(schedule);
        return;
    }
    /* The oldest block has the usual size and is kept; larger ones are freed. */
    struct block *newer = NULL;
    while (schedule->blocks && schedule->blocks->next) {
        newer = schedule->blocks;
        schedule->blocks = newer->next;
        free(newer);
    }
    schedule->next = kept;
    kept = schedule;
    n_kept++;
}

static struct rz_schedule *schedule_alloc(void)
{
    struct rz_schedule *schedule = kept;
    if (schedule) {
        kept = schedule->next;
        n_kept--;
        schedule->blocks->used = 0;
        return schedule;
    }
    schedule = calloc(1, sizeof(*schedule));
    if (schedule && (schedule->blocks = block_new(BLOCK_SIZE)) == NULL) {
        free(schedule);
        return NULL;
    }
    return schedule;
}

void *rz_schedule_bytes(struct rz_schedule *schedule, MPI_Count bytes)
{
    size_t need = ((size_t)bytes + 15) & ~(size_t)15;
    struct block *block = schedule->blocks;
    if (need > block->size - block->used) {
        block = block_new(need > BLOCK_SIZE ? need : BLOCK_SIZE);
        if (!block) {
            rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
            return NULL;
        }
        block->next = schedule->blocks;
        schedule->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += need;
    return memory;
}

void *rz_schedule_room(struct rz_schedule *schedule, MPI_Count count,
                       const struct rz_datatype *datatype)
{
    /* From the first byte of data to the last; with a negative extent the elements lie below the
     * first one. */
    MPI_Count step = datatype->extent < 0 ? -datatype->extent : datatype->extent;
    MPI_Count span = count > 0 ? (count - 1) * step + datatype->true_extent : 0;
    MPI_Count below = datatype->extent < 0 && count > 0 ? (count - 1) * step : 0;
    char *memory = rz_schedule_bytes(schedule, span);
    memory = memory ? memory : schedule->blocks->bytes;
    return memory + below - datatype->true_lb;
}

static void gave_up(struct rz_pending *pending);

static inline int schedule_new(struct rz_comm *comm, uint64_t operation, int tag, bool uniform,
                               struct rz_schedule **schedule)
{
    struct rz_schedule *made = schedule_alloc();
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    made->comm = comm;
    made->operation = operation;
    rz_pending_begin(&made->pending, comm, tag);
    made->pending.gave_up = gave_up;
    made->blocking = made->at_once = false;
    made->n = made->at = 0;
    made->uniform = uniform;
    made->part = false;
    made->row = NULL;
    made->request = NULL;
    *schedule = made;
    return MPI_SUCCESS;
}

/* The operation is counted even if it fails here, since the other members count it. */
static inline int schedule_begin(struct rz_comm *comm, const char *call, bool blocking,
                                 struct rz_schedule **schedule)
{
    int error = rz_comm_enter(comm);
    if (error != MPI_SUCCESS) {
        return error;
    }
    uint64_t operation =
        blocking ? rz_comm_begin(comm, call) : rz_comm_begin_nonblocking(comm, call);
    int tag = blocking ? rz_comm_blocking_tag(operation) : rz_comm_operation_tag(operation);
    return schedule_new(comm, operation, tag, rz_comm_is_uniform(comm, RZ_UNIFORM_COLL), schedule);
}

int rz_schedule_begin(struct rz_comm *comm, const char *call, struct rz_schedule **schedule)
{
    return schedule_begin(comm, call, false, schedule);
}

int rz_schedule_part(struct rz_comm *comm, uint64_t operation, struct rz_schedule **schedule)
{
    int tag = rz_comm_operation_tag(operation);
    rz_need_memory(schedule_new(comm, operation, tag, false, schedule) == MPI_SUCCESS,
                   RZ_FOR_CREATION);
    (*schedule)->part = true;
    return MPI_SUCCESS;
}

struct rz_comm *rz_schedule_comm(const struct rz_schedule *schedule)
{
    return schedule->comm;
}

void rz_schedule_turn(struct rz_schedule *schedule, struct rz_comm *comm)
{
    schedule->comm = comm;
}

/* ---- Running a schedule ---- */

/* Takes a place among the operations whose results are agreed on. */
static void begin_result(struct rz_schedule *schedule)
{
    if (!schedule->uniform) {
        return;
    }
    struct rz_comm *comm = schedule->pending.whole;
    bool nonblocking = (schedule->operation & RZ_OPERATION_NONBLOCKING) != 0;
    struct rz_uniform_results *row = schedule->row ? schedule->row
                                     : nonblocking ? rz_uniform_results_of_nonblocking(comm)
                                                   : rz_uniform_results_of(comm);
    if (!row) { /* this process cannot tell the others its result either */
        schedule->uniform = false;
        rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
        return;
    }
    rz_uniform_result_begin(row, &schedule->result);
}

/* Makes space for one more message; false: no memory. */
static bool pending_reserve(struct rz_schedule *schedule)
{
    if (schedule->pending.n < schedule->pending.max) {
        return true;
    }
    size_t more = schedule->pending.max == 0 ? 16 : 2 * schedule->pending.max;
    struct rz_request **larger =
        realloc(schedule->pending.request, more * sizeof(struct rz_request *));
    if (!larger) {
        return false;
    }
    schedule->pending.request = larger;
    schedule->pending.max = more;
    return true;
}

/* Because of a failed member this process sends nothing more: tells the process to which it owes
 * this message; once for messages that follow one another. */
static void tell_absence_of(struct rz_schedule *schedule, const struct step *step)
{
    bool told = schedule->told_comm == step->comm && schedule->told_peer == step->peer;
    if (step->kind == STEP_SEND && !told) {
        schedule->told_comm = step->comm;
        schedule->told_peer = step->peer;
        rz_pending_tell(&schedule->pending, step->comm, step->peer);
    }
}

/* The same of all messages that are still to be sent; those of a blocking operation are not known
 * yet. */
static void tell_absence(struct rz_schedule *schedule)
{
    schedule->told_comm = NULL;
    for (size_t i = schedule->at; i < schedule->n; i++) {
        tell_absence_of(schedule, &schedule->steps[i]);
    }
}

static void gave_up(struct rz_pending *pending)
{
    tell_absence(
        (struct rz_schedule *)(void *)((char *)pending - offsetof(struct rz_schedule, pending)));
}

/* The request is polled when one of the messages that were just begun, from `first` on, completes.
 */
static void poll_for_messages(struct rz_schedule *schedule, size_t first)
{
    for (size_t i = first; i < schedule->pending.n; i++) {
        struct rz_request *message = schedule->pending.request[i];
        if (!message->complete) {
            rz_request_part_of(message, schedule->request);
        }
    }
}

static void begin_message(struct rz_schedule *schedule, const struct step *step)
{
    bool sends = step->kind == STEP_SEND;
    const struct rz_p2p_message message = {.buffer =
                                               sends ? (void *)(uintptr_t)step->from : step->to,
                                           .count = sends ? step->from_count : step->to_count,
                                           .datatype = sends ? step->from_type : step->to_type,
                                           .peer = step->peer,
                                           .tag = schedule->pending.tag,
                                           .comm = step->comm,
                                           .context_offset = RZ_CONTEXT_OFFSET_COLLECTIVE};
    size_t begun = schedule->pending.n;
    if (!pending_reserve(schedule)) {
        rz_pending_give_up(&schedule->pending, MPI_ERR_NO_MEM);
    } else if (sends) {
        rz_pending_send(&schedule->pending, &message);
    } else {
        rz_pending_recv(&schedule->pending, &message);
    }
    if (schedule->request) {
        poll_for_messages(schedule, begun);
    }
}

static void begin_step(struct rz_schedule *schedule, const struct step *step)
{
    switch (step->kind) {
    case STEP_SEND:
    case STEP_RECV:
        begin_message(schedule, step);
        break;
    case STEP_COPY:
        rz_pending_note(&schedule->pending,
                        rz_datatype_copy(step->from_type, step->from_count, step->from,
                                         step->to_type, step->to_count, step->to));
        break;
    case STEP_COMBINE:
        rz_op_apply(step->op, step->from, step->to, step->to_count, step->to_type);
        break;
    case STEP_FENCE:
        break;
    }
}

/* Begins steps up to the next fence at which a message is pending; false: the end was reached. */
static bool advance(struct rz_schedule *schedule)
{
    while (!schedule->pending.over && schedule->at < schedule->n) {
        const struct step *step = &schedule->steps[schedule->at];
        if (step->kind == STEP_FENCE && schedule->pending.n > 0) {
            return true;
        }
        schedule->at++;
        begin_step(schedule, step);
    }
    return schedule->pending.n > 0;
}

/*
 * A member failed before the operation began here. Other processes may wait in it, but only in the
 * first such operation: this process has sent all messages of the operations that it completed
 * before.
 */
static void refuse(struct rz_schedule *schedule)
{
    rz_pending_note(&schedule->pending, MPI_ERR_PROC_FAILED);
    if (!schedule->pending.whole->refusal_told) {
        schedule->pending.whole->refusal_told = true;
        schedule->pending.tells = true;
        tell_absence(schedule);
    }
}

/* Called before the first step. A part of an operation is covered by the participation in the
 * whole. */
static void begin_steps(struct rz_schedule *schedule)
{
    struct rz_comm *comm = schedule->pending.whole;
    schedule->at = schedule->pending.complete = 0;
    if (comm->revoked) {
        rz_pending_note(&schedule->pending, MPI_ERR_REVOKED);
    } else if (rz_operation_find(comm, schedule->pending.tag)) {
        return;
    } else if (comm->collectives_failed) {
        refuse(schedule);
    } else {
        rz_operation_begin(comm, &schedule->participation, schedule->pending.tag);
    }
}

/* Called after the last step. */
static void end_steps(struct rz_schedule *schedule)
{
    rz_operation_end(schedule->pending.whole, &schedule->participation);
}

bool rz_schedule_is_blocking(const struct rz_schedule *schedule)
{
    return schedule->blocking;
}

bool rz_schedule_is_over(const struct rz_schedule *schedule)
{
    return schedule->pending.over;
}

uint64_t rz_schedule_operation(const struct rz_schedule *schedule)
{
    return schedule->operation;
}

int rz_schedule_error(const struct rz_schedule *schedule)
{
    return schedule->pending.error;
}

size_t rz_schedule_pending(const struct rz_schedule *schedule)
{
    return schedule->pending.n;
}

int rz_schedule_error_of(const struct rz_schedule *schedule, size_t k)
{
    const struct rz_request *request = schedule->pending.request[k];
    return request->complete ? request->error : MPI_SUCCESS;
}

void rz_schedule_forget(struct rz_schedule *schedule)
{
    for (size_t i = 0; i < schedule->pending.n; i++) {
        struct rz_request *request = schedule->pending.request[i];
        if (!request->complete) {
            request->class->cancel(request);
        }
        rz_request_destroy(request);
    }
    schedule->pending.n = schedule->pending.complete = 0;
}

/* ---- Adding steps ---- */

void rz_schedule_refuse(struct rz_schedule *schedule, int error)
{
    if (schedule->pending.n > 0) {
        rz_pending_give_up(&schedule->pending, error);
    } else {
        rz_pending_note(&schedule->pending, error);
        schedule->pending.over = true;
    }
}

/* Keeps the step, and what it refers to, until the schedule is destroyed. */
static void record(struct rz_schedule *schedule, const struct step *step)
{
    if (schedule->n == schedule->max) {
        size_t more = schedule->max == 0 ? 32 : 2 * schedule->max;
        struct step *larger = realloc(schedule->steps, more * sizeof(*larger));
        if (!larger) {
            rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
            return;
        }
        schedule->steps = larger;
        schedule->max = more;
    }
    schedule->steps[schedule->n++] = *step;
    if (step->from_type) {
        rz_datatype_retain(step->from_type);
    }
    if (step->to_type) {
        rz_datatype_retain(step->to_type);
    }
    if (step->op) {
        rz_op_retain(step->op);
    }
}

static void run_at_once(struct rz_schedule *schedule, const struct step *step)
{
    if (schedule->pending.over) {
        tell_absence_of(schedule, step);
    } else if (step->kind != STEP_FENCE) {
        begin_step(schedule, step);
    } else if (schedule->pending.n > 0) {
        rz_pending_settle(&schedule->pending);
    }
}

static inline void add(struct rz_schedule *schedule, const struct step *step)
{
    if (schedule->at_once) {
        run_at_once(schedule, step);
    } else {
        record(schedule, step);
    }
}

void rz_schedule_send(struct rz_schedule *schedule, const void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int dest)
{
    add(schedule, &(struct step){.kind = STEP_SEND,
                                 .comm = schedule->comm,
                                 .peer = dest,
                                 .from = buffer,
                                 .from_count = count,
                                 .from_type = datatype});
}

void rz_schedule_recv(struct rz_schedule *schedule, void *buffer, MPI_Count count,
                      struct rz_datatype *datatype, int source)
{
    add(schedule, &(struct step){.kind = STEP_RECV,
                                 .comm = schedule->comm,
                                 .peer = source,
                                 .to = buffer,
                                 .to_count = count,
                                 .to_type = datatype});
}

void rz_schedule_fence(struct rz_schedule *schedule)
{
    add(schedule, &(struct step){.kind = STEP_FENCE});
}

void rz_schedule_copy(struct rz_schedule *schedule, const struct rz_part *from,
                      const struct rz_part *to)
{
    add(schedule, &(struct step){.kind = STEP_COPY,
                                 .from = from->buffer,
                                 .from_count = from->count,
                                 .from_type = from->datatype,
                                 .to = to->buffer,
                                 .to_count = to->count,
                                 .to_type = to->datatype});
}

void rz_schedule_combine(struct rz_schedule *schedule, struct rz_op *op, const void *left,
                         void *right, MPI_Count count, struct rz_datatype *datatype)
{
    add(schedule, &(struct step){.kind = STEP_COMBINE,
                                 .from = left,
                                 .to = right,
                                 .to_count = count,
                                 .to_type = datatype,
                                 .op = op});
}

/* ---- Blocking operations ---- */

void rz_schedule_run_now(struct rz_schedule *schedule)
{
    if (schedule->at_once) {
        return;
    }
    schedule->at_once = true;
    schedule->result = (struct rz_uniform_result){0};
    begin_result(schedule);
    begin_steps(schedule);
    while (advance(schedule)) {
        rz_pending_settle(&schedule->pending);
    }
}

int rz_schedule_begin_now(struct rz_comm *comm, const char *call, struct rz_schedule **schedule)
{
    int error = schedule_begin(comm, call, true, schedule);
    if (error == MPI_SUCCESS) {
        (*schedule)->blocking = true;
    }
    if (error == MPI_SUCCESS && !rz_engine_shared) {
        rz_schedule_run_now(*schedule);
    }
    return error;
}

int rz_schedule_run(struct rz_schedule *schedule)
{
    rz_schedule_run_now(schedule);
    if (schedule->pending.n > 0) {
        rz_pending_settle(&schedule->pending);
    }
    end_steps(schedule);
    int error = schedule->pending.error;
    rz_need_memory(!schedule->part || error != MPI_ERR_NO_MEM, RZ_FOR_CREATION);
    if (schedule->uniform && error != RZM_ROLLBACK) {
        error = rz_uniform_result_wait(&schedule->result, error, schedule->pending.whole->call);
    }
    schedule_release(schedule);
    return error;
}

/* ---- The request of a non-blocking operation ---- */

/* Runs the schedule as far as it goes without waiting; true: to its end. */
static bool run_on(struct rz_schedule *schedule)
{
    while (advance(schedule)) {
        if (!rz_pending_is_settled(&schedule->pending)) {
            return false;
        }
        rz_pending_collect(&schedule->pending);
    }
    end_steps(schedule);
    return true;
}

static void result_ended(struct rz_uniform_result *result)
{
    struct rz_schedule *schedule =
        (struct rz_schedule *)(void *)((char *)result - offsetof(struct rz_schedule, result));
    rz_request_complete(schedule->request, result->error);
}

static void schedule_poll(struct rz_request *request)
{
    struct rz_schedule *schedule = request->state;
    if (schedule->told || !run_on(schedule)) {
        return;
    }
    if (schedule->uniform && schedule->pending.error != RZM_ROLLBACK) {
        schedule->told = true;
        rz_uniform_result_tell(&schedule->result, schedule->pending.error);
    } else {
        rz_request_complete(request, schedule->pending.error);
    }
}

static void schedule_waits_for(const struct rz_request *request, struct rz_blocked *blocked)
{
    const struct rz_schedule *schedule = request->state;
    blocked->operation = schedule->operation & ~RZ_OPERATION_NONBLOCKING;
    for (size_t i = 0; i < schedule->pending.n; i++) {
        if (!schedule->pending.request[i]->complete) {
            blocked->peer = rz_wait_peer(schedule->pending.request[i]);
            return;
        }
    }
}

static void schedule_abandon(struct rz_request *request)
{
    struct rz_schedule *schedule = request->state;
    rz_p2p_abandon(schedule->pending.request, schedule->pending.n);
    schedule->pending.n = 0;
}

static void schedule_destroy(struct rz_request *request)
{
    end_steps(request->state); /* at a roll-back the operation has not reached its end */
    schedule_release(request->state);
}

/* Starts a schedule from its first step. */
static void begin_request(struct rz_request *request)
{
    struct rz_schedule *schedule = request->state;
    schedule->told = false;
    schedule->request = request;
    begin_steps(schedule);
    if (schedule->uniform) {
        schedule->result = (struct rz_uniform_result){.ended = result_ended};
        begin_result(schedule);
        rz_request_activate(request);
        schedule_poll(request);
    } else if (run_on(schedule)) {
        rz_request_complete(request, schedule->pending.error);
    } else {
        rz_request_activate(request);
    }
}

static int schedule_restart(struct rz_request *request)
{
    struct rz_schedule *schedule = request->state;
    schedule->pending.error = MPI_SUCCESS;
    schedule->pending.over = false;
    begin_request(request);
    return MPI_SUCCESS;
}

static const struct rz_request_class schedule_class = {
    .name = "collective operation",
    .waited_for = true,
    .start = schedule_restart,
    .poll = schedule_poll,
    .polled_for_parts = true,
    .abandon = schedule_abandon,
    .waits_for = schedule_waits_for,
    .destroy = schedule_destroy,
};

/* Makes a request, not begun, for the schedule; an error that kept the plan from being made ends it
 * here. */
static int request_for(struct rz_schedule *schedule, struct rz_request **request)
{
    struct rz_request *made = NULL;
    bool begins = !schedule->pending.over || schedule->uniform;
    if (begins && (made = rz_request_new(&schedule_class, schedule->comm)) == NULL) {
        rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
    }
    if (!made) {
        int error = schedule->pending.error;
        schedule_release(schedule);
        return error;
    }
    made->state = schedule;
    *request = made;
    return MPI_SUCCESS;
}

int rz_schedule_start(struct rz_schedule *schedule, struct rz_request **request)
{
    int error = request_for(schedule, request);
    if (error == MPI_SUCCESS) {
        begin_request(*request);
    }
    return error;
}

/* The tags of persistent operations: above those of all others. */
#define TAG_PERSISTENT (RZ_TAG_UB + 1)

int rz_schedule_keep(struct rz_schedule *schedule, struct rz_request **request)
{
    schedule->pending.tag |= TAG_PERSISTENT;
    if (schedule->uniform &&
        (schedule->row = rz_uniform_results_new(schedule->comm, schedule->operation)) == NULL) {
        rz_schedule_refuse(schedule, MPI_ERR_NO_MEM);
        schedule->uniform = false;
    }
    int error = request_for(schedule, request);
    if (error == MPI_SUCCESS) {
        (*request)->flags |= RZ_REQUEST_PERSISTENT;
    }
    return error;
}
