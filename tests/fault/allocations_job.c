/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For allocations_test.py: allocations_job SCENE, with four processes. Any call may return an
 * error: then the process says which one and its class, and ends the job with status 9. Rank 0 says
 * in the end that all is correct.
 *
 *   start    nothing but the beginning and the end
 *   p2p      messages of all sizes and modes, expected and unexpected, datatypes, probes
 *   coll     collectives: blocking, non-blocking, persistent
 *   comm     communicators: dup, split, create, create_group, inter-communicators, topologies
 *   spawn    processes that are spawned, ports and names
 *   repair   rank 3 fails: shrink, agree, replace; the new one takes part
 *   reinit   rank 3 fails inside MPIX_Reinit: all go back to a checkpoint
 *   group    a group monitor, three rounds
 *   files    a file: views, collective, non-blocking and shared access, external32
 */
#include <fcntl.h>
#include <mpi-ext.h>
#include <mpi.h>
#include <rhizome/checkpoint.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATUS = 9, WRONG = 10, LARGE = 300000, VICTIM = 3, ITERATIONS = 6 };

static int me, n;
static bool spawned;

static void wrong(const char *what)
{
    fprintf(stderr, "allocations_job: rank %d: WRONG: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, WRONG);
    exit(WRONG);
}

static MPI_Status statuses[2]; /* of the last MPI_Waitall */

static int class_of(int error)
{
    int class = MPI_ERR_UNKNOWN;
    MPI_Error_class(error, &class);
    for (int i = 0; class == MPI_ERR_IN_STATUS && i < 2; i++) {
        int one = statuses[i].MPI_ERROR;
        if (one != MPI_SUCCESS && one != MPI_ERR_PENDING) {
            class = class_of(one);
        }
    }
    return class;
}

static const char *name_of(int class)
{
    return class == MPI_ERR_NO_MEM                ? "MPI_ERR_NO_MEM"
           : class == MPI_ERR_PROC_FAILED         ? "MPI_ERR_PROC_FAILED"
           : class == MPI_ERR_PROC_FAILED_PENDING ? "MPI_ERR_PROC_FAILED_PENDING"
           : class == MPI_ERR_REVOKED             ? "MPI_ERR_REVOKED"
           : class == MPI_ERR_SPAWN               ? "MPI_ERR_SPAWN"
           : class == MPI_ERR_NAME                ? "MPI_ERR_NAME" /* its publisher failed */
           : class == MPI_ERR_OTHER               ? "MPI_ERR_OTHER"
                                                  : "another class";
}

static void end(const char *call, int error)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "allocations_job: rank %d: %s: %s: %s\n", me, call, name_of(class_of(error)),
            text);
    MPI_Abort(MPI_COMM_WORLD, STATUS);
    exit(STATUS);
}

#define CALL(call)                                                                                 \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        if (error_ != MPI_SUCCESS) {                                                               \
            end(#call, error_);                                                                    \
        }                                                                                          \
    } while (0)
#define CHECK(condition) ((condition) ? (void)0 : wrong(#condition))

/* All of comm come to the same sum. */
static void works(MPI_Comm comm)
{
    int rank, size, sum = -1;
    CALL(MPI_Comm_rank(comm, &rank));
    CALL(MPI_Comm_size(comm, &size));
    CALL(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
}

static void free_comm(MPI_Comm comm)
{
    works(comm);
    CALL(MPI_Comm_free(&comm));
}

/* ---- Messages ---- */

static int out[LARGE], in[LARGE];

static void send_receive(int step, int words, MPI_Datatype type)
{
    int to = (me + step) % n, from = (me + n - step) % n;
    MPI_Request requests[2];
    in[0] = -1;
    out[0] = me;
    CALL(MPI_Isend(out, words, type, to, words, MPI_COMM_WORLD, &requests[0]));
    CALL(MPI_Irecv(in, words, type, words % 2 ? MPI_ANY_SOURCE : from, words, MPI_COMM_WORLD,
                   &requests[1]));
    CALL(MPI_Waitall(2, requests, statuses));
    CHECK(in[0] == statuses[1].MPI_SOURCE);
}

static void unexpected(int words)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request sent, synchronous;
    CALL(MPI_Isend(out, words, MPI_INT, (me + 1) % n, 5, MPI_COMM_WORLD, &sent));
    CALL(MPI_Issend(out, words, MPI_INT, (me + 1) % n, 6, MPI_COMM_WORLD, &synchronous));
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    CALL(MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, &status));
    CALL(MPI_Mrecv(in, words, MPI_INT, &message, &status));
    CALL(MPI_Recv(in, words, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
    CALL(MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&synchronous, MPI_STATUS_IGNORE));
}

static void buffered(void)
{
    static char buffer[100000];
    void *at;
    int bytes;
    CALL(MPI_Buffer_attach(buffer, sizeof(buffer)));
    CALL(MPI_Bsend(out, 1000, MPI_INT, (me + 1) % n, 7, MPI_COMM_WORLD));
    CALL(MPI_Recv(in, 1000, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Buffer_detach(&at, &bytes));
}

static void p2p(void)
{
    const int sizes[] = {1, 100, 3000, 40000, LARGE - 1};
    MPI_Datatype row, grid;
    MPI_Request persistent;
    for (int step = 1; step < n; step++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            send_receive(step, sizes[i], MPI_INT);
        }
    }
    CALL(MPI_Type_vector(100, 3, 7, MPI_INT, &row));
    CALL(MPI_Type_commit(&row));
    CALL(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 4000},
                                (MPI_Datatype[]){row, MPI_DOUBLE}, &grid));
    CALL(MPI_Type_commit(&grid));
    send_receive(1, 2, row);
    send_receive(2, 90, grid);
    CALL(MPI_Type_free(&row));
    CALL(MPI_Type_free(&grid));
    unexpected(10);
    unexpected(LARGE);
    buffered();
    CALL(MPI_Send_init(out, 50, MPI_INT, (me + 1) % n, 8, MPI_COMM_WORLD, &persistent));
    CALL(MPI_Start(&persistent));
    CALL(MPI_Recv(in, 50, MPI_INT, (me + n - 1) % n, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CALL(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
    CALL(MPI_Request_free(&persistent));
}

/* ---- Collectives ---- */

static void sum_of(void *a, void *b, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++) {
        ((int *)b)[i] += ((int *)a)[i];
    }
}

static void coll(void)
{
    const int sizes[] = {1, 1000, LARGE / 8};
    MPI_Request request;
    MPI_Op op;
    CALL(MPI_Op_create(sum_of, 0, &op));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        int words = sizes[i];
        out[0] = me;
        CALL(MPI_Bcast(out, words, MPI_INT, 1, MPI_COMM_WORLD));
        CHECK(out[0] == 1);
        CALL(MPI_Reduce(out, in, words, MPI_INT, op, 2, MPI_COMM_WORLD));
        CALL(MPI_Allreduce(out, in, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(in[0] == n);
        CALL(MPI_Gather(out, words, MPI_INT, in, words, MPI_INT, 0, MPI_COMM_WORLD));
        CALL(MPI_Scatter(in, words, MPI_INT, out, words, MPI_INT, 0, MPI_COMM_WORLD));
        CALL(MPI_Allgather(out, words, MPI_INT, in, words, MPI_INT, MPI_COMM_WORLD));
        CALL(MPI_Alltoall(in, words, MPI_INT, out, words, MPI_INT, MPI_COMM_WORLD));
        CALL(MPI_Scan(out, in, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CALL(MPI_Reduce_scatter_block(out, in, words / n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CALL(MPI_Iallreduce(out, in, words, MPI_INT, op, MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CALL(MPI_Ibcast(out, words, MPI_INT, 0, MPI_COMM_WORLD, &request));
        CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CALL(MPI_Op_free(&op));
    CALL(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    CALL(MPI_Start(&request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CALL(MPI_Request_free(&request));
}

/* ---- Communicators ---- */

static void inter(void)
{
    MPI_Comm half, between, all;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, me % 2, 0, &half));
    CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &between));
    CALL(MPI_Barrier(between));
    CALL(MPI_Intercomm_merge(between, me % 2, &all));
    CALL(MPI_Comm_free(&between));
    free_comm(all);
    free_comm(half);
}

static void comm(void)
{
    MPI_Comm made;
    MPI_Group all, some;
    MPI_Request request;
    MPI_Info info;
    CALL(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    free_comm(made);
    CALL(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
    CALL(MPI_Wait(&request, MPI_STATUS_IGNORE));
    free_comm(made);
    CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    free_comm(made);
    CALL(MPI_Comm_group(MPI_COMM_WORLD, &all));
    CALL(MPI_Group_incl(all, 3, (int[]){2, 0, 1}, &some));
    CALL(MPI_Comm_create(MPI_COMM_WORLD, some, &made));
    if (made != MPI_COMM_NULL) {
        free_comm(made);
    }
    if (me < 3) {
        CALL(MPI_Comm_create_group(MPI_COMM_WORLD, some, 4, &made));
        free_comm(made);
        CALL(MPI_Comm_create_from_group(some, "here", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
        free_comm(made);
    }
    CALL(MPI_Group_free(&some));
    CALL(MPI_Group_free(&all));
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
    CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
    CALL(MPI_Info_free(&info));
    free_comm(made);
    inter();
    CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, (int[]){2, 2}, (int[]){1, 1}, 0, &made));
    CALL(MPI_Neighbor_alltoall(out, 10, MPI_INT, in, 10, MPI_INT, made));
    free_comm(made);
    CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, (int[]){(me + 1) % n}, MPI_UNWEIGHTED, 1,
                                        (int[]){(me + n - 1) % n}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &made));
    free_comm(made);
}

/* ---- Processes that come ---- */

static void ports(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other, half;
    bool accepts = me % 2 == 0;
    CALL(MPI_Comm_split(MPI_COMM_WORLD, accepts, 0, &half));
    if (me == 0) {
        CALL(MPI_Open_port(MPI_INFO_NULL, port));
        CALL(MPI_Publish_name("allocations", MPI_INFO_NULL, port));
    }
    CALL(MPI_Barrier(MPI_COMM_WORLD));
    if (accepts) {
        CALL(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other));
    } else {
        CALL(MPI_Lookup_name("allocations", MPI_INFO_NULL, port));
        CALL(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other));
    }
    CALL(MPI_Barrier(other));
    CALL(MPI_Comm_disconnect(&other));
    if (me == 0) {
        CALL(MPI_Unpublish_name("allocations", MPI_INFO_NULL, port));
        CALL(MPI_Close_port(port));
    }
    free_comm(half);
}

static void spawn(const char *program)
{
    MPI_Comm parent, between, all;
    char *arguments[] = {"spawn", NULL};
    CALL(MPI_Comm_get_parent(&parent));
    between = parent;
    if (parent == MPI_COMM_NULL) {
        ports();
        CALL(MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                            MPI_ERRCODES_IGNORE));
    } else {
        spawned = true;
        MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    }
    CALL(MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all));
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    free_comm(all);
    CALL(MPI_Comm_disconnect(&between));
}

/* ---- Recovery ---- */

static bool failed(int error)
{
    int class = class_of(error);
    return class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED;
}

static void repair(void)
{
    int incarnation, flag = 1, error;
    MPI_Comm shrunk, whole, from = MPI_COMM_NULL;
    CALL(RZ_Incarnation(&incarnation));
    if (incarnation == 1) {
        works(MPI_COMM_WORLD);
        error = MPI_Barrier(MPI_COMM_WORLD); /* after it all ranks have the sum */
        if (me == VICTIM && error == MPI_SUCCESS) {
            raise(SIGKILL);
        }
        while (error == MPI_SUCCESS) {
            error = MPI_Barrier(MPI_COMM_WORLD);
        }
        if (!failed(error)) {
            end("MPI_Barrier", error);
        }
        CALL(MPIX_Comm_revoke(MPI_COMM_WORLD));
        CALL(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk));
        CALL(MPIX_Comm_agree(shrunk, &flag));
        free_comm(shrunk);
        from = MPI_COMM_WORLD;
    }
    CALL(RZ_Comm_replace(from, &whole));
    MPI_Comm_set_errhandler(whole, MPI_ERRORS_RETURN);
    CALL(MPIX_Comm_agree(whole, &flag));
    free_comm(whole);
}

static int iteration;

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    uint64_t generation;
    (void)argc, (void)argv;
    iteration = 0;
    CALL(RZ_Checkpoint_protect(0, &iteration, sizeof(iteration)));
    CALL(RZ_Checkpoint_protect(1, out, sizeof(out)));
    CALL(RZ_Restore(&generation));
    while (iteration < ITERATIONS) {
        out[iteration * 10000] = iteration;
        works(MPI_COMM_WORLD);
        if (state == MPIX_REINIT_NEW && iteration == ITERATIONS / 2 && me == VICTIM) {
            raise(SIGKILL);
        }
        iteration++;
        CALL(RZ_Checkpoint(NULL));
    }
    CHECK(out[10000] == 1);
    return 0;
}

static void group(void)
{
    RZ_Group_monitor monitor = RZ_GROUP_MONITOR_NULL;
    MPI_Comm round;
    MPI_Count agreed;
    CALL(RZ_Group_monitor_start(MPI_COMM_WORLD, MPI_INFO_NULL, NULL, NULL, &monitor));
    for (int i = 0; i < 3; i++) {
        CALL(RZ_Group_monitor_round(monitor, i, &agreed, &round));
        if (round != MPI_COMM_NULL) {
            int error = MPI_Barrier(round);
            if (error != MPI_SUCCESS && !failed(error)) {
                end("MPI_Barrier of a round", error);
            }
        }
    }
    CALL(RZ_Group_monitor_stop(&monitor));
}

/* ---- Files ---- */

static void interleave(MPI_File file, const char *datarep)
{
    MPI_Datatype block, filetype;
    CALL(MPI_Type_contiguous(3, MPI_LONG, &block));
    CALL(MPI_Type_create_resized(block, 0, 3 * n * (MPI_Aint)sizeof(long), &filetype));
    CALL(MPI_Type_commit(&filetype));
    CALL(MPI_File_set_view(file, 3 * me * (MPI_Offset)sizeof(long), MPI_LONG, filetype, datarep,
                           MPI_INFO_NULL));
    CALL(MPI_Type_free(&block));
    CALL(MPI_Type_free(&filetype));
}

static void files(void)
{
    enum { LONGS = 300 };
    long mine[LONGS], back[LONGS];
    int place[2] = {(int)getpid(), me == 0 ? open("/tmp", O_TMPFILE | O_RDWR, 0600) : -1};
    char name[64];
    MPI_File file;
    MPI_Info info;
    MPI_Request requests[2];
    CALL(MPI_Bcast(place, 2, MPI_INT, 0, MPI_COMM_WORLD));
    /* It has no name of its own, so nothing is left, whatever comes. */
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", place[0], place[1]);
    CALL(MPI_Info_create(&info));
    CALL(MPI_Info_set(info, "cb_buffer_size", "1000"));
    CALL(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &file));
    CALL(MPI_Info_free(&info));
    for (int i = 0; i < LONGS; i++) {
        mine[i] = me * 1000 + i;
    }
    for (int round = 0; round < 2; round++) {
        interleave(file, round == 0 ? "native" : "external32");
        CALL(MPI_File_write_at_all(file, 0, mine, LONGS, MPI_LONG, MPI_STATUS_IGNORE));
        CALL(MPI_File_sync(file));
        CALL(MPI_File_iread_at_all(file, 0, back, LONGS, MPI_LONG, &requests[0]));
        CALL(MPI_File_iwrite_at(file, LONGS, mine, LONGS, MPI_LONG, &requests[1]));
        CALL(MPI_Waitall(2, requests, statuses));
        CHECK(memcmp(mine, back, sizeof(mine)) == 0);
        CALL(MPI_File_write_ordered(file, mine, 3, MPI_LONG, MPI_STATUS_IGNORE));
        CALL(MPI_File_write_shared(file, mine, 3, MPI_LONG, MPI_STATUS_IGNORE));
    }
    CALL(MPI_File_close(&file));
}

/* ---- All scenes ---- */

static void play(const char *scene, int argc, char **argv)
{
    if (strcmp(scene, "p2p") == 0) {
        p2p();
    } else if (strcmp(scene, "coll") == 0) {
        coll();
    } else if (strcmp(scene, "comm") == 0) {
        comm();
    } else if (strcmp(scene, "spawn") == 0) {
        spawn(argv[0]);
    } else if (strcmp(scene, "repair") == 0) {
        repair();
    } else if (strcmp(scene, "reinit") == 0) {
        CALL(MPIX_Reinit(argc, argv, point));
    } else if (strcmp(scene, "group") == 0) {
        group();
    } else if (strcmp(scene, "files") == 0) {
        files();
    }
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "start";
    CALL(MPI_Init(&argc, &argv));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CALL(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    CALL(MPI_Comm_size(MPI_COMM_WORLD, &n));
    play(scene, argc, argv);
    if (me == 0 && !spawned) {
        printf("allocations: correct\n");
    }
    CALL(MPI_Finalize());
    return 0;
}
