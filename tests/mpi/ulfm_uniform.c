/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_error_uniform: calls that return the same at all members although some of them fail, or
 * revoke the communicator without having begun the operation of the others.
 *
 *     ulfm_uniform key             which communicators have it, and how it is shown
 *     ulfm_uniform late            some revoke in place of operations that the others began
 *     ulfm_uniform ended           one is late where the others have revoked, freed, and made many
 *     ulfm_uniform idup            one fails instead of calling MPI_Comm_idup
 *     ulfm_uniform storm SEED      rounds in which some revoke at any time
 *     ulfm_uniform failures SEED     one fails in each round; until three are left
 *     ulfm_uniform local SEED      the same without the key: results differ now and then
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 40, OPS = 8, COUNT_MAX = 20000, NOT_CALLED = -1 };

static uint64_t random_state;
static int data[OPS][COUNT_MAX], sums[OPS][COUNT_MAX];

static unsigned draw(unsigned bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % bound;
}

static void set_uniform(MPI_Comm comm, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_uniform", value);
    CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static MPI_Comm copy_of(MPI_Comm comm, const char *value)
{
    MPI_Comm copy;
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
    set_uniform(copy, value);
    return copy;
}

static void shows(MPI_Comm comm, const char *wanted)
{
    MPI_Info info;
    char value[32];
    int there;
    CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "mpi_error_uniform", 31, value, &there) == MPI_SUCCESS && there);
    CHECK(strcmp(value, wanted) == 0);
    MPI_Info_free(&info);
}

static void key(MPI_Comm comm)
{
    MPI_Comm copy = copy_of(comm, "coll"), of_copy;
    shows(comm, "local");
    shows(copy, "coll");
    set_uniform(copy, "everywhere"); /* not known: left as it is */
    shows(copy, "coll");
    CHECK(MPI_Comm_dup(copy, &of_copy) == MPI_SUCCESS);
    shows(of_copy, "local"); /* hints are not inherited */
    set_uniform(of_copy, "construct");
    shows(of_copy, "construct");
    works(copy);
    works(of_copy);
    MPI_Comm_free(&of_copy);
    works(copy);
    MPI_Comm_free(&copy);
}

/* ---- Operations, and what they returned ---- */

static int op_class[OPS];

/* One of several forms; those that are not blocking are begun two at a time, and ended in the other
 * order. */
static int form_of(unsigned how, int op)
{
    return (int)(how >> (4 * op) & 15);
}

static int begin(MPI_Comm comm, int form, int op, MPI_Request *request)
{
    int count = form & 1 ? COUNT_MAX : 1;
    switch (form >> 1 & 3) {
    case 0:
        return MPI_Ibcast(data[op], count, MPI_INT, 0, comm, request);
    case 1:
        return MPI_Iallreduce(data[op], sums[op], count, MPI_INT, MPI_SUM, comm, request);
    case 2:
        return MPI_Ibarrier(comm, request);
    default:
        return MPI_Ireduce(data[op], sums[op], count, MPI_INT, MPI_SUM, 0, comm, request);
    }
}

static int blocking(MPI_Comm comm, int form, int op)
{
    int count = form & 1 ? COUNT_MAX : 1;
    MPI_Comm copy;
    switch (form >> 1 & 3) {
    case 0:
        return MPI_Bcast(data[op], count, MPI_INT, 0, comm);
    case 1:
        return MPI_Allreduce(data[op], sums[op], count, MPI_INT, MPI_SUM, comm);
    case 2: {
        int error = MPI_Comm_split(comm, 0, 0, &copy);
        if (error == MPI_SUCCESS) {
            MPI_Comm_free(&copy);
        }
        return error;
    }
    default:
        return MPI_Barrier(comm);
    }
}

static int persistent(MPI_Comm comm, int form, int op)
{
    MPI_Request request;
    int error = MPI_Bcast_init(data[op], form & 1 ? COUNT_MAX : 1, MPI_INT, 1, comm, MPI_INFO_NULL,
                               &request);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = MPI_Start(&request);
    error = error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return error;
}

/* Operations from..OPS-1; how: alike at all members. */
static void run_ops(MPI_Comm comm, unsigned how, int end)
{
    MPI_Request requests[2];
    for (int op = 0; op < end; op++) {
        int form = form_of(how, op);
        if (form < 8) {
            op_class[op] = class_of(blocking(comm, form, op));
        } else if (form < 10) {
            op_class[op] = class_of(persistent(comm, form, op));
        } else {
            int two = op + 1 < OPS;
            op_class[op] = class_of(begin(comm, form, op, &requests[0]));
            if (two && op + 1 < end) {
                op_class[op + 1] = class_of(begin(comm, form + 3, op + 1, &requests[1]));
                if (op_class[op + 1] == MPI_SUCCESS) {
                    op_class[op + 1] = class_of(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
                }
            }
            if (op_class[op] == MPI_SUCCESS) {
                op_class[op] = class_of(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
            }
            op += two;
        }
    }
}

/* Of the survivors that called it. */
static int n_different(MPI_Comm living)
{
    int least[OPS], most[OPS], mine[OPS], different = 0;
    for (int op = 0; op < OPS; op++) {
        mine[op] = op_class[op] == NOT_CALLED ? 1 << 20 : op_class[op];
    }
    CHECK(MPI_Allreduce(mine, least, OPS, MPI_INT, MPI_MIN, living) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(op_class, most, OPS, MPI_INT, MPI_MAX, living) == MPI_SUCCESS);
    for (int op = 0; op < OPS; op++) {
        different += most[op] != NOT_CALLED && least[op] != most[op];
    }
    return different;
}

static void forget(void)
{
    for (int op = 0; op < OPS; op++) {
        op_class[op] = NOT_CALLED;
    }
}

/* ---- Revocation ---- */

static void late(MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int forms = 0; forms < 3; forms++) {
        unsigned how = forms == 0 ? 0x66666666 : forms == 1 ? 0xaaaaaaaa : 0x88888888;
        MPI_Comm copy = copy_of(comm, "coll");
        forget();
        CHECK(MPI_Barrier(copy) == MPI_SUCCESS);
        if (rank == 1) {
            CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        }
        run_ops(copy, how, rank == 1 && forms == 0 ? 0 : OPS);
        for (int op = 0; op < OPS; op++) {
            CHECK(op_class[op] == MPI_ERR_REVOKED || op_class[op] == NOT_CALLED);
        }
        CHECK(n_different(comm) == 0);
        MPI_Comm_free(&copy);
    }
}

static void pause_a_moment(unsigned long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

static void storm(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm copy = copy_of(comm, round % 4 == 0 ? "construct" : "coll");
        unsigned how = round % 4 == 0 ? 0x44444444 : draw(1u << 30), revokers = draw(1u << 30);
        int at[2] = {(int)draw(OPS + 1), (int)draw(OPS + 1)}, end = OPS;
        unsigned long ns = draw(200000);
        bool first = rank == (int)(revokers % (unsigned)size);
        bool second = rank == (int)((revokers >> 8) % (unsigned)size);
        forget();
        if (first || second) {
            end = at[first ? 0 : 1];
            pause_a_moment(ns);
        }
        run_ops(copy, how, end);
        if (first || second) {
            CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        }
        CHECK(n_different(comm) == 0);
        MPI_Comm_free(&copy);
    }
}

/* ---- Failures ---- */

static int failures(MPI_Comm comm, const char *value)
{
    int rank, size, different = 0;
    MPI_Comm_size(comm, &size);
    while (size > 3) {
        MPI_Comm copy, left;
        int victim = (int)draw((unsigned)size), at = (int)draw(OPS), flag = 1;
        unsigned how = draw(1u << 30);
        MPI_Comm_rank(comm, &rank);
        /* No process fails before all have arrived here. */
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1);
        CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
        set_uniform(copy, value);
        forget();
        if (rank == victim) {
            run_ops(copy, how, at);
            raise(SIGKILL);
        }
        run_ops(copy, how, OPS);
        CHECK(MPIX_Comm_revoke(copy) == MPI_SUCCESS);
        CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
        different += n_different(left);
        MPI_Comm_free(&copy);
        if (comm != MPI_COMM_WORLD) {
            MPI_Comm_free(&comm);
        }
        comm = left;
        MPI_Comm_size(comm, &size);
    }
    return different;
}

/* The late one is told that the communicator has ended at the others, however many since. */
static void ended(MPI_Comm comm, const char *value)
{
    enum { DUPLICATES = 100000, OF_TWO = 500 };
    MPI_Comm copy = copy_of(comm, value), two, x;
    MPI_Request request;
    int rank, size, one = 1, sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_split(comm, rank < 2 ? 0 : MPI_UNDEFINED, rank, &two) == MPI_SUCCESS);
    if (rank == size - 1) {
        int error = MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, copy, &request);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        error = error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
        CHECK(class_of(error) == MPIX_ERR_REVOKED);
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        MPIX_Comm_revoke(copy);
    }
    MPI_Comm_free(&copy);
    for (int i = 0; i < DUPLICATES && rank < size - 1; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &x);
        MPI_Comm_free(&x);
    }
    for (int i = 0; i < OF_TWO && two != MPI_COMM_NULL; i++) {
        MPI_Comm_dup(two, &x);
        MPI_Comm_free(&x);
    }
    if (two != MPI_COMM_NULL) {
        MPI_Comm_free(&two);
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
}

static void idup(MPI_Comm comm)
{
    MPI_Comm copy[2] = {copy_of(comm, "construct"), copy_of(comm, "coll")}, made;
    MPI_Request request;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank == size - 1) {
        raise(SIGKILL);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm_set_errhandler(copy[i], MPI_ERRORS_RETURN);
        int error = MPI_Comm_idup(copy[i], &made, &request);
        error = error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
        CHECK(class_of(error) == MPIX_ERR_PROC_FAILED);
        CHECK(made == MPI_COMM_NULL);
        MPI_Comm_free(&copy[i]);
    }
    MPIX_Comm_failure_ack(comm);
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";
    int rank;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(scene, "key") == 0) {
        key(MPI_COMM_WORLD);
    } else if (strcmp(scene, "late") == 0) {
        late(MPI_COMM_WORLD);
    } else if (strcmp(scene, "ended") == 0) {
        ended(MPI_COMM_WORLD, "coll");
        ended(MPI_COMM_WORLD, "construct");
    } else if (strcmp(scene, "idup") == 0) {
        idup(MPI_COMM_WORLD);
    } else if (strcmp(scene, "storm") == 0) {
        storm(MPI_COMM_WORLD);
    } else if (strcmp(scene, "failures") == 0) {
        CHECK(failures(MPI_COMM_WORLD, "coll") == 0);
    } else if (strcmp(scene, "local") == 0) {
        CHECK(failures(MPI_COMM_WORLD, "local") > 0);
    } else {
        CHECK(!"a scene that exists");
    }
    printf("%s: rank %d: correct\n", scene, rank);
    MPI_Finalize();
    return 0;
}
