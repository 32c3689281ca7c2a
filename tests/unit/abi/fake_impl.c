/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for the MPI library below the entry points: notes what each entry point hands on. */
#include "fake_impl.h"

#include <stdlib.h>
#include <unistd.h>

#include <mpi-ext.h>

#include "mpi/ft/restart.h"

struct fake fake;
bool rz_engine_shared;

struct rz_comm rz_comm_world, rz_comm_self;
static struct rz_errhandler fatal, aborting, returning;
static struct rz_datatype datatypes[0x100];

/* All numbers but that of MPI_DATATYPE_NULL. */
#define FIVE(i)                                                                                    \
    &datatypes[i], &datatypes[(i) + 1], &datatypes[(i) + 2], &datatypes[(i) + 3],                  \
        &datatypes[(i) + 4]
#define FIFTEEN(i) FIVE(i), FIVE((i) + 5), FIVE((i) + 10)
#define OF_51(i)                                                                                   \
    FIFTEEN(i), FIFTEEN((i) + 15), FIFTEEN((i) + 30), FIVE((i) + 45), &datatypes[(i) + 50]
static struct rz_op {
    struct rz_object object;
} ops[0x20];

/* Number 0 is that of MPI_OP_NULL. */
#define SIX(i) &ops[i], &ops[(i) + 1], &ops[(i) + 2], &ops[(i) + 3], &ops[(i) + 4], &ops[(i) + 5]
struct rz_op *const rz_ops_named[0x20] = {NULL,    SIX(1),  SIX(7),  SIX(13),
                                          SIX(19), SIX(25), &ops[31]};
struct rz_datatype *const rz_datatypes_named[0x100] = {NULL,       OF_51(1),   OF_51(52),
                                                       OF_51(103), OF_51(154), OF_51(205)};

static struct rz_object group_empty, no_proc, info_env;

static void comm_reset(struct rz_comm *comm, uint16_t handle, int size, int rank)
{
    rz_object_init(&comm->object, RZ_OBJECT_COMM, handle);
    comm->head.peers = size;
    comm->rank = rank;
    comm->errhandler = &returning;
}

void fake_reset(void)
{
    fake = (struct fake){0};
    rz_phase = rz_world = RZ_PHASE_RUNNING;
    rz_world_rank = 1;
    rz_engine_shared = true;
    comm_reset(&rz_comm_world, 0x101, 4, 1);
    comm_reset(&rz_comm_self, 0x102, 1, 0);
    rz_object_init(&fatal.object, RZ_OBJECT_ERRHANDLER, 0x141);
    rz_object_init(&aborting.object, RZ_OBJECT_ERRHANDLER, 0x142);
    rz_object_init(&returning.object, RZ_OBJECT_ERRHANDLER, 0x143);
    for (unsigned i = 1; i < 0x100; i++) {
        rz_object_init(&datatypes[i].object, RZ_OBJECT_DATATYPE, (uint16_t)(0x200 + i));
        datatypes[i].size = 4;
    }
    for (unsigned i = 1; i < 0x20; i++) {
        rz_object_init(&ops[i].object, RZ_OBJECT_OP, (uint16_t)(0x20 + i));
    }
    rz_object_init(&group_empty, RZ_OBJECT_GROUP, 0x109);
    rz_object_init(&no_proc, RZ_OBJECT_MATCHED, 0x129);
    rz_object_init(&info_env, RZ_OBJECT_INFO, 0x131);
}

void rz_engine_enter(void)
{
    rz_assert(fake.lock_depth == 0);
    fake.lock_depth++;
    fake.lock_takings++;
}

void rz_engine_leave(void)
{
    rz_assert(fake.lock_depth == 1);
    fake.lock_depth--;
}

/* ---- Look-ups ---- */

struct rz_group *rz_group_predefined(unsigned handle)
{
    return handle == 0x109 ? (struct rz_group *)&group_empty : NULL;
}

struct rz_info *rz_info_predefined(unsigned handle)
{
    return handle == 0x131 ? (struct rz_info *)&info_env : NULL;
}

struct rz_errhandler *rz_errhandler_predefined(unsigned handle)
{
    return handle == 0x141   ? &fatal
           : handle == 0x142 ? &aborting
           : handle == 0x143 ? &returning
                             : NULL;
}

bool rz_datatype_fits(const struct rz_datatype *datatype, MPI_Count count)
{
    return count <= INT64_MAX / datatype->size;
}

struct rz_errhandler *rz_errhandler_initial(void)
{
    return &fatal;
}

struct rz_errhandler *rz_file_errhandler(struct rz_file *file)
{
    (void)file;
    return &returning;
}

struct rz_file *rz_comm_file(const struct rz_comm *comm)
{
    (void)comm;
    return NULL;
}

struct rz_comm *rz_file_comm(const struct rz_file *file)
{
    (void)file;
    return NULL;
}

bool rz_file_is_closed(const struct rz_file *file)
{
    (void)file;
    return false;
}

void rz_file_release(struct rz_file *file)
{
    (void)file;
}

struct rz_matched *rz_matched_predefined(unsigned handle)
{
    return handle == 0x129 ? (struct rz_matched *)&no_proc : NULL;
}

int rz_comm_rank(const struct rz_comm *comm)
{
    return comm->rank;
}

int rz_comm_size(const struct rz_comm *comm)
{
    return comm->head.peers;
}

int rz_group_rank(const struct rz_group *group)
{
    (void)group;
    return MPI_UNDEFINED;
}

bool rz_comm_degrees(const struct rz_comm *comm, int *indegree, int *outdegree)
{
    (void)comm;
    *indegree = *outdegree = 0;
    return false;
}

struct rz_errhandler *rz_comm_errhandler(struct rz_comm *comm)
{
    return comm->errhandler;
}

void rz_comm_free(struct rz_comm *comm)
{
    rz_assert(fake.lock_depth == 1);
    free(comm);
}

struct rz_comm *rz_request_comm(const struct rz_request *request)
{
    return request->comm;
}

struct rz_comm *rz_monitor_comm(const struct rz_monitor *monitor)
{
    (void)monitor;
    return NULL;
}

_Atomic bool rz_monitors_untold;

void rz_monitors_tell(void)
{
}

struct rz_comm *rz_matched_comm(const struct rz_matched *matched)
{
    (void)matched;
    return NULL;
}

/* ---- The functions ---- */

static int communicate(MPI_Count count, struct rz_datatype *datatype)
{
    rz_assert(fake.lock_depth == (rz_engine_shared ? 1 : 0));
    fake.calls++;
    fake.count = count;
    fake.datatype = datatype;
    if (fake.rollbacks > 0) {
        fake.rollbacks--;
        return RZM_ROLLBACK;
    }
    int error = fake.next_error;
    fake.next_error = MPI_SUCCESS;
    return error;
}

/* ---- Windows: there is none ---- */

int rz_win_size(const struct rz_win *win)
{
    (void)win;
    return 0;
}

struct rz_errhandler *rz_win_errhandler(const struct rz_win *win)
{
    (void)win;
    return rz_errhandler_initial();
}

struct rz_comm *rz_win_comm(const struct rz_win *win)
{
    (void)win;
    return NULL;
}

struct rz_win *rz_comm_window(const struct rz_comm *comm)
{
    (void)comm;
    return NULL;
}

struct rz_errhandler *rz_session_errhandler(struct rz_session *session)
{
    (void)session;
    return &returning;
}

int rzm_init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    *provided = required;
    fake_reset();
    rz_engine_shared = false;
    return MPI_SUCCESS;
}

int rzm_finalize(void)
{
    rz_phase = rz_world = RZ_PHASE_AFTER;
    rz_world_rank = -1;
    return MPI_SUCCESS;
}

int rzm_abort(struct rz_comm *comm, int errorcode)
{
    (void)comm;
    (void)errorcode;
    _exit(42);
}

int rzm_send(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
             struct rz_comm *comm)
{
    (void)buf;
    (void)dest;
    (void)tag;
    (void)comm;
    return communicate(count, datatype);
}

int rzm_recv(void *buf, MPI_Count count, struct rz_datatype *datatype, int source, int tag,
             struct rz_comm *comm, MPI_Status *status)
{
    (void)status;
    return rzm_send(buf, count, datatype, source, tag, comm);
}

int rzm_isend(const void *buf, MPI_Count count, struct rz_datatype *datatype, int dest, int tag,
              struct rz_comm *comm, struct rz_request **request)
{
    struct rz_request *made = calloc(1, sizeof(*made));
    rz_object_init(&made->object, RZ_OBJECT_REQUEST, 0);
    made->comm = comm;
    made->error = fake.next_error;
    rz_object_retain(&comm->object);
    fake.next_error = MPI_SUCCESS;
    *request = made;
    return rzm_send(buf, count, datatype, dest, tag, comm);
}

int rzm_wait(MPI_Request *request, MPI_Status *status)
{
    (void)status;
    struct rz_request *waited = rz_request_of(*request);
    if (!waited) {
        return MPI_SUCCESS;
    }
    int error = waited->error;
    rz_comm_release(waited->comm);
    bool last = rz_object_release(&waited->object);
    rz_assert(last);
    free(waited);
    *request = MPI_REQUEST_NULL;
    return error;
}

int rzm_waitall(int count, MPI_Request *array_of_requests, MPI_Status *array_of_statuses)
{
    (void)array_of_statuses;
    int error = MPI_SUCCESS;
    for (int i = 0; i < count; i++) {
        error = rzm_wait(&array_of_requests[i], NULL) != MPI_SUCCESS ? MPI_ERR_IN_STATUS : error;
    }
    return error;
}

int rzm_gather(const void *sendbuf, MPI_Count sendcount, struct rz_datatype *sendtype,
               void *recvbuf, MPI_Count recvcount, struct rz_datatype *recvtype, int root,
               struct rz_comm *comm)
{
    (void)sendbuf;
    (void)recvbuf;
    (void)root;
    (void)comm;
    fake.count2 = recvcount;
    fake.datatype2 = recvtype;
    return communicate(sendcount, sendtype);
}

int rzm_alltoallv(const void *sendbuf, struct rz_counts sendcounts, struct rz_counts sdispls,
                  struct rz_datatype *sendtype, void *recvbuf, struct rz_counts recvcounts,
                  struct rz_counts rdispls, struct rz_datatype *recvtype, struct rz_comm *comm)
{
    (void)sendbuf;
    (void)sdispls;
    (void)recvbuf;
    (void)rdispls;
    (void)comm;
    fake.count2 = rz_counts_at(recvcounts, 3);
    fake.datatype2 = recvtype;
    return communicate(sendtype ? rz_counts_at(sendcounts, 2) : 0, sendtype);
}

int rzm_allreduce(const void *sendbuf, void *recvbuf, MPI_Count count, struct rz_datatype *datatype,
                  struct rz_op *op, struct rz_comm *comm)
{
    (void)sendbuf;
    (void)recvbuf;
    (void)op;
    (void)comm;
    return communicate(count, datatype);
}

int rzm_barrier(struct rz_comm *comm)
{
    (void)comm;
    return communicate(0, NULL);
}

int rzm_comm_dup(struct rz_comm *comm, struct rz_comm **newcomm)
{
    struct rz_comm *made = calloc(1, sizeof(*made));
    comm_reset(made, 0, comm->head.peers, comm->rank);
    made->errhandler = comm->errhandler;
    *newcomm = made;
    return MPI_SUCCESS;
}

int rzm_comm_free(struct rz_comm *comm)
{
    rz_comm_release(comm);
    return MPI_SUCCESS;
}

int rzm_comm_rank(struct rz_comm *comm, int *rank)
{
    *rank = comm->rank;
    return MPI_SUCCESS;
}

int rzm_comm_set_errhandler(struct rz_comm *comm, struct rz_errhandler *errhandler)
{
    comm->errhandler = errhandler;
    return MPI_SUCCESS;
}

int rzm_comm_get_errhandler(struct rz_comm *comm, struct rz_errhandler **errhandler)
{
    rz_object_retain(&comm->errhandler->object);
    *errhandler = comm->errhandler;
    return MPI_SUCCESS;
}

int rzm_comm_create_errhandler(MPI_Comm_errhandler_function *comm_errhandler_fn,
                               struct rz_errhandler **errhandler)
{
    struct rz_errhandler *made = calloc(1, sizeof(*made));
    rz_object_init(&made->object, RZ_OBJECT_ERRHANDLER, 0);
    made->of = RZ_OBJECT_COMM;
    made->function.comm = comm_errhandler_fn;
    *errhandler = made;
    return MPI_SUCCESS;
}

int rzm_errhandler_free(struct rz_errhandler *errhandler)
{
    if (rz_object_release(&errhandler->object)) {
        free(errhandler);
    }
    return MPI_SUCCESS;
}

int rzm_type_contiguous(MPI_Count count, struct rz_datatype *oldtype, struct rz_datatype **newtype,
                        bool large)
{
    (void)large;
    struct rz_datatype *made = calloc(1, sizeof(*made));
    rz_object_init(&made->object, RZ_OBJECT_DATATYPE, 0);
    made->size = count * oldtype->size;
    *newtype = made;
    return MPI_SUCCESS;
}

int rzm_type_commit(struct rz_datatype *datatype)
{
    datatype->object.flags |= RZ_DATATYPE_COMMITTED;
    return MPI_SUCCESS;
}

int rzm_type_free(struct rz_datatype *datatype)
{
    if (rz_object_release(&datatype->object)) {
        free(datatype);
    }
    return MPI_SUCCESS;
}

int rzm_type_size(struct rz_datatype *datatype, MPI_Count *size)
{
    (void)datatype;
    *size = fake.value;
    return MPI_SUCCESS;
}

int rzm_group_free(struct rz_group *group)
{
    (void)group;
    rz_assert(!"a predefined group reached the implementation");
    return MPI_SUCCESS;
}

int rzm_error_string(int errorcode, char *string, int *resultlen)
{
    (void)errorcode;
    memcpy(string, "class", sizeof("class"));
    *resultlen = (int)strlen("class");
    return MPI_SUCCESS;
}

int rz_uniform_made(struct rz_comm *comm, int error, struct rz_comm **made)
{
    (void)comm;
    (void)made;
    return error;
}

/* ---- Global restart ---- */

int rz_ft_reinit_enter(void)
{
    rz_assert(fake.lock_depth == (rz_engine_shared ? 1 : 0));
    return MPI_SUCCESS;
}

int rz_ft_reinit_wait(int *state)
{
    rz_assert(fake.lock_depth == (rz_engine_shared ? 1 : 0));
    *state = fake.reinit_rounds++ == 0 ? MPIX_REINIT_NEW : MPIX_REINIT_REINITED;
    return MPI_SUCCESS;
}

int rz_ft_reinit_leave(void)
{
    return communicate(0, NULL);
}

bool rz_ft_is_rewound(void)
{
    return false;
}

int rz_ft_reinit_once(void)
{
    return MPI_ERR_INTERN;
}

bool rz_ft_went_back(void)
{
    return fake.reinit_rounds > 1;
}

int rz_reinit_async_begin(void (*go_back)(void))
{
    fake.go_back = go_back;
    return MPI_SUCCESS;
}

void rz_reinit_async_end(void)
{
    fake.go_back = NULL;
}

void rz_reinit_mask(void)
{
    fake.masked++;
}

bool rz_reinit_unmask(void)
{
    return fake.masked > 0 && fake.masked-- > 0;
}

void rz_reinit_mask_forget(void)
{
    fake.masked = 0;
}

bool rz_reinit_is_masked(void)
{
    return fake.masked > 0;
}

int rzm_reinit_state(int *state)
{
    *state = fake.reinit_rounds == 1 ? MPIX_REINIT_NEW : MPIX_REINIT_REINITED;
    return MPI_SUCCESS;
}

int rzm_reinit_test(void)
{
    return communicate(0, NULL);
}

bool rz_engine_runs_user(void)
{
    return fake.runs_user;
}

bool rz_engine_thread_is_current(void)
{
    return true;
}

void rz_engine_thread_was_told(void)
{
}
