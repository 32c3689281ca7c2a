/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client of libpmix, without any MPI. "foreign_client MODE":
 *
 *   services    uses what a runtime serves: data, fences, names, queries, groups, events
 *   chain SEED N
 *               all but the last N ranks end by SIGKILL one after the other, in an order that
 *               SEED draws, each when it has been told of the one before; the others check that
 *               they were told of each failure once
 *   wait N      waits until it was told of N failed processes
 *   deaf        asks for nothing, and waits
 *   fences N    waits for N failures, then for two fences
 *   once FILE   rank 1 fails if it can make FILE; else a fence
 *   leaves      the last rank ends in order, and the others have one more fence
 *   lost        waits for data that rank 1, which fails, never commits, and for a fence with it
 *   spawn N     N times, one after the other: rank 0 spawns three processes, which all connect to
 *   spawn-fails the same once; the first of the spawned ones fails
 *   storm N     rank 0 spawns N times, and waits for no answer of the new ones, some of which fail
 *   spawn-nothing
 *               spawns a program that does not exist
 *   spawn-many  spawns more processes than there are slots
 *   spawn-zero  spawns by two commands, the first of no process
 *   abort       rank 1 calls PMIx_Abort for rank 2 alone, then for all
 */
#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BOUND_S = 120, OWN_EVENT = PMIX_EXTERNAL_ERR_BASE - 7 };

static pmix_proc_t me, all;
static uint32_t n, mine; /* mine: told of so many failures, this rank fails; 0: never */
static bool fails;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t *told, n_told, n_told_of_spawned, n_nodes_down, n_own_events;

static void wrong(const char *what, pmix_status_t status)
{
    fprintf(stderr, "rank %u: WRONG: %s: %s\n", me.rank, what, PMIx_Error_string(status));
    _exit(1);
}

static void check(const char *what, pmix_status_t status)
{
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
        wrong(what, status);
    }
}

#define CHECK(call) check(#call, call)
#define EXPECT(condition) ((condition) ? (void)0 : wrong(#condition, PMIX_ERROR))

/* ---- events ---- */

/* Its parameters are libpmix's. */
static void rz_pmix_on_event(size_t handler, pmix_status_t code, const pmix_proc_t *source,
                             pmix_info_t info[], size_t n_info, pmix_info_t results[],
                             size_t n_results, pmix_event_notification_cbfunc_fn_t done, void *arg)
{
    (void)handler, (void)source, (void)results, (void)n_results;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; code == PMIX_ERR_PROC_ABORTED && i < n_info; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
            if (PMIX_CHECK_NSPACE(info[i].value.data.proc->nspace, me.nspace)) {
                told[info[i].value.data.proc->rank]++;
                n_told++;
            } else {
                n_told_of_spawned++;
            }
        }
    }
    n_nodes_down += code == PMIX_EVENT_NODE_DOWN;
    n_own_events += code == OWN_EVENT;
    if (fails && n_told >= mine) {
        raise(SIGKILL);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (done) {
        done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, arg);
    }
}

static void listen_to_events(void)
{
    pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_EVENT_NODE_DOWN, OWN_EVENT};
    pmix_status_t handler =
        PMIx_Register_event_handler(codes, 3, NULL, 0, rz_pmix_on_event, NULL, NULL);
    if (handler < 0) { /* a number, or an error */
        wrong("PMIx_Register_event_handler", handler);
    }
}

static void await(const uint32_t *count, uint32_t value)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += BOUND_S;
    pthread_mutex_lock(&lock);
    while (*count < value && pthread_cond_timedwait(&changed, &lock, &until) == 0) {
    }
    pthread_mutex_unlock(&lock);
    if (*count < value) {
        fprintf(stderr, "rank %u: WRONG: told of %u, not of %u\n", me.rank, *count, value);
        _exit(1);
    }
}

static pmix_status_t fence(bool collect)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    return PMIx_Fence(&all, 1, &info, 1);
}

/* ---- services ---- */

static void put(const char *key, uint32_t value)
{
    pmix_value_t v = {.type = PMIX_UINT32, .data.uint32 = value};
    CHECK(PMIx_Put(PMIX_GLOBAL, key, &v));
    CHECK(PMIx_Commit());
}

static uint32_t get_of(const char *nspace, uint32_t rank, const char *key)
{
    pmix_proc_t process;
    pmix_value_t *value;
    PMIX_LOAD_PROCID(&process, nspace, rank);
    pmix_status_t status = PMIx_Get(&process, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS) {
        wrong(key, status);
    }
    uint32_t got = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return got;
}

static uint32_t get(uint32_t rank, const char *key)
{
    return get_of(me.nspace, rank, key);
}

static void data(void)
{
    put("first", 1000 + me.rank);
    CHECK(fence(true));
    for (uint32_t rank = 0; rank < n; rank++) {
        EXPECT(get(rank, "first") == 1000 + rank);
    }
    put("second", 2000 + me.rank); /* without the data: each asks for what it needs */
    CHECK(fence(false));
    for (uint32_t rank = 0; rank < n; rank++) {
        EXPECT(get(rank, "second") == 2000 + rank);
    }
    CHECK(fence(false));
}

static void job_data(void)
{
    pmix_value_t *value;
    char *nodes;
    pmix_proc_t *peers;
    size_t n_peers, n_all = 0;
    CHECK(PMIx_Get(&all, PMIX_UNIV_SIZE, NULL, 0, &value));
    EXPECT(value->data.uint32 > n); /* and processes that can be spawned */
    PMIX_VALUE_RELEASE(value);
    CHECK(PMIx_Get(&me, PMIX_LOCAL_RANK, NULL, 0, &value));
    EXPECT(value->data.uint16 < n);
    PMIX_VALUE_RELEASE(value);
    CHECK(PMIx_Resolve_nodes(me.nspace, &nodes));
    for (char *save, *node = strtok_r(nodes, ",", &save); node; node = strtok_r(NULL, ",", &save)) {
        CHECK(PMIx_Resolve_peers(node, me.nspace, &peers, &n_peers));
        n_all += n_peers;
        free(peers);
    }
    free(nodes);
    EXPECT(n_all == n);
}

static void publish(const char *key, uint32_t value, pmix_status_t expected)
{
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, key, &value, PMIX_UINT32);
    pmix_status_t status = PMIx_Publish(&info, 1);
    if (status != expected && !(expected == PMIX_SUCCESS && status == PMIX_OPERATION_SUCCEEDED)) {
        wrong(key, status);
    }
}

static void names(void)
{
    pmix_pdata_t found;
    pmix_info_t wait[2];
    int all_of_them = 0, timeout = BOUND_S;
    char own[32], *gone[] = {"port", NULL};
    PMIX_INFO_LOAD(&wait[0], PMIX_WAIT, &all_of_them, PMIX_INT);
    PMIX_INFO_LOAD(&wait[1], PMIX_TIMEOUT, &timeout, PMIX_INT);
    if (me.rank == 0) {
        publish("port", 77, PMIX_SUCCESS);
    }
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "port");
    CHECK(PMIx_Lookup(&found, 1, wait, 2)); /* before it is published, too */
    EXPECT(found.value.data.uint32 == 77 && found.proc.rank == 0);
    PMIX_PDATA_DESTRUCT(&found);
    if (me.rank == n - 1) {
        publish("port", 78, PMIX_ERR_DUPLICATE_KEY);
    }
    snprintf(own, sizeof(own), "of-%u", me.rank);
    publish(own, me.rank, PMIX_SUCCESS);
    CHECK(fence(false));
    for (uint32_t rank = 0; rank < n; rank++) { /* published: known everywhere */
        PMIX_PDATA_CONSTRUCT(&found);
        snprintf(found.key, sizeof(found.key), "of-%u", rank);
        CHECK(PMIx_Lookup(&found, 1, NULL, 0));
        EXPECT(found.value.data.uint32 == rank);
        PMIX_PDATA_DESTRUCT(&found);
    }
    if (me.rank == 0) {
        CHECK(PMIx_Unpublish(gone, NULL, 0));
    }
    CHECK(fence(false));
    PMIX_PDATA_CONSTRUCT(&found);
    PMIX_LOAD_KEY(found.key, "port");
    EXPECT(PMIx_Lookup(&found, 1, NULL, 0) == PMIX_ERR_NOT_FOUND);
    int second = 1;
    PMIX_INFO_LOAD(&wait[1], PMIX_TIMEOUT, &second, PMIX_INT);
    EXPECT(PMIx_Lookup(&found, 1, wait, 2) == PMIX_ERR_TIMEOUT);
    CHECK(fence(false));
}

static void queries(void)
{
    pmix_query_t query;
    pmix_info_t *info;
    size_t n_info;
    char *keys[] = {PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE, "rhizome.failed.procs", NULL};
    PMIX_QUERY_CONSTRUCT(&query);
    query.keys = keys;
    CHECK(PMIx_Query_info(&query, 1, &info, &n_info));
    EXPECT(n_info == 3);
    for (size_t i = 0; i < n_info; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_QUERY_NAMESPACES)) {
            EXPECT(strcmp(info[i].value.data.string, me.nspace) == 0);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_QUERY_PROC_TABLE)) {
            const pmix_proc_info_t *table = info[i].value.data.darray->array;
            EXPECT(info[i].value.data.darray->size == n);
            EXPECT(table[me.rank].proc.rank == me.rank && table[me.rank].pid == getpid());
        } else {
            EXPECT(info[i].value.data.darray->size == 0);
        }
    }
    PMIX_INFO_FREE(info, n_info);
}

static void groups(void)
{
    pmix_info_t want, *got = NULL;
    size_t n_got = 0, number = 0;
    bool yes = true;
    CHECK(PMIx_Connect(&all, 1, NULL, 0));
    CHECK(PMIx_Disconnect(&all, 1, NULL, 0));
    PMIX_INFO_LOAD(&want, PMIX_GROUP_ASSIGN_CONTEXT_ID, &yes, PMIX_BOOL);
    for (int i = 0; i < 2; i++) {
        CHECK(PMIx_Group_construct(i ? "second" : "first", &all, 1, &want, 1, &got, &n_got));
        for (size_t k = 0; k < n_got; k++) {
            if (PMIX_CHECK_KEY(&got[k], PMIX_GROUP_CONTEXT_ID)) {
                EXPECT(got[k].value.data.size != 0 && got[k].value.data.size != number);
                number = got[k].value.data.size;
            }
        }
        EXPECT(number != 0);
        put(i ? "number 2" : "number 1", (uint32_t)number);
        CHECK(fence(true));
        EXPECT(get(0, i ? "number 2" : "number 1") == (uint32_t)number);
    }
    CHECK(PMIx_Group_destruct("first", NULL, 0));
    CHECK(PMIx_Group_destruct("second", NULL, 0));
}

static void own_events(void)
{
    pmix_info_t info;
    bool yes = true;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    CHECK(fence(false));
    CHECK(PMIx_Notify_event(OWN_EVENT, &me, PMIX_RANGE_NAMESPACE, &info, 1, NULL, NULL));
    await(&n_own_events, n - 1); /* of all others, and perhaps its own */
    CHECK(fence(false));
    EXPECT(n_own_events <= n);
}

/* ---- spawned processes ---- */

enum { CHILDREN = 3 };

/* Two programs, of one process and of two. */
static void spawn_children(const char *program, const char *mode, pmix_nspace_t nspace)
{
    pmix_app_t apps[2];
    char *arguments[] = {(char *)program, (char *)mode, NULL}, *environment[] = {"GIVEN=7", NULL};
    for (int i = 0; i < 2; i++) {
        PMIX_APP_CONSTRUCT(&apps[i]);
        apps[i].cmd = (char *)program;
        apps[i].argv = arguments;
        apps[i].env = environment;
        apps[i].maxprocs = 1 + i;
        apps[i].cwd = "/";
    }
    CHECK(PMIx_Spawn(NULL, 0, apps, 2, nspace));
}

/* An operation with a failed participant: libpmix's server may have seen its end before or after
 * the others came. */
static void ends(pmix_status_t status)
{
    EXPECT(status == PMIX_SUCCESS || status == PMIX_ERR_LOST_CONNECTION);
}

/* All parents, and all of the spawned ones. */
static void both_sides(pmix_proc_t sides[2], const char *parents, const char *children)
{
    PMIX_LOAD_PROCID(&sides[0], parents, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&sides[1], children, PMIX_RANK_WILDCARD);
}

static void spawn(const char *program, const char *mode)
{
    pmix_nspace_t nspace;
    pmix_value_t *value, own = {.type = PMIX_STRING};
    pmix_proc_t sides[2], root;
    static int round;
    char key[32];
    snprintf(key, sizeof(key), "spawned %d", round++);
    if (me.rank == 0) {
        spawn_children(program, mode, nspace);
        own.data.string = nspace;
        CHECK(PMIx_Put(PMIX_GLOBAL, key, &own));
        CHECK(PMIx_Commit());
    }
    put("of a parent", 100 + me.rank);
    CHECK(fence(true));
    PMIX_LOAD_PROCID(&root, me.nspace, 0);
    CHECK(PMIx_Get(&root, key, NULL, 0, &value));
    both_sides(sides, me.nspace, value->data.string);
    PMIX_VALUE_RELEASE(value);
    CHECK(PMIx_Connect(sides, 2, NULL, 0));
    for (uint32_t rank = 0; rank < CHILDREN; rank++) {
        EXPECT(get_of(sides[1].nspace, rank, "of a child") == 200 + rank);
    }
    if (strcmp(mode, "child") == 0) {
        CHECK(PMIx_Disconnect(sides, 2, NULL, 0));
    } else {
        await(&n_told_of_spawned, 1);
        ends(PMIx_Disconnect(sides, 2, NULL, 0));
    }
}

static void child(bool one_fails)
{
    pmix_value_t *value;
    pmix_proc_t sides[2], parent;
    char folder[8];
    EXPECT(n == CHILDREN && getenv("GIVEN") && strcmp(getenv("GIVEN"), "7") == 0);
    EXPECT(getcwd(folder, sizeof(folder)) && strcmp(folder, "/") == 0);
    CHECK(PMIx_Get(&me, PMIX_APPNUM, NULL, 0, &value));
    EXPECT(value->data.uint32 == (me.rank > 0));
    PMIX_VALUE_RELEASE(value);
    CHECK(PMIx_Get(&all, PMIX_PARENT_ID, NULL, 0, &value));
    parent = *value->data.proc;
    PMIX_VALUE_RELEASE(value);
    EXPECT(parent.rank == 0 && !PMIX_CHECK_NSPACE(parent.nspace, me.nspace));
    put("of a child", 200 + me.rank);
    CHECK(fence(true));
    EXPECT(get(CHILDREN - 1, "of a child") == 200 + CHILDREN - 1);
    both_sides(sides, parent.nspace, me.nspace);
    CHECK(PMIx_Connect(sides, 2, NULL, 0));
    EXPECT(get_of(parent.nspace, 0, "of a parent") == 100);
    if (one_fails && me.rank == 0) {
        sleep(1); /* the others wait by now, most likely */
        raise(SIGKILL);
    }
    if (one_fails) {
        await(&n_told, 1);
        ends(PMIx_Disconnect(sides, 2, NULL, 0));
    } else {
        CHECK(PMIx_Disconnect(sides, 2, NULL, 0));
    }
}

/* A child of a storm: in order, or not. */
static void brief(char **argv)
{
    unsigned seed = (unsigned)getpid();
    uint32_t how = (uint32_t)rand_r(&seed) % 4;
    (void)argv;
    if (how == 0) {
        raise(SIGKILL);
    }
    fence(true);
    if (how == 1) {
        raise(SIGKILL);
    }
}

static void storm(const char *program, int times)
{
    pmix_nspace_t nspace;
    for (int i = 0; i < times && me.rank == 0; i++) {
        spawn_children(program, "brief", nspace);
    }
    fence(false);
    printf("rank %u: %d times\n", me.rank, times);
}

static void spawns(const char *program, int times)
{
    for (int i = 0; i < times; i++) {
        spawn(program, "child");
    }
    CHECK(fence(false));
    printf("rank %u: %d times\n", me.rank, times);
}

static void services(char **argv)
{
    (void)argv;
    job_data();
    data();
    names();
    queries();
    groups();
    own_events();
    CHECK(fence(false));
    if (me.rank == 0) {
        printf("services: all correct\n");
    }
}

/* ---- failures ---- */

/* The place of each rank below n_victims in the order of their ends. */
static uint32_t place_of(uint32_t rank, uint32_t n_victims, unsigned seed)
{
    uint32_t *order = malloc((n_victims + 1) * sizeof(*order)), place = 0;
    for (uint32_t i = 0; i < n_victims; i++) {
        order[i] = i;
    }
    for (uint32_t i = n_victims; i > 1; i--) {
        uint32_t k = (uint32_t)rand_r(&seed) % i, other = order[k];
        order[k] = order[i - 1];
        order[i - 1] = other;
    }
    while (place < n_victims && order[place] != rank) {
        place++;
    }
    free(order);
    return place;
}

static void chain(unsigned seed, uint32_t survivors)
{
    uint32_t n_victims = n - survivors, wrong_counts = 0;
    pthread_mutex_lock(&lock);
    fails = me.rank < n_victims;
    mine = place_of(me.rank, n_victims, seed);
    pthread_mutex_unlock(&lock);
    CHECK(fence(false));
    if (fails && mine == 0) {
        raise(SIGKILL);
    }
    await(&n_told, n_victims);
    /* The others are past that, too; what comes twice has come by now. */
    pmix_status_t status = fence(false);
    EXPECT(status == PMIX_SUCCESS || status == PMIX_ERR_LOST_CONNECTION);
    for (uint32_t rank = 0; rank < n; rank++) {
        wrong_counts += told[rank] != (rank < n_victims);
    }
    EXPECT(wrong_counts == 0);
    printf("rank %u: told of %u failures, of each once\n", me.rank, n_victims);
}

static void lost(char **argv)
{
    pmix_value_t *value;
    pmix_proc_t victim;
    (void)argv;
    PMIX_LOAD_PROCID(&victim, me.nspace, 1);
    CHECK(fence(false));
    if (me.rank == 1) {
        sleep(1); /* the others wait by now, most likely */
        raise(SIGKILL);
    }
    if (me.rank == n - 1) { /* on another node */
        EXPECT(PMIx_Get(&victim, "never", NULL, 0, &value) != PMIX_SUCCESS);
    }
    EXPECT(fence(false) != PMIX_SUCCESS);
    await(&n_told, 1);
    printf("rank %u: the fence has ended\n", me.rank);
}

static void abort_some(char **argv)
{
    pmix_proc_t victim;
    (void)argv;
    PMIX_LOAD_PROCID(&victim, me.nspace, 2);
    CHECK(fence(false));
    if (me.rank == 1) {
        PMIx_Abort(5, "rank 2 is not needed", &victim, 1);
        await(&n_told, 1);
        printf("told of the end of rank 2: %u\n", told[2]);
        fflush(stdout);
        PMIx_Abort(6, "all is done", NULL, 0);
    }
    sleep(BOUND_S);
}

/* ---- modes ---- */

static void say_ready(void)
{
    CHECK(fence(false));
    if (me.rank == 0) {
        printf("ready\n");
    }
}

static void run_chain(char **argv)
{
    chain((unsigned)atoi(argv[2]), (uint32_t)atoi(argv[3]));
}

static void run_wait(char **argv)
{
    say_ready();
    await(&n_told, (uint32_t)atoi(argv[2]));
    printf("rank %u: told of %u, %u nodes\n", me.rank, n_told, n_nodes_down);
}

static void run_deaf(char **argv)
{
    (void)argv;
    say_ready();
    sleep(BOUND_S);
}

static void run_fences(char **argv)
{
    say_ready();
    await(&n_told, (uint32_t)atoi(argv[2]));
    fence(false);
    fence(true);
    if (me.rank == n - 1) {
        publish("after", me.rank, PMIX_SUCCESS);
    }
    printf("all fences have ended\n");
}

static void run_once(char **argv)
{
    CHECK(fence(false));
    if (me.rank == 1 && open(argv[2], O_CREAT | O_EXCL, 0600) >= 0) {
        raise(SIGKILL);
    }
    fence(false);
    if (me.rank == 1) {
        printf("all fences have ended\n");
    }
}

static void run_leaves(char **argv)
{
    (void)argv;
    CHECK(fence(false));
    if (me.rank != n - 1) {
        EXPECT(fence(false) == PMIX_ERR_LOST_CONNECTION);
        printf("the fence has ended\n");
    }
}

static void run_spawn(char **argv)
{
    spawns(argv[0], atoi(argv[2]));
}

static void run_spawn_fails(char **argv)
{
    spawn(argv[0], "failing-child");
    printf("rank %u: told of %u\n", me.rank, n_told_of_spawned);
}

static void run_storm(char **argv)
{
    storm(argv[0], atoi(argv[2]));
}

static void run_spawn_nothing(char **argv)
{
    pmix_nspace_t nspace;
    (void)argv;
    spawn_children("/no/such/program", "", nspace);
    sleep(BOUND_S);
}

static void run_spawn_many(char **argv)
{
    pmix_nspace_t nspace;
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = argv[0];
    app.maxprocs = 1000;
    printf("%s\n", PMIx_Error_string(PMIx_Spawn(NULL, 0, &app, 1, nspace)));
}

static void run_spawn_zero(char **argv)
{
    pmix_nspace_t nspace;
    pmix_app_t apps[2];
    char *arguments[] = {argv[0], "brief-child", NULL};
    for (int i = 0; i < 2; i++) {
        PMIX_APP_CONSTRUCT(&apps[i]);
        apps[i].cmd = argv[0];
        apps[i].argv = arguments;
        apps[i].maxprocs = i;
    }
    CHECK(PMIx_Spawn(NULL, 0, apps, 2, nspace));
}

static void run_brief_child(char **argv)
{
    pmix_value_t *value;
    (void)argv;
    CHECK(PMIx_Get(&me, PMIX_APPNUM, NULL, 0, &value));
    printf("%u of %u: program %u\n", me.rank, n, value->data.uint32);
    PMIX_VALUE_RELEASE(value);
}

static void run_child(char **argv)
{
    child(strcmp(argv[1], "child") != 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(char **argv);
    } modes[] = {{"services", services},
                 {"chain", run_chain},
                 {"wait", run_wait},
                 {"deaf", run_deaf},
                 {"fences", run_fences},
                 {"once", run_once},
                 {"leaves", run_leaves},
                 {"lost", lost},
                 {"abort", abort_some},
                 {"spawn", run_spawn},
                 {"spawn-fails", run_spawn_fails},
                 {"spawn-nothing", run_spawn_nothing},
                 {"spawn-many", run_spawn_many},
                 {"spawn-zero", run_spawn_zero},
                 {"brief-child", run_brief_child},
                 {"storm", run_storm},
                 {"child", run_child},
                 {"failing-child", run_child},
                 {"brief", brief}};
    const char *what = argc > 1 ? argv[1] : "services";
    pmix_value_t *value;
    setvbuf(stdout, NULL, _IOLBF, 0);
    CHECK(PMIx_Init(&me, NULL, 0));
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    CHECK(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
    n = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    told = calloc(n, sizeof(*told));
    if (strcmp(what, "deaf") != 0) {
        listen_to_events();
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
        if (strcmp(what, modes[i].name) == 0) {
            modes[i].run(argv);
        }
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
