/*
 * A revocation reaches all members of its communicator and nobody else, in both ways (RZ_REVOKE):
 * a scene per run.
 *
 *   all      by any member, one communicator of many: who waits is interrupted, the others go on
 *   selves   communicators that go by the same context id in different processes
 *   lag      more revocations than the board's log holds while one computes (FILE)
 *   told     the last rank dies right after it has told its daemon (RZ_KILL_AT=revoke-told)
 *   untold   the last rank dies before it has told anybody (RZ_KILL_AT=revoked)
 *   node     the last rank kills its daemon SEED microseconds after it has revoked: all that live
 *            know of it, or nobody does
 */
#include "check.h"

#include <mpi-ext.h>
#include <signal.h>
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

/* Waits on comm, where nobody sends; only a revocation ends it. */
static void is_interrupted(MPI_Comm comm)
{
    int value, from = (rank + 1) % victim;
    from = from == rank ? MPI_ANY_SOURCE : from;
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, from, 9, comm, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REVOKED);
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
    is_interrupted(end); /* whoever knows of this one knows of those before it */
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
    /* What is made after the log has overflowed is asked for, and is not taken for another. */
    MPI_Comm_dup(MPI_COMM_WORLD, &late);
    works(late);
    works(MPI_COMM_WORLD); /* all have left late's barrier */
    if (rank == 0) {
        MPIX_Comm_revoke(late);
        unlink(argument);
    }
    is_interrupted(late);
}

/* The victim dies in MPIX_Comm_revoke, as RZ_KILL_AT says. */
static MPI_Comm revoked_by_the_dead(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == victim) {
        MPIX_Comm_revoke(copy);
        CHECK(!"died");
    }
    return copy;
}

static void told(void)
{
    is_interrupted(revoked_by_the_dead());
}

/* That the victim is dead is known here, and what it did before. */
static void see_the_death(void)
{
    int value;
    CHECK(class_of(MPI_Recv(&value, 1, MPI_INT, victim, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
          MPI_ERR_PROC_FAILED);
}

static void untold(void)
{
    MPI_Comm copy = revoked_by_the_dead();
    see_the_death();
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
    see_the_death();
    MPIX_Comm_shrink(MPI_COMM_WORLD, &live);
    int some, every, rounds = 0;
    do { /* who knows has told the others, or those who told it have */
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
    static const struct {
        const char *name;
        void (*play)(void);
    } scenes[] = {{"all", all},   {"selves", selves}, {"lag", lag},
                  {"told", told}, {"untold", untold}, {"node", node}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    victim = size - 1;
    argument = argc > 2 ? argv[2] : "";
    for (size_t i = 0; argc > 1 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (strcmp(argv[1], scenes[i].name) == 0) {
            scenes[i].play();
            if (rank == 0) {
                printf("%s: as it should be\n", argv[1]);
            }
        }
    }
    MPI_Finalize();
    return 0;
}
