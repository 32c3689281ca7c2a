/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A revocation reaches all members of its communicator and no other process, in both ways
 * (RZ_REVOKE): a scene per run.
 *
 *   all      by any member, one communicator of many: waiting ones are interrupted, others not
 *   selves   communicators that go by the same context id in different processes
 *   lag      more revocations than the board's log holds while one computes (FILE)
 *   large    a payload in a transport's hands, whose receiver, or whose sender, computes (FILE)
 *   matched  a message that is taken out by MPI_Improbe after the revocation
 *   told     the last rank fails right after it has told its daemon (RZ_KILL_AT=revoke-told)
 *   untold   the last rank fails before it has told any process (RZ_KILL_AT=revoked)
 *   node     the last rank kills its daemon SEED microseconds after it has revoked: all that live
 *            know of it, or none does
 */
#include "scenes.h"

#include <limits.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMS = 40, REVOKED = 30 };

static int rank, size, victim;
static const char *argument;

static int is_revoked(MPI_Comm comm)
{
    int flag;
    MPIX_Comm_is_revoked(comm, &flag);
    return flag;
}

/* Waits on comm, where no process sends; only a revocation ends it. */
static void is_interrupted(MPI_Comm comm)
{
    char text[MPI_MAX_ERROR_STRING];
    int value, length, from = (rank + 1) % victim;
    from = from == rank ? MPI_ANY_SOURCE : from;
    int error = MPI_Recv(&value, 1, MPI_INT, from, 9, comm, MPI_STATUS_IGNORE);
    CHECK(class_of(error) == MPI_ERR_REVOKED);
    CHECK(MPI_Error_string(error, text, &length) == MPI_SUCCESS);
    CHECK(strcmp(text, "MPI_Recv: the communicator was revoked") == 0);
    CHECK(is_revoked(comm));
}

static void works(MPI_Comm comm)
{
    CHECK(!is_revoked(comm));
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
}

static void all(void)
{
    MPI_Comm comm[COMMS];
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    }
    for (int i = 0; i < REVOKED; i++) {
        int one = i * 7 % COMMS;
        if (rank == i % size) {
            CHECK(MPIX_Comm_revoke(comm[one]) == MPI_SUCCESS);
            CHECK(is_revoked(comm[one]));
        } else if (i % 3) { /* else it finds out at the end */
            is_interrupted(comm[one]);
        }
    }
    for (int i = 0; i < COMMS; i++) {
        int one = i * 7 % COMMS;
        if (i < REVOKED) {
            is_interrupted(comm[one]);
        } else {
            works(comm[one]);
        }
        MPI_Comm_free(&comm[one]);
    }
    works(MPI_COMM_WORLD);
}

static void selves(void)
{
    MPI_Comm self, half, end;
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &end);
    if (rank == 0) {
        MPIX_Comm_revoke(self);
        MPIX_Comm_revoke(MPI_COMM_SELF);
        MPIX_Comm_revoke(half);
        MPIX_Comm_revoke(end);
    }
    is_interrupted(end); /* a process that knows this one knows those before it */
    CHECK(is_revoked(self) == (rank == 0));
    CHECK(is_revoked(MPI_COMM_SELF) == (rank == 0));
    if (rank % 2) {
        works(half);
    } else {
        int value;
        CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, half, MPI_STATUS_IGNORE)) ==
              MPI_ERR_REVOKED);
    }
    works(MPI_COMM_WORLD);
}

static void lag(void)
{
    MPI_Comm comm[COMMS], late;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    }
    if (rank == victim) { /* computes, and does not look */
        while (access(argument, F_OK) != 0) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    } else if (rank == 0) {
        for (int i = 0; i < REVOKED; i++) {
            MPIX_Comm_revoke(comm[i]);
        }
        is_interrupted(comm[REVOKED - 1]);
    } else {
        is_interrupted(comm[REVOKED - 1]); /* on the last rank's node all stand on the board, too */
    }
    if (rank == victim - 1) {
        FILE *file = fopen(argument, "w");
        CHECK(file != NULL);
        fclose(file);
    }
    for (int i = 0; i < REVOKED; i++) {
        is_interrupted(comm[i]);
    }
    for (int i = REVOKED; i < COMMS; i++) {
        works(comm[i]);
    }
    /* A communicator made after the log has overflowed is queried, and is not confused with
     * another. */
    MPI_Comm_dup(MPI_COMM_WORLD, &late);
    works(late);
    works(MPI_COMM_WORLD); /* all have left late's barrier */
    if (rank == 0) {
        MPIX_Comm_revoke(late);
        unlink(argument);
    }
    is_interrupted(late);
}

/* ---- Payloads under way ---- */

enum { LARGE = 16 << 20, ROUNDS = 6 };

static void filled(int *data, int seed)
{
    for (int i = 0; i < LARGE / 4; i++) {
        data[i] = seed + i;
    }
}

static bool is_filled(const int *data, int seed)
{
    int i = 0;
    while (i < LARGE / 4 && data[i] == seed + i) {
        i++;
    }
    return i == LARGE / 4;
}

static void say(int round)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.%d", argument, round);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fclose(file);
}

static void compute_until_said(int round)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.%d", argument, round);
    while (access(path, F_OK) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    unlink(path);
}

/* The process with the call that must end, although the other one computes; even rounds: the
 * sender. */
static void waits_for_large(MPI_Comm comm, int *data, int round)
{
    int error;
    if (round == 0) {
        compute_until_said(ROUNDS); /* the receiver does not even look */
    }
    if (round % 2 == 0) {
        error = MPI_Send(data, LARGE / 4, MPI_INT, victim, 3, comm);
    } else {
        error = MPI_Recv(data, LARGE / 4, MPI_INT, victim, 3, comm, MPI_STATUS_IGNORE);
    }
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_REVOKED);
    CHECK(is_revoked(comm) || round > 0);
    memset(data, 0, LARGE); /* no process reads or writes it any more */
    say(round);
}

/* The other one: has begun with it, after this number of calls, then computes. */
static void computes_beside_large(MPI_Comm comm, int *data, int round)
{
    MPI_Request request;
    int flag;
    if (round % 2 == 0) {
        MPI_Irecv(data, LARGE / 4, MPI_INT, 0, 3, comm, &request);
    } else {
        MPI_Isend(data, LARGE / 4, MPI_INT, 0, 3, comm, &request);
    }
    for (int i = 0; i < round / 2 * 20; i++) {
        MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    if (round == 0) {
        say(ROUNDS);
    }
    compute_until_said(round);
    int error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(error == MPI_SUCCESS || class_of(error) == MPI_ERR_REVOKED);
}

static void large(void)
{
    int *data = malloc(LARGE);
    MPI_Comm comm;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        filled(data, rank + round);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            waits_for_large(comm, data, round);
        } else if (rank == victim) {
            computes_beside_large(comm, data, round);
        } else if (rank == 1) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* they are at it by now */
            MPIX_Comm_revoke(comm);
        }
        MPI_Comm_free(&comm);
        /* Abandoned operations do not block others. */
        filled(data, rank);
        if (rank == 0) {
            CHECK(MPI_Send(data, LARGE / 4, MPI_INT, victim, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else if (rank == victim) {
            CHECK(MPI_Recv(data, LARGE / 4, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(is_filled(data, 0));
        }
    }
    free(data);
}

/* The receiver takes a message out when the communicator is revoked, and its sender has ended the
 * message. Both calls end; whether the probe still finds it is open. */
static void takes_out_of_revoked(MPI_Comm comm, int *data)
{
    MPI_Message message;
    MPI_Request request;
    int flag = 0;
    CHECK(MPI_Probe(victim, 5, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* it has arrived */
    MPIX_Comm_revoke(comm);
    if (MPI_Improbe(victim, 5, comm, &flag, &message, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag) {
        MPI_Imrecv(data, LARGE / 4, MPI_INT, &message, &request);
        MPI_Recv(NULL, 0, MPI_INT, victim, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, victim, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void matched(void)
{
    int *data = malloc(LARGE);
    MPI_Comm comm;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        filled(data, rank + round);
        if (rank == 0) {
            takes_out_of_revoked(comm, data);
        } else if (rank == victim) {
            MPI_Ssend(data, LARGE / 4, MPI_INT, 0, 5, comm); /* it ends, with an error or not */
            MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
        }
        MPI_Comm_free(&comm);
    }
    free(data);
}

/* ---- Failures ---- */

/* The victim fails in MPIX_Comm_revoke, as RZ_KILL_AT says. */
static MPI_Comm revoked_by_the_failed(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == victim) {
        MPIX_Comm_revoke(copy);
        CHECK(!"failed");
    }
    return copy;
}

static void told(void)
{
    is_interrupted(revoked_by_the_failed());
}

/* That the victim has failed is known here, and what it did before. */
static void see_the_failure(void)
{
    int value;
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPI_ERR_PROC_FAILED);
}

static void untold(void)
{
    MPI_Comm copy = revoked_by_the_failed();
    see_the_failure();
    CHECK(!is_revoked(copy));
}

static void node(void)
{
    MPI_Comm copy, live;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        long wait_ns = 1000 * strtol(argument, NULL, 10);
        struct timespec begin, now;
        MPIX_Comm_revoke(copy);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        do {
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < wait_ns);
        kill(getppid(), SIGKILL);
        pause();
    }
    see_the_failure();
    MPIX_Comm_shrink(MPI_COMM_WORLD, &live);
    int some, every, rounds = 0;
    do { /* a process that knows has told the others, or the one that told it has */
        some = ~is_revoked(copy);
        every = ~some;
        MPIX_Comm_agree(live, &some);
        MPIX_Comm_agree(live, &every);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    } while (((~some & 1) != (every & 1)) && ++rounds < 20000);
    CHECK((~some & 1) == (every & 1));
    if (rank == 0) {
        printf("revoked: %s\n", every & 1 ? "everywhere" : "nowhere");
    }
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {{"all", all},     {"selves", selves},  {"lag", lag},
                                          {"large", large}, {"told", told},      {"untold", untold},
                                          {"node", node},   {"matched", matched}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    victim = size - 1;
    argument = argc > 2 ? argv[2] : "";
    SCENE_PLAY(scenes, argc > 1 ? argv[1] : "");
    MPI_Finalize();
    return 0;
}
