/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulfm_replace SCENE ...: failed processes are replaced in their ranks, whenever they fail, so that
 * the job ends with 0. RZ_KILL_AT may name one more that is to fail on the way.
 *
 *   fail RANK...           these fail at once
 *   cycles N SEED [GROW]  N times some fail, at most all but the last rank. With GROW: memory,
 *                         descriptors and shared memory of that rank and its daemon may not grow
 *   spawned POINT         rank 1 fails; its replacement fails at this point of the library
 *                         ("before": before it asks), and so does the next
 *   parts                 communicators of a part; others go on undisturbed
 *   orphans [all]         the replacement of rank 1 (all: any but 0) is invited by none: RZ_KILL_AT
 *                         names rank 0, and the others finalize
 *   left SEED             one after the other fails; in turn it is replaced, or the others shrink,
 *                         until one is left
 *   node RANK...          these kill their whole node
 *   revoked               the communicator is revoked, and agrees by another engine than the job
 *   twice                 one communicator is repaired twice: those that were new in the first
 *                         result are asked again, and have failed by then or not
 *   refused               no process is replaced (--on-failure continue): all are told the same
 *   full                  the last rank kills its node, and there is not a slot for each of its
 *                         processes: all are told the same, also a process that comes nevertheless
 *   strangers             the replacement finalizes, and knows nothing of RZ_Comm_replace
 *   arguments             what is refused
 */
#include "ulfm.h"
#include "use.h"

#include <malloc.h>
#include <mpi-ext.h>

#include <signal.h>
#include <string.h>
#include <time.h>

static int me, incarnation, n;

/* ---- Repairing ---- */

/* comm, with its failed replaced until all of it works: what all of it compute is the same. */
static MPI_Comm repaired(MPI_Comm comm)
{
    for (;;) {
        MPI_Comm next = MPI_COMM_NULL;
        int rank, size, sum, ok;
        CHECK(RZ_Comm_replace(comm, &next) == MPI_SUCCESS);
        CHECK(next != MPI_COMM_NULL);
        if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
        comm = next;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        ok = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
        int agreed = MPIX_Comm_agree(comm, &ok);
        if (agreed == MPI_SUCCESS && ok) {
            CHECK(sum == size * (size - 1) / 2);
            return comm;
        }
    }
}

static MPI_Comm begin(void)
{
    return repaired(incarnation == 1 ? MPI_COMM_WORLD : MPI_COMM_NULL);
}

static int in_rank(MPI_Comm comm)
{
    int rank, size, flag = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPIX_Comm_is_revoked(comm, &flag);
    return rank == me && size == n && !flag;
}

/* ---- What the result is good for ---- */

static void exchange(MPI_Comm comm, int bytes)
{
    char *out = malloc((size_t)bytes + 1), *in = malloc((size_t)bytes + 1);
    int right = (me + 1) % n, left = (me + n - 1) % n;
    memset(out, me, (size_t)bytes);
    CHECK(MPI_Sendrecv(out, bytes, MPI_BYTE, right, 5, in, bytes, MPI_BYTE, left, 5, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(bytes == 0 || (in[0] == (char)left && in[bytes - 1] == (char)left));
    free(out);
    free(in);
}

static void any_source(MPI_Comm comm)
{
    if (me != 0) {
        CHECK(MPI_Ssend(&me, 1, MPI_INT, 0, 7, comm) == MPI_SUCCESS);
        return;
    }
    for (int i = 1, from, sum = 0; i < n; i++) {
        CHECK(MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        sum += from;
        CHECK(i < n - 1 || sum == n * (n - 1) / 2);
    }
}

static void is_whole(MPI_Comm comm)
{
    MPI_Comm dup, half;
    MPI_Group failed;
    int size;
    CHECK(in_rank(comm));
    CHECK(MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &size);
    CHECK(size == 0);
    MPI_Group_free(&failed);
    exchange(comm, 0);
    exchange(comm, 100);
    exchange(comm, 1 << 20);
    any_source(comm);
    works(comm);
    CHECK(MPI_Comm_dup(comm, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(comm, me % 2, -me, &half) == MPI_SUCCESS);
    works(dup);
    works(half);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&half);
}

/* ---- Scenes ---- */

static void crash(int argc, char **argv)
{
    for (int i = 2; i < argc && incarnation == 1; i++) {
        if (atoi(argv[i]) == me) {
            raise(SIGKILL);
        }
    }
    MPI_Comm comm = begin();
    is_whole(comm);
    MPI_Comm_free(&comm);
}

/* The processes that fail in a cycle: the same at all ranks; never the last one. */
static int fails(unsigned seed, int cycle)
{
    unsigned word = seed * 2654435761u + (unsigned)cycle * 40503u;
    int left = me;
    for (; left >= 0; left--) {
        word = word * 1664525u + 1013904223u;
    }
    unsigned often = cycle % 5 == 4 ? 1 : 3;
    return me != n - 1 && (word >> 16) % often == 0;
}

static void cycles(int argc, char **argv)
{
    int last = atoi(argv[2]), cycle = incarnation == 1 ? 0 : -1, grow = argc > 4;
    struct use mine = {0, 0, 0}, daemons = mine;
    /* The large buffers of is_whole never come from the heap, where others would pin their pages.
     */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    MPI_Comm comm = begin();
    for (;;) {
        int now;
        if (MPI_Allreduce(&cycle, &now, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS) {
            comm = repaired(comm);
            continue;
        }
        if (now >= last) {
            break;
        }
        if (grow && now == last / 2) {
            is_whole(comm); /* all are connected, as in the end */
            mine = use_of(getpid());
            daemons = use_of(getppid());
            MPI_Barrier(comm); /* no process fails before all have looked */
        }
        if (fails((unsigned)atoi(argv[3]), now)) {
            raise(SIGKILL);
        }
        cycle = now + 1;
        MPI_Barrier(comm); /* with an error at all or some */
        comm = repaired(comm);
        CHECK(in_rank(comm));
    }
    is_whole(comm);
    if (grow && me == n - 1) {
        has_not_grown("the last rank", getpid(), mine);
        has_not_grown("its daemon", getppid(), daemons);
    }
    MPI_Comm_free(&comm);
}

static void kill_at(const char *point)
{
    int provided, index, count;
    MPI_T_cvar_handle handle;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_get_index("RZ_KILL_AT", &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_write(handle, point) == MPI_SUCCESS);
    MPI_T_cvar_handle_free(&handle);
    MPI_T_finalize();
}

static void spawned_processes(char **argv)
{
    if (incarnation == 1 && me == 1) {
        raise(SIGKILL);
    }
    if (incarnation == 2 || incarnation == 3) {
        if (strcmp(argv[2], "before") == 0) {
            raise(SIGKILL);
        }
        kill_at(argv[2]);
    }
    MPI_Comm comm = begin();
    CHECK(me != 1 || incarnation >= 3);
    is_whole(comm);
    MPI_Comm_free(&comm);
}

/* The even ranks lose one; the odd ones work on their own meanwhile, and afterwards. */
static void parts(void)
{
    MPI_Comm part = MPI_COMM_NULL, next, pair = MPI_COMM_NULL;
    if (incarnation == 1) {
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &part) == MPI_SUCCESS);
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, me < 2, me, &pair) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS || me % 2 == 0 || me > 2);
    }
    if (incarnation == 1 && me == 2) {
        raise(SIGKILL);
    }
    if (me % 2 == 0) {
        int rank, size;
        next = repaired(part);
        MPI_Comm_rank(next, &rank);
        MPI_Comm_size(next, &size);
        CHECK(rank == me / 2 && size == (n + 1) / 2);
        for (int i = 0; i < 20; i++) {
            works(next);
        }
        MPI_Comm_free(&next);
    } else {
        for (int i = 0; i < 200; i++) {
            works(part);
        }
        MPI_Comm_free(&part);
    }
    if (pair != MPI_COMM_NULL && me < 2) {
        works(pair); /* no process of it failed */
    }
    if (pair != MPI_COMM_NULL) {
        MPI_Comm_free(&pair);
    }
}

/* All possible bootstrap peers have failed (RZ_KILL_AT), or finalize: of ranks 0 and 1 the second
 * fails, and the first while it replaces it. */
static void orphans(int all)
{
    MPI_Comm pair = MPI_COMM_NULL, next;
    if (incarnation > 1) {
        int known;
        CHECK(class_of(RZ_Comm_replace(MPI_COMM_NULL, &next)) == MPI_ERR_PROC_FAILED);
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, n,
                             &known); /* rank 0 may be failed, which has no effect */
        return;
    }
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, all || me < 2, me, &pair) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS || me != 0);
    if (all ? me > 0 : me == 1) {
        raise(SIGKILL);
    }
    if (me == 0) {
        RZ_Comm_replace(pair, &next); /* does not return */
        CHECK(!"rank 0 should be failed");
    }
}

/* ---- Until one is left ---- */

static void shrink(MPI_Comm *comm)
{
    for (int error = MPI_ERR_OTHER, flag; error != MPI_SUCCESS;) {
        MPI_Comm rest;
        CHECK(MPIX_Comm_shrink(*comm, &rest) == MPI_SUCCESS);
        if (*comm != MPI_COMM_WORLD) {
            MPI_Comm_free(comm);
        }
        *comm = rest;
        flag = 1;
        error = MPIX_Comm_agree(*comm, &flag);
    }
}

/* Whether all know of which step they are; else a process has failed. */
static int step_of(MPI_Comm comm, int step, int *now)
{
    int ok = MPI_Allreduce(&step, now, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS;
    return MPIX_Comm_agree(comm, &ok) == MPI_SUCCESS && ok;
}

static void left(unsigned seed)
{
    int step = incarnation == 1 ? 0 : -1, rank, size, now;
    MPI_Comm comm = begin();
    for (;;) {
        if (!step_of(comm, step, &now)) {
            comm = repaired(comm);
            continue;
        }
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        if (size == 1) {
            break;
        }
        unsigned word = (seed + 1) * 2654435761u + (unsigned)now * 40503u;
        if (rank == (int)((word >> 8) % (unsigned)size)) {
            raise(SIGKILL);
        }
        step = now + 1;
        if (now % 2 == 0) {
            comm = repaired(comm);
        } else {
            shrink(&comm);
        }
    }
    CHECK(step == 2 * (n - 1));
    works(comm);
    MPI_Comm_free(&comm);
    printf("one is left\n");
}

/* ---- More ---- */

static void node(int argc, char **argv)
{
    if (incarnation == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 2; i < argc && incarnation == 1; i++) {
        if (atoi(argv[i]) == me) {
            kill(getppid(), SIGKILL);
            pause();
        }
    }
    MPI_Comm comm = begin();
    is_whole(comm);
    MPI_Comm_free(&comm);
}

static void revoked(void)
{
    MPI_Comm comm = MPI_COMM_NULL, next;
    if (incarnation == 1) {
        MPI_Info info;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        MPI_Info_create(&info);
        MPI_Info_set(info, "rz_agree", "twophase");
        CHECK(MPI_Comm_set_info(comm, info) == MPI_SUCCESS);
        MPI_Info_free(&info);
    }
    if (incarnation == 1 && me == 1) {
        raise(SIGKILL);
    }
    if (incarnation == 1) {
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    }
    next = repaired(comm);
    is_whole(next);
    MPI_Comm_free(&next);
}

static void twice(void)
{
    MPI_Comm old = incarnation == 1 ? MPI_COMM_WORLD : MPI_COMM_NULL, first, second;
    if (incarnation == 1 && (me == 0 || me == 1)) {
        raise(SIGKILL);
    }
    if (incarnation < 3 || me != 1) {
        CHECK(RZ_Comm_replace(old, &first) == MPI_SUCCESS);
        CHECK(in_rank(first));
        if (incarnation == 2 && me == 1) {
            raise(SIGKILL);
        }
        MPI_Comm_free(&first);
    }
    CHECK(RZ_Comm_replace(old, &second) == MPI_SUCCESS);
    is_whole(second);
    MPI_Comm_free(&second);
}

static void full(void)
{
    MPI_Comm whole, rest;
    char text[MPI_MAX_ERROR_STRING];
    int length, error;
    if (incarnation > 1) {
        CHECK(class_of(RZ_Comm_replace(MPI_COMM_NULL, &whole)) == MPI_ERR_SPAWN);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == n - 1) {
        kill(getppid(), SIGKILL);
        pause();
    }
    while (MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS) {
    }
    error = RZ_Comm_replace(MPI_COMM_WORLD, &whole);
    CHECK(class_of(error) == MPI_ERR_SPAWN);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "no slot is left on the live nodes") != NULL);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest) == MPI_SUCCESS);
    works(rest);
    MPI_Comm_free(&rest);
}

static void refused(void)
{
    MPI_Comm comms[2], made[2], rest;
    int size;
    CHECK(incarnation == 1);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, me == 1, me, &comms[1]) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD); /* all have come so far */
    if (me == 1) {
        raise(SIGKILL);
    }
    CHECK(class_of(RZ_Comm_replace(MPI_COMM_WORLD, &rest)) == MPI_ERR_SPAWN);
    CHECK(class_of(RZ_Comm_repair(2, comms, made)) == MPI_ERR_SPAWN);
    CHECK(made[0] == MPI_COMM_NULL);
    CHECK(MPIX_Comm_shrink(comms[0], &rest) == MPI_SUCCESS);
    MPI_Comm_size(rest, &size);
    CHECK(size == n - 1);
    works(rest);
    works(comms[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_free(&comms[i]);
        if (made[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&made[i]);
        }
    }
    MPI_Comm_free(&rest);
}

static void strangers(void)
{
    MPI_Comm next;
    if (incarnation > 1) {
        return;
    }
    if (me == 1) {
        raise(SIGKILL);
    }
    CHECK(class_of(RZ_Comm_replace(MPI_COMM_WORLD, &next)) == MPI_ERR_SPAWN);
    printf("%s\n", "strangers: correct");
}

static void arguments(void)
{
    MPI_Comm comm, inter, half, comms[2], made[2];
    CHECK(class_of(RZ_Comm_replace(MPI_COMM_NULL, &comm)) == MPI_ERR_COMM);
    CHECK(class_of(RZ_Comm_replace(MPI_COMM_WORLD, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Comm_repair(-1, NULL, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Comm_repair(1, NULL, made)) == MPI_ERR_ARG);
    comms[0] = comms[1] = MPI_COMM_WORLD;
    CHECK(class_of(RZ_Comm_repair(1, comms, NULL)) == MPI_ERR_ARG);
    CHECK(class_of(RZ_Comm_repair(2, comms, made)) == MPI_ERR_ARG);
    CHECK(RZ_Comm_repair(0, NULL, NULL) == MPI_SUCCESS);
    comms[0] = comms[1] = MPI_COMM_NULL;
    CHECK(RZ_Comm_repair(2, comms, made) == MPI_SUCCESS);
    CHECK(made[0] == MPI_COMM_NULL && made[1] == MPI_COMM_NULL);
    if (n > 1) {
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half) == MPI_SUCCESS);
        CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &inter) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        CHECK(class_of(RZ_Comm_replace(inter, &comm)) == MPI_ERR_COMM);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    CHECK(RZ_Comm_replace(MPI_COMM_WORLD, &comm) == MPI_SUCCESS); /* of no process */
    is_whole(comm);
    MPI_Comm_free(&comm);
    CHECK(RZ_Comm_replace(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    works(comm);
    MPI_Comm_free(&comm);
}

static void play(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "";
    if (strcmp(scene, "crash") == 0) {
        crash(argc, argv);
    } else if (strcmp(scene, "cycles") == 0 && argc > 3) {
        cycles(argc, argv);
    } else if (strcmp(scene, "spawned") == 0 && argc > 2) {
        spawned_processes(argv);
    } else if (strcmp(scene, "parts") == 0) {
        parts();
    } else if (strcmp(scene, "orphans") == 0) {
        orphans(argc > 2);
    } else if (strcmp(scene, "left") == 0 && argc > 2) {
        left((unsigned)atoi(argv[2]));
    } else if (strcmp(scene, "node") == 0) {
        node(argc, argv);
    } else if (strcmp(scene, "revoked") == 0) {
        revoked();
    } else if (strcmp(scene, "twice") == 0) {
        twice();
    } else if (strcmp(scene, "full") == 0) {
        full();
    } else if (strcmp(scene, "refused") == 0) {
        refused();
    } else if (strcmp(scene, "strangers") == 0) {
        strangers();
    } else if (strcmp(scene, "arguments") == 0) {
        arguments();
    } else {
        CHECK(!"a scene");
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    RZ_Incarnation(&incarnation);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (incarnation > 1) {
        CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPI_ERR_REVOKED);
        CHECK(class_of(RZ_Comm_replace(MPI_COMM_WORLD, &(MPI_Comm){0})) == MPI_ERR_COMM);
    }
    play(argc, argv);
    MPI_Finalize();
    return 0;
}
