/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agreement engines of communicators: the job's engine (rzrun --agree) and that of one
 * communicator (info key rz_agree), as get_info and the counters of MPI_T tell, and their results
 * when a process fails at a critical point.
 *
 *     ulfm_engines choice NAME     NAME is the engine of the job
 *     ulfm_engines tool NAME       NAME becomes the engine of the job, by its control variable
 *     ulfm_engines count           how many messages an agreement of n members costs without
 *                                  failures: 2 (n - 1)
 *     ulfm_engines fallback NAME   ranks fail when they have done with gossip; three are left
 *     ulfm_engines failures SEED   a communicator of another engine in each round; one rank fails
 *                                  in each
 */
#include "ulfm.h"

#include <mpi-ext.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

static const char *const engines[] = {"era", "twophase", "gossip1", "gossip2", "gossip3"};
enum { N_ENGINES = sizeof(engines) / sizeof(engines[0]), AGREEMENTS = 6 };

static int try_engine(MPI_Comm comm, const char *engine)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rz_agree", engine);
    int error = MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    return error;
}

static void set_engine(MPI_Comm comm, const char *engine)
{
    CHECK(try_engine(comm, engine) == MPI_SUCCESS);
}

/* It is refused, with a list of the valid names. */
static void refuses(MPI_Comm comm, const char *engine)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, error = try_engine(comm, engine);
    CHECK(class_of(error) == MPI_ERR_INFO_VALUE);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, engine) != NULL);
    for (int i = 0; i < N_ENGINES; i++) {
        CHECK(strstr(text, engines[i]) != NULL);
    }
}

static void shows(MPI_Comm comm, const char *wanted)
{
    MPI_Info info;
    char value[32];
    int there;
    CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
    CHECK(MPI_Info_get(info, "rz_agree", 31, value, &there) == MPI_SUCCESS && there);
    CHECK(strcmp(value, wanted) == 0);
    MPI_Info_free(&info);
}

/* ---- What MPI_T counts ---- */

static MPI_T_pvar_session session;

static MPI_T_pvar_handle begin_counter(const char *name)
{
    int index, count;
    MPI_T_pvar_handle handle;
    char full[64];
    snprintf(full, sizeof(full), "rz_%s", name);
    CHECK(MPI_T_pvar_get_index(full, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    return handle;
}

static unsigned long long counted(MPI_T_pvar_handle handle)
{
    unsigned long long value;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

/* ---- Choosing ---- */

static void agree(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < AGREEMENTS; i++) {
        int flag = ~(1 << (rank + i) % 31), wanted = ~0;
        for (int other = 0; other < size; other++) {
            wanted &= ~(1 << (other + i) % 31);
        }
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == wanted);
    }
}

static void choice(const char *of_job)
{
    MPI_Comm copies[N_ENGINES], single;
    shows(MPI_COMM_WORLD, of_job);
    for (int i = 0; i < N_ENGINES; i++) {
        char name[32];
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &copies[i]) == MPI_SUCCESS);
        set_engine(copies[i], engines[i]);
        shows(copies[i], engines[i]);
        snprintf(name, sizeof(name), "agreed_%s", engines[i]);
        MPI_T_pvar_handle handle = begin_counter(name);
        agree(copies[i]);
        CHECK(counted(handle) == AGREEMENTS);
        set_engine(copies[i], engines[(i + 1) % N_ENGINES]); /* too late */
        shows(copies[i], engines[i]);
        refuses(copies[i], "paxos");
        shows(copies[i], engines[i]);
    }
    /* All at a time: each goes its own way. */
    MPI_Request requests[N_ENGINES];
    int flags[N_ENGINES] = {1, 1, 1, 1, 1};
    for (int i = 0; i < N_ENGINES; i++) {
        CHECK(MPIX_Comm_iagree(copies[i], &flags[i], &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(N_ENGINES, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < N_ENGINES; i++) {
        CHECK(flags[i] == 1);
        MPI_Comm_free(&copies[i]);
    }
    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &single) == MPI_SUCCESS);
    set_engine(single, "gossip3");
    shows(single, "era"); /* one member needs nothing else */
    agree(single);
    MPI_Comm_free(&single);
    agree(MPI_COMM_WORLD);
    shows(MPI_COMM_WORLD, of_job);
}

/* ---- The control variable ---- */

static MPI_T_cvar_handle variable(const char *name)
{
    int index, count;
    MPI_T_cvar_handle handle;
    CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
    return handle;
}

static void tool(const char *engine)
{
    MPI_T_cvar_handle handle = variable("RZ_AGREE");
    char text[512] = "paxos";
    MPI_Comm before, after;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &before) == MPI_SUCCESS);
    agree(before);
    CHECK(MPI_T_cvar_write(handle, text) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_read(handle, text) == MPI_SUCCESS && strcmp(text, "paxos") != 0);
    snprintf(text, sizeof(text), "%s", engine);
    CHECK(MPI_T_cvar_write(handle, text) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(handle, text) == MPI_SUCCESS && strcmp(text, engine) == 0);
    shows(before, "era"); /* has agreed already */
    agree(before);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &after) == MPI_SUCCESS);
    shows(after, engine);
    agree(after);
    MPI_Comm_free(&before);
    MPI_Comm_free(&after);
}

/* ---- Control messages ---- */

static void count(void)
{
    MPI_T_pvar_handle protocol_messages = begin_counter("protocol_messages_sent");
    MPI_Comm comms[2];
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 2; i++) {
        unsigned long long mine, all;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS);
        set_engine(comms[i], engines[i]); /* era, twophase */
        mine = counted(protocol_messages);
        agree(comms[i]); /* all that one costs is sent when it returns */
        mine = counted(protocol_messages) - mine;
        CHECK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(all == 2ull * AGREEMENTS * (unsigned)(size - 1));
    }
    MPI_Comm_free(&comms[0]); /* not before: the end of one costs control messages, too */
    MPI_Comm_free(&comms[1]);
}

/* ---- Failures ---- */

static void fail_at(const char *point)
{
    char text[512];
    snprintf(text, sizeof(text), "%s", point);
    CHECK(MPI_T_cvar_write(variable("RZ_KILL_AT"), text) == MPI_SUCCESS);
}

static MPI_Comm shrink(MPI_Comm comm, int victim)
{
    MPI_Comm left;
    int rank, size, new_rank, new_size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
    MPI_Comm_rank(left, &new_rank);
    MPI_Comm_size(left, &new_size);
    CHECK(new_size == size - 1 && new_rank == rank - (rank > victim));
    works(left);
    return left;
}

static void fallback(const char *engine)
{
    MPI_Comm comm, left;
    int rank, size, flag = 1;
    unsigned long long total = 0;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    for (MPI_Comm_size(comm, &size); size > 3; MPI_Comm_size(comm, &size)) {
        MPI_Comm_rank(comm, &rank);
        set_engine(comm, engine);
        shows(comm, engine);
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
        MPI_T_pvar_handle fallbacks = begin_counter("agreement_fallbacks");
        if (rank == size / 2) {
            fail_at("gossip");
        }
        CHECK(class_of(MPIX_Comm_agree(comm, &flag)) == MPI_ERR_PROC_FAILED);
        CHECK(rank != size / 2);
        total += counted(fallbacks);
        left = shrink(comm, size / 2);
        MPI_Comm_free(&comm);
        comm = left;
    }
    /* Rarely the others were still gossiping, and learnt of it in time. */
    CHECK(total > 0);
    MPI_Comm_free(&comm);
}

static void failures(uint64_t seed)
{
    MPI_Comm comm, left;
    int rank, size;
    static const char *const points[] = {"protocol-message", "read", "step", "decided", "gossip"};
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    for (MPI_Comm_size(comm, &size); size > 2; MPI_Comm_size(comm, &size)) {
        char point[32];
        MPI_Comm_rank(comm, &rank);
        int victim = (int)((seed >> 33) % (unsigned)size), flag = ~(1 << rank), least, most, class;
        set_engine(comm, engines[(seed >> 20) % N_ENGINES]);
        snprintf(point, sizeof(point), "%s:%d", points[(seed >> 40) % 5],
                 1 + (int)((seed >> 50) % 6));
        if (rank == victim) {
            fail_at(point);
        }
        class = class_of(MPIX_Comm_agree(comm, &flag));
        if (rank == victim) {
            raise(SIGKILL);
        }
        CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED);
        left = shrink(comm, victim);
        int told[2] = {class, flag};
        for (int i = 0; i < 2; i++) {
            CHECK(MPI_Allreduce(&told[i], &least, 1, MPI_INT, MPI_MIN, left) == MPI_SUCCESS);
            CHECK(MPI_Allreduce(&told[i], &most, 1, MPI_INT, MPI_MAX, left) == MPI_SUCCESS);
            CHECK(least == most);
        }
        CHECK(MPIX_Comm_agree(left, &flag) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        CHECK(MPI_Comm_dup(left, &comm) == MPI_SUCCESS); /* its engine is open */
        MPI_Comm_free(&left);
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const char *scene = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    int rank, provided;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(scene, "choice") == 0) {
        choice(what);
    } else if (strcmp(scene, "tool") == 0) {
        tool(what);
    } else if (strcmp(scene, "count") == 0) {
        count();
    } else if (strcmp(scene, "fallback") == 0) {
        fallback(what);
    } else if (strcmp(scene, "failures") == 0) {
        failures(strtoull(what, NULL, 0) * UINT64_C(0x9e3779b97f4a7c15));
    } else {
        CHECK(!"a scene that exists");
    }
    printf("%s: rank %d: correct\n", scene, rank);
    MPI_Finalize();
    return 0;
}
