/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_spawn without failures; the first argument is the scene. The program spawns itself, with
 * another word for its first argument.
 */
#include "dyn.h"
#include "scenes.h"
#include "use.h"

#include <limits.h>
#include <signal.h>

static int rank, size;
static char program[PATH_MAX];

/* ---- What spawned processes do ---- */

static void child_plain(MPI_Comm parent)
{
    int rank_here, parents_n;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    MPI_Comm_remote_size(parent, &parents_n);
    works(MPI_COMM_WORLD);
    inter_works(parent);
    merged_works(parent, 1);
    inter_works(parent);
    CHECK(attribute(MPI_APPNUM) == 0);
    char name[MPI_MAX_OBJECT_NAME], maxprocs[16];
    int length, there, n;
    MPI_Comm_get_name(parent, name, &length);
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0 && length == (int)strlen(name));
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Info_get(MPI_INFO_ENV, "maxprocs", (int)sizeof(maxprocs) - 1, maxprocs, &there);
    CHECK(there && atoi(maxprocs) == n);
    CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
    CHECK(parents() == MPI_COMM_NULL);
    works(MPI_COMM_WORLD);
}

/* Says what it finds: directory, environment, error handler. */
static void child_info(MPI_Comm parent)
{
    char found[2][PATH_MAX] = {"", ""};
    MPI_Errhandler handlers[3], self, of_parent;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handlers[0]);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &self);
    MPI_Comm_get_errhandler(parent, &of_parent);
    CHECK(handlers[0] == MPI_ERRORS_RETURN && self == handlers[0] && of_parent == handlers[0]);
    CHECK(getcwd(found[0], PATH_MAX) != NULL);
    const char *told = getenv("DYN_TOLD"), *too = getenv("DYN_TOO");
    snprintf(found[1], PATH_MAX, "%s, %s", told ? told : "", too ? too : "");
    CHECK(MPI_Send(found, sizeof(found), MPI_CHAR, 0, 1, parent) == MPI_SUCCESS);
    MPI_Comm_disconnect(&parent);
}

/* The second of two commands, and both of the processes of the first. */
static void child_multiple(MPI_Comm parent, int argc, char **argv)
{
    int rank_here, mine[2];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    CHECK(attribute(MPI_APPNUM) == rank_here / 2);
    CHECK(argc == 3 && atoi(argv[2]) == rank_here / 2);
    mine[0] = rank_here, mine[1] = attribute(MPI_APPNUM);
    CHECK(MPI_Send(mine, 2, MPI_INT, 0, 2, parent) == MPI_SUCCESS);
    works(MPI_COMM_WORLD);
    inter_works(parent);
    MPI_Comm_disconnect(&parent);
}

static void child_grand(MPI_Comm parent)
{
    MPI_Comm grandchildren = spawn(program, "plain", 2, 1, MPI_COMM_WORLD);
    inter_works(grandchildren);
    merged_works(grandchildren, 0);
    inter_works(grandchildren);
    CHECK(MPI_Comm_disconnect(&grandchildren) == MPI_SUCCESS);
    inter_works(parent);
    MPI_Comm_disconnect(&parent);
}

/* One of very many. */
static void child_many(MPI_Comm parent)
{
    CHECK(MPI_Barrier(parent) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
}

/* Gives the inter-communicator up and stays. */
static void child_frees(MPI_Comm parent)
{
    MPI_Comm merged;
    int done;
    CHECK(MPI_Intercomm_merge(parent, 1, &merged) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&parent) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&done, 1, MPI_INT, 0, merged) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&merged) == MPI_SUCCESS);
}

/* Leaves the inter-communicator to MPI_Finalize. */
static void child_held(MPI_Comm parent, int works_first)
{
    int rank_here;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_here);
    if (works_first) {
        inter_works(parent);
    }
    MPI_Send(&rank_here, 1, MPI_INT, 0, 3, parent);
}

/* Proposes, and does not look at what was agreed for as long as its parents would need to end. */
static void child_late(MPI_Comm parent)
{
    int pid = 0, flag = 1;
    MPI_Comm merged;
    MPI_Request request;
    CHECK(MPI_Intercomm_merge(parent, 1, &merged) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, merged) == MPI_SUCCESS && pid > 0);
    CHECK(MPIX_Comm_agree(merged, &flag) == MPI_SUCCESS && flag == 1); /* opens all ways */
    CHECK(MPIX_Comm_iagree(merged, &flag, &request) == MPI_SUCCESS);
    for (int tries = 0; tries < 300 && kill(pid, 0) == 0; tries++) {
        usleep(1000);
    }
    CHECK(kill(pid, 0) == 0);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 1);
    CHECK(MPI_Comm_free(&parent) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&merged) == MPI_SUCCESS);
}

static void child(MPI_Comm parent, int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "info") == 0) {
        child_info(parent);
    } else if (strcmp(what, "multiple") == 0) {
        child_multiple(parent, argc, argv);
    } else if (strcmp(what, "many") == 0) {
        child_many(parent);
    } else if (strcmp(what, "frees") == 0) {
        child_frees(parent);
    } else if (strcmp(what, "late") == 0) {
        child_late(parent);
    } else if (strcmp(what, "grand") == 0) {
        child_grand(parent);
    } else if (strcmp(what, "held") == 0 || strcmp(what, "freed") == 0) {
        child_held(parent, strcmp(what, "held") == 0);
    } else {
        child_plain(parent);
    }
}

/* ---- Scenes ---- */

static void with_plain(int n, int root, MPI_Comm comm)
{
    MPI_Comm inter = spawn(program, "plain", n, root, comm);
    inter_works(inter);
    merged_works(inter, 0);
    inter_works(inter);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS && inter == MPI_COMM_NULL);
}

static void plain(void)
{
    CHECK(parents() == MPI_COMM_NULL && attribute(MPI_APPNUM) == 0);
    CHECK(attribute(MPI_UNIVERSE_SIZE) >= size + 64);
    with_plain(1, 0, MPI_COMM_WORLD);
    with_plain(3, size - 1, MPI_COMM_WORLD);
    works(MPI_COMM_WORLD);
}

/* Several at once, by a part each. */
static void parts(void)
{
    MPI_Comm part;
    with_plain(2, 0, MPI_COMM_SELF);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    with_plain(2, 0, part);
    MPI_Comm_free(&part);
    works(MPI_COMM_WORLD);
}

static void multiple(void)
{
    char zero[] = "0", one[] = "1", what[] = "multiple";
    char *first[] = {what, zero, NULL}, *second[] = {what, one, NULL};
    char **argvs[] = {first, second}, *commands[] = {program, program};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int codes[3] = {-1, -1, -1}, n[] = {2, 1}, got[2];
    MPI_Comm inter;
    CHECK(MPI_Comm_spawn_multiple(2, rank == 0 ? commands : NULL, rank == 0 ? argvs : NULL, n,
                                  infos, 0, MPI_COMM_WORLD, &inter,
                                  rank == 0 ? codes : MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 3 && rank == 0; i++) {
        CHECK(codes[i] == MPI_SUCCESS);
        CHECK(MPI_Recv(got, 2, MPI_INT, i, 2, inter, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got[0] == i && got[1] == i / 2);
    }
    inter_works(inter);
    MPI_Comm_disconnect(&inter);
}

static void grand(void)
{
    MPI_Comm inter = spawn(program, "grand", 2, 0, MPI_COMM_WORLD);
    inter_works(inter);
    MPI_Comm_disconnect(&inter);
}

/* A process that has freed it takes part, with the flag 0, in all that the others still agree
 * on. */
static void frees(void)
{
    MPI_Comm inter = spawn(program, "frees", 2, 0, MPI_COMM_WORLD), merged;
    CHECK(MPI_Intercomm_merge(inter, 0, &merged) == MPI_SUCCESS);
    for (int i = 0; i < 5; i++) {
        int flag = ~0;
        CHECK(MPIX_Comm_agree(inter, &flag) == MPI_SUCCESS && flag == 0);
    }
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
    int done = 1;
    CHECK(MPI_Bcast(&done, 1, MPI_INT, 0, merged) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&merged) == MPI_SUCCESS);
}

/* More processes in all than there are slots: those of the ended serve again. */
static void rounds(void)
{
    int free_slots = attribute(MPI_UNIVERSE_SIZE) - size;
    for (int began = 0; began < free_slots + 12; began += 6) {
        with_plain(6, 0, MPI_COMM_WORLD);
    }
}

/* Invalid spawns: an error everywhere, no process left behind, and the next spawn succeeds. */
static void cannot(const char *command, int n)
{
    int codes[512];
    MPI_Comm inter = MPI_COMM_SELF;
    CHECK(n <= 512);
    for (int i = 0; i < n; i++) {
        codes[i] = -1;
    }
    CHECK(class_of(MPI_Comm_spawn(command, MPI_ARGV_NULL, n, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                  &inter, codes)) == MPI_ERR_SPAWN);
    CHECK(inter == MPI_COMM_SELF);
    for (int i = 0; i < n && rank == 0; i++) {
        CHECK(codes[i] == MPI_ERR_SPAWN);
    }
}

/* Nothing is left of ended processes: neither here nor at the daemon. */
static void many(int n)
{
    struct use mine = {0, 0, 0}, daemons = mine;
    for (int round = 0; round < n; round++) {
        MPI_Comm inter = round % 4 == 3 ? MPI_COMM_NULL
                                        : spawn(program, "many", 2, round % size, MPI_COMM_WORLD);
        if (inter == MPI_COMM_NULL) { /* no process ever connects there */
            cannot("true", 1);
        } else {
            CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
            CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
        }
        if (round == n / 2) {
            MPI_Barrier(MPI_COMM_WORLD);
            mine = use_of(getpid());
            daemons = use_of(getppid());
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        has_not_grown("rank 0", getpid(), mine);
        has_not_grown("its daemon", getppid(), daemons);
    }
}

static void info(void)
{
    char what[] = "info", *argv[] = {what, NULL}, *base = strrchr(program, '/') + 1;
    char found[2][PATH_MAX], directory[PATH_MAX], *name = base;
    snprintf(directory, sizeof(directory), "%.*s", (int)(base - 1 - program), program);
    MPI_Info said;
    MPI_Info_create(&said);
    MPI_Info_set(said, "wdir", "/");
    MPI_Info_set(said, "path", directory);
    MPI_Info_set(said, "env", "DYN_TOLD=this\nDYN_TOO=and that");
    MPI_Info_set(said, "mpi_initial_errhandler", "mpi_errors_return");
    MPI_Info_set(said, "host", "nowhere"); /* not honoured, and no error */
    MPI_Comm inter = spawn_with(name, argv, 1, rank == 0 ? said : MPI_INFO_NULL, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(MPI_Recv(found, sizeof(found), MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(strcmp(found[0], "/") == 0);
        CHECK(strcmp(found[1], "this, and that") == 0);
    }
    MPI_Info_free(&said);
    MPI_Comm_disconnect(&inter);
}

static void impossible(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    cannot("/does/not/exist", 2);
    cannot("/", 1);
    cannot("true", 2); /* ends without MPI_Init */
    cannot(program, attribute(MPI_UNIVERSE_SIZE) - size + 1);
    cannot("", 1);
    with_plain(2, 0, MPI_COMM_WORLD);
}

/* Where no process may be started. */
static void refused(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    cannot(program, 1);
    cannot(program, 2);
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm none;
    int length, error = MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                       &none, MPI_ERRCODES_IGNORE);
    MPI_Error_string(error, text, &length);
    CHECK(strstr(text, "with --no-ft") || strstr(text, "with --detector flat"));
    CHECK(attribute(MPI_UNIVERSE_SIZE) == size);
}

/* A process that finalizes while it shares a communicator with others waits for them, unless they
 * have freed it. */
static void held(void)
{
    static char large[1 << 20];
    int in_finalize;
    MPI_Comm kept = spawn(program, "held", 2, 0, MPI_COMM_WORLD);
    inter_works(kept);
    if (rank == 0) {
        CHECK(MPI_Recv(&in_finalize, 1, MPI_INT, 1, 3, kept, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        usleep(50000); /* in which it would have ended */
        CHECK(MPI_Send(large, sizeof(large), MPI_CHAR, 1, 4, kept) == MPI_SUCCESS);
    }
    MPI_Comm freed = spawn(program, "freed", 1, 0, MPI_COMM_WORLD); /* nothing is agreed on it */
    if (rank == 0) {
        CHECK(MPI_Recv(&in_finalize, 1, MPI_INT, 0, 3, freed, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&freed) == MPI_SUCCESS);
}

/* A process leaves its job only when all others know what was agreed with it. */
static void late(int revokes)
{
    int pid = (int)getpid(), flag = 1;
    MPI_Comm inter = spawn(program, "late", 1, 0, MPI_COMM_WORLD), merged;
    CHECK(MPI_Intercomm_merge(inter, 0, &merged) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&pid, 1, MPI_INT, 0, merged) == MPI_SUCCESS);
    CHECK(MPIX_Comm_agree(merged, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPIX_Comm_agree(merged, &flag) == MPI_SUCCESS && flag == 1);
    if (revokes) {
        MPIX_Comm_revoke(merged);
    }
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&merged) == MPI_SUCCESS);
}

static void late_freed(void)
{
    late(0);
}

static void late_revoked(void)
{
    late(1);
}

static const struct scene scenes[] = {
    {"plain", plain},     {"parts", parts},     {"multiple", multiple},
    {"grand", grand},     {"held", held},       {"frees", frees},
    {"info", info},       {"rounds", rounds},   {"impossible", impossible},
    {"refused", refused}, {"late", late_freed}, {"late_revoked", late_revoked}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    if (parents() != MPI_COMM_NULL) {
        child(parents(), argc, argv);
        MPI_Finalize();
        return 0;
    }
    const char *scene = argc > 1 ? argv[1] : "plain";
    if (strcmp(scene, "many") == 0 && argc > 2) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        many(atoi(argv[2]));
    } else {
        SCENE_PLAY(scenes, scene);
    }
    MPI_Finalize();
    return 0;
}
