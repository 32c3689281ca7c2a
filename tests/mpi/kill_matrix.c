/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In each row of a table a process fails: before a call, at a random instant, at a named place
 * inside the library, or after the call. The others must return from the call in time, with an
 * error that the rules allow, and make a working communicator of the survivors by revoking and
 * shrinking; there the next row runs, until two are left. Run with --on-failure replace.
 *
 * In some runs a second thread sleeps in MPI_Recv all the time, in some one fails in MPI_Init, in
 * all one of the last two in MPI_Finalize. With KILL_MATRIX_UNIFORM=construct or coll in the
 * environment the communicators have that value of mpi_error_uniform.
 *
 *     kill_matrix SEED [FIRST]      rows from number FIRST on; kill_matrix.py makes many of these
 *     kill_matrix SEED NAME         this row only
 *     kill_matrix rows              how many there are
 *     kill_matrix child WHAT        what rows spawn (kill_matrix_dyn.c)
 */
#include "../patience.h"
#include "kill_matrix.h"
#include "ulfm.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct kill_scene scene;
int out[BUFFER_MAX], in[BUFFER_MAX];

static const struct kill_row *rows[512];
static int n_rows;
static uint64_t random_state;
static const char *place =
    "the beginning"; /* the current call, for a process that waits too long */

enum moment { BEFORE, INSTANT, POINT, AFTER, MOMENTS };
static const char *const moments[MOMENTS] = {"before", "instant", "point", "after"};
static const char *const points[] = {
    "send",    "sent", "arrived",    "protocol-message", "read",  "step",    "decided",
    "revoked", "comm", "ring-write", "ring-told",        "fetch", "fetched", "gossip"};
enum { N_POINTS = sizeof(points) / sizeof(points[0]) };

static unsigned draw(unsigned bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % bound;
}

/* ---- For rows ---- */

int peer(void)
{
    int other = scene.rank ^ 1;
    return other < scene.size ? other : MPI_PROC_NULL;
}

int ended(MPI_Request *request, MPI_Status *status)
{
    int flag = 0, error = MPI_SUCCESS;
    if (scene.how & 1) {
        return MPI_Wait(request, status);
    }
    while (!flag && error == MPI_SUCCESS) {
        error = MPI_Test(request, &flag, status);
    }
    return error;
}

void end_all(MPI_Request *requests, int n)
{
    MPIX_Comm_revoke(scene.comm);
    for (int i = 0; i < n; i++) {
        int class = class_of(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

/* ---- Failures ---- */

static void waited_too_long(int number)
{
    (void)number;
    static const char text[] = "kill_matrix: not so: a call has ended in time: ";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);
    ignored += write(STDERR_FILENO, place, strlen(place));
    ignored += write(STDERR_FILENO, "\n", 1);
    _exit(ignored > 0 ? 70 : 71);
}

static void fail_at_instant(unsigned long ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {.tv_nsec = (long)ns + 1}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &when, NULL) == 0);
}

/* ---- One row ---- */

struct failure {
    enum moment moment;
    const char *point;
    unsigned nth;
    unsigned long instant_ns;
};

/* One of the row's own, if it has any, in half of the cases. */
static void choose_point(unsigned flags, struct failure *failure)
{
    static const struct {
        unsigned flag, n;
        const char *point[5];
    } own[] = {{ROW_SPAWNS, 5, {"spawn", "spawned", "go", "comm", "decided"}},
               {ROW_MEETS, 4, {"connect", "accept", "last-word", "comm"}},
               {ROW_JOINS, 2, {"join", "comm"}},
               {ROW_FILES,
                5,
                {"data-file-opened", "data-file-exchange", "data-file-write", "data-file-written",
                 "data-file-commit"}},
               {ROW_REPLACES,
                4,
                {"replace-agreed", "replace-asked", "replace-bootstrapped", "replace-last"}}};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (flags & own[i].flag && scene.how >> 24 & 1) {
            failure->point = own[i].point[(scene.how >> 25) % own[i].n];
            failure->nth = 1 + (failure->nth == 4);
        }
    }
}

/* Drawn alike by all members. */
static struct failure draw_failure(unsigned flags)
{
    static const int counts[] = {0, 1, 16, 1500, 20000, 60000};
    struct failure failure = {
        .moment = (enum moment)draw(MOMENTS), .point = points[draw(N_POINTS)], .nth = 1 + draw(4)};
    failure.instant_ns = 1UL << (10 + draw(12)); /* 1 us to 2 ms */
    failure.instant_ns += draw((unsigned)failure.instant_ns);
    scene.victim = (int)draw((unsigned)scene.size);
    scene.root = (int)draw((unsigned)scene.size);
    scene.count = counts[draw(sizeof(counts) / sizeof(counts[0]))];
    scene.how = draw(1u << 30);
    choose_point(flags, &failure);
    return failure;
}

static bool failure_is_mine(unsigned flags)
{
    int left = (scene.rank + scene.size - 1) % scene.size, right = (scene.rank + 1) % scene.size;
    return flags & ROW_FAILS || (flags & ROW_PEER && peer() == scene.victim) ||
           (flags & ROW_RING && (left == scene.victim || right == scene.victim)) ||
           (flags & ROW_TO_0 && (scene.rank == 0 || scene.victim == 0));
}

static void assess(const struct kill_row *row, int class)
{
    bool allowed = class == MPI_SUCCESS ||
                   (class == MPI_ERR_REVOKED && !(row->flags & ROW_REPAIR)) ||
                   (class == MPI_ERR_PROC_FAILED && failure_is_mine(row->flags));
    if (!allowed) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(class, text, &length);
        fprintf(stderr, "%s: rank %d of %d, victim %d: %s\n", row->name, scene.rank, scene.size,
                scene.victim, text);
    }
    CHECK(allowed);
}

static void fail_as_drawn(const struct failure *failure)
{
    if (failure->moment == BEFORE) {
        raise(SIGKILL);
    } else if (failure->moment == INSTANT) {
        fail_at_instant(failure->instant_ns);
    } else if (failure->moment == POINT) {
        fail_at_point(failure->point, failure->nth);
    }
}

/* Runs the row here, and fails there. The result of the victim's call does not matter. */
static int run_row(const struct kill_row *row, const struct failure *failure)
{
    if (scene.rank == scene.victim) {
        fail_as_drawn(failure);
    } else if (scene.how >> (4 + scene.rank) & 1) { /* some come late */
        nanosleep(&(struct timespec){.tv_nsec = (long)(scene.how >> 8 & 0xffff)}, NULL);
    }
    int error = row->run();
    if (scene.rank == scene.victim) {
        raise(SIGKILL);
    }
    return class_of(error);
}

/* The survivors, in their order, without the victim. */
static MPI_Comm repair(bool revoke)
{
    MPI_Comm left;
    int rank, size;
    if (revoke) {
        CHECK(MPIX_Comm_revoke(scene.comm) == MPI_SUCCESS);
        if (scene.other != MPI_COMM_NULL) {
            CHECK(MPIX_Comm_revoke(scene.other) == MPI_SUCCESS);
        }
    }
    place = "MPIX_Comm_shrink";
    CHECK(MPIX_Comm_shrink(scene.comm, &left) == MPI_SUCCESS);
    place = "what comes after MPIX_Comm_shrink";
    MPI_Comm_rank(left, &rank);
    MPI_Comm_size(left, &size);
    CHECK(size == scene.size - 1 && rank == scene.rank - (scene.rank > scene.victim));
    works(left);
    return left;
}

/* With KILL_MATRIX_UNIFORM=construct or coll: the value of mpi_error_uniform. */
static const char *uniform;

void make_uniform(MPI_Comm comm)
{
    MPI_Info info;
    if (uniform && comm != MPI_COMM_NULL) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_error_uniform", uniform);
        CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS);
        MPI_Info_free(&info);
    }
}

static bool is_alike(const struct kill_row *row)
{
    unsigned flags = ROW_UNIFORM | (uniform ? ROW_CREATES : 0) |
                     (uniform && strcmp(uniform, "coll") == 0 ? ROW_COLL : 0);
    return row->flags & flags;
}

/* The results of the survivors, counted; whether all were the same. */
static void compare(const struct kill_row *row, int class, MPI_Comm left, int told[3])
{
    int mine[3] = {class == MPI_SUCCESS, class == MPI_ERR_PROC_FAILED, class == MPI_ERR_REVOKED};
    int low[2] = {class, scene.answer}, least[2], most[2];
    CHECK(MPI_Allreduce(mine, told, 3, MPI_INT, MPI_SUM, left) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(low, least, 2, MPI_INT, MPI_MIN, left) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(low, most, 2, MPI_INT, MPI_MAX, left) == MPI_SUCCESS);
    if (is_alike(row)) {
        CHECK(least[0] == most[0] && least[1] == most[1]);
    }
}

static void tell(const char *what, const struct failure *failure, const int told[3])
{
    if (scene.rank == 0) {
        printf("killed %s %s%s%s: %d %d %d\n", what, moments[failure->moment],
               failure->moment == POINT ? "/" : "", failure->moment == POINT ? failure->point : "",
               told[0], told[1], told[2]);
        fflush(stdout);
    }
}

static void stand_on(MPI_Comm comm)
{
    scene.comm = comm;
    MPI_Comm_rank(comm, &scene.rank);
    MPI_Comm_size(comm, &scene.size);
}

static void one_kill(const struct kill_row *row)
{
    struct failure failure = draw_failure(row->flags);
    int told[3], flag = 1;
    scene.other = MPI_COMM_NULL;
    scene.answer = 0;
    place = row->name;
    alarm(TEST_HANG_S);
    make_uniform(scene.comm);
    if (row->setup) {
        row->setup();
    }
    make_uniform(scene.other);
    /* No process fails before all have arrived here. */
    int class = class_of(MPIX_Comm_agree(scene.comm, &flag));
    CHECK((class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED) && flag == 1);
    class = run_row(row, &failure);
    assess(row, class);
    MPI_Comm left = repair(class != MPI_SUCCESS || (scene.how >> 20 & 3) == 0);
    compare(row, class, left, told);
    if (scene.other != MPI_COMM_NULL) {
        MPI_Comm_free(&scene.other);
    }
    MPI_Comm_free(&scene.comm);
    stand_on(left);
    tell(row->name, &failure, told);
    alarm(0);
}

/* ---- The beginning and the end ---- */

static pthread_t beside;
static bool has_beside;

static void *sleep_in_recv(void *arg)
{
    int value;
    CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return arg;
}

/* One of the first ranks may not come through MPI_Init. */
static void begin(int *argc, char ***argv)
{
    struct failure failure = {.moment = INSTANT, .instant_ns = 1UL << (10 + draw(14))};
    int victim = (int)draw(40), provided, told[3] = {0, 0, 0};
    const char *rank = getenv("RZ_RANK");
    bool mine = rank && atoi(rank) == victim;
    place = "MPI_Init";
    alarm(TEST_HANG_S);
    if (mine) {
        fail_at_instant(failure.instant_ns);
    }
    has_beside = draw(3) == 0;
    MPI_Init_thread(argc, argv, has_beside ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    if (mine) {
        raise(SIGKILL);
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(!has_beside || pthread_create(&beside, NULL, sleep_in_recv, NULL) == 0);
    stand_on(MPI_COMM_WORLD);
    if (victim >= scene.size) {
        MPI_Comm_dup(MPI_COMM_WORLD, &scene.comm);
        return;
    }
    scene.victim = victim;
    MPI_Recv(told, 1, MPI_INT, victim, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE); /* until it is known */
    scene.other = MPI_COMM_NULL;
    stand_on(repair(false));
    told[0] = scene.size;
    tell("init", &failure, told);
}

static void end(void)
{
    struct failure failure = draw_failure(0);
    static const int told[3] = {1, 0, 0};
    place = "MPI_Finalize";
    alarm(TEST_HANG_S);
    tell("finalize", &failure, told);
    if (scene.rank == 0) {
        printf("two are left\n");
        fflush(stdout);
    }
    if (scene.rank == scene.victim) {
        failure.moment = failure.moment == AFTER ? INSTANT : failure.moment;
        fail_as_drawn(&failure);
    }
    MPI_Comm_free(&scene.comm);
    if (has_beside) {
        MPI_Send(&scene.rank, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
        pthread_join(beside, NULL);
    }
    MPI_Finalize();
}

static void collect(const struct kill_row *of)
{
    for (; of->name; of++) {
        rows[n_rows++] = of;
    }
}

static int row_named(const char *name)
{
    for (int i = 0; i < n_rows; i++) {
        if (strcmp(rows[i]->name, name) == 0) {
            return i;
        }
    }
    fprintf(stderr, "kill_matrix: no row is called '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    collect(kill_point_rows);
    collect(kill_coll_rows);
    collect(kill_comm_rows);
    collect(kill_dyn_rows);
    collect(kill_file_rows);
    collect(kill_rma_rows);
    if (argc > 1 && strcmp(argv[1], "rows") == 0) {
        printf("%d\n", n_rows);
        return 0;
    }
    const char *from = argc > 2 ? argv[2] : "0";
    uniform = getenv("KILL_MATRIX_UNIFORM");
    signal(SIGALRM, waited_too_long);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        place = from;
        alarm(TEST_HANG_S);
        return kill_matrix_child(from);
    }
    const char *incarnation = getenv("RZ_INCARNATION");
    if (incarnation && atoi(incarnation) > 1) {
        place = "RZ_Comm_replace of a spawned process";
        alarm(TEST_HANG_S);
        kill_matrix_spawned_process();
        alarm(0); /* the others have more to do */
        MPI_Finalize();
        return 0;
    }
    bool only = *from < '0' || *from > '9';
    int first = only ? row_named(from) : atoi(from);
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    random_state = random_state * 2654435761u + (unsigned)first;
    begin(&argc, &argv);
    for (int i = first; scene.size > 2; i += !only) {
        one_kill(rows[i % n_rows]);
    }
    end();
    return 0;
}
