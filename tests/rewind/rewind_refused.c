/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that cannot be saved, or that helps: WHAT it has it keeps until its end; with `later-`
 * before it for the first half of the steps.
 *
 *   rewind_refused WHAT STEPS [FOLDER]
 *
 * It asks for snapshots itself, so that there is none before it has WHAT.
 *
 * WHAT: nothing, socket, pipe, child, shared, window, file, port, name, forbid, exclude; windows
 * (another thread makes and frees them all the time); connected (through a port that is closed
 * again); spawn (it is tried once).
 */
#include "rhizome/rewind.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXCLUDED = 1 << 20 };

static int fds[2] = {-1, -1};
static pid_t child;
static MPI_Win window = MPI_WIN_NULL;
static MPI_File file = MPI_FILE_NULL;
static unsigned char *excluded;
static char port[MPI_MAX_PORT_NAME];
static MPI_Comm other = MPI_COMM_NULL;
static pthread_t maker;
static atomic_int makes;

static bool is(const char *what, const char *this)
{
    return strcmp(what, this) == 0;
}

static void open_port(bool publish)
{
    MPI_Open_port(MPI_INFO_NULL, port);
    if (publish) {
        MPI_Publish_name("rewind", MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

static void *make_windows(void *arg)
{
    int more = 1;
    MPI_Comm *comm = arg;
    while (more) {
        void *at;
        MPI_Win made;
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, *comm, &at, &made);
        MPI_Win_free(&made);
        more = makes;
        MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_INT, MPI_MIN, *comm);
    }
    MPI_Comm_free(comm);
    return arg;
}

/* Ranks 0 and 1. */
static void connect_two(int rank)
{
    if (rank == 0) {
        open_port(false);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        MPI_Close_port(port);
    } else if (rank == 1) {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
    }
    port[0] = '\0';
}

static void disconnect_two(int rank)
{
    int mine = rank, got = -1;
    MPI_Sendrecv(&mine, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
    if (got != 1 - rank) {
        exit(2);
    }
    MPI_Comm_disconnect(&other);
}

static void try_spawn(char **argv, int rank)
{
    MPI_Comm made;
    char text[MPI_MAX_ERROR_STRING];
    int length, error;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
                           MPI_ERRCODES_IGNORE);
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "rank %d: %s\n", rank, text);
}

static void take_of_mpi(const char *what, const char *folder)
{
    static MPI_Comm comm;
    static const char text[] = "text";
    char path[300];
    if (is(what, "window")) {
        void *at;
        MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
    } else if (is(what, "file")) {
        MPI_Request request;
        snprintf(path, sizeof(path), "%s/file", folder);
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                      &file);
        MPI_File_iwrite_at(file, 0, text, sizeof(text), MPI_CHAR, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (is(what, "port") || is(what, "name")) {
        open_port(is(what, "name"));
    } else if (is(what, "windows")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        makes = 1;
        pthread_create(&maker, NULL, make_windows, &comm);
    }
}

static void take(const char *what, const char *folder)
{
    if (is(what, "socket") && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        exit(2);
    } else if ((is(what, "pipe")) && pipe(fds) != 0) {
        exit(2);
    } else if (is(what, "child") && (child = fork()) == 0) {
        for (;;) {
            pause();
        }
    } else if (is(what, "shared")) {
        char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        at[0] = 1;
    } else if (is(what, "forbid")) {
        RZ_Rewind_forbid();
    } else if (is(what, "exclude")) {
        excluded = mmap(NULL, EXCLUDED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(excluded, 1, EXCLUDED);
        RZ_Rewind_exclude(excluded, EXCLUDED);
    } else {
        take_of_mpi(what, folder);
    }
}

static void give_back(const char *what)
{
    if (fds[0] >= 0) {
        close(fds[0]);
        close(fds[1]);
        fds[0] = -1;
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        child = 0;
    }
    if (window != MPI_WIN_NULL) {
        MPI_Win_free(&window);
    }
    if (file != MPI_FILE_NULL) {
        MPI_File_close(&file);
    }
    if (port[0] != '\0' && is(what, "name")) {
        MPI_Unpublish_name("rewind", MPI_INFO_NULL, port);
    } else if (port[0] != '\0') {
        MPI_Close_port(port);
    }
    port[0] = '\0';
    if (makes) {
        makes = 0;
        pthread_join(maker, NULL);
    }
}

int main(int argc, char **argv)
{
    int rank, zero = 0, n_zero, level;
    double sum = 0, total = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "nothing";
    int steps = argc > 2 ? atoi(argv[2]) : 100;
    bool later = strncmp(what, "later-", 6) == 0;
    what += later ? 6 : 0;
    if (is(what, "connected")) {
        connect_two(rank);
    } else if (is(what, "spawn")) {
        try_spawn(argv, rank);
    } else if (!is(what, "name") || rank == 0) {
        take(what, argc > 3 ? argv[3] : ".");
    }
    for (int step = 0; step < steps; step++) {
        double mine = step * (rank + 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (later && step == steps / 2) {
            give_back(what);
        }
        if (step % 10 == 0 && rank == 0) {
            RZ_Rewind_now();
        }
        if (excluded && excluded[EXCLUDED / 2] == 0) { /* it was restored: it computes them again */
            memset(excluded, 1, EXCLUDED);
            zero = 1;
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    give_back(what);
    if (other != MPI_COMM_NULL) {
        disconnect_two(rank);
    }
    MPI_Reduce(&zero, &n_zero, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d steps: %.17g\n", steps, total);
        if (n_zero > 0) {
            printf("%d computed again\n", n_zero);
        }
    }
    MPI_Finalize();
    return 0;
}
