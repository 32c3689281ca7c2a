/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreement under random kills: agree_kills SEED FILE [ROUNDS]. In each round some of the ranks, or
 * all of a node with their daemon, fail in, before or after an agreement of the members of a
 * communicator, and the others continue without them, until one is left; or, with ROUNDS, with new
 * processes in their places, this number of times.
 *
 * Each process writes its results into FILE, which all processes of the job map: the comparison
 * (agree_kills.py) needs no messages. The seed determines which processes fail, when, and in which
 * call; AGREE_KILLS_KIND=N makes all rounds of one kind.
 */
#include "../mpi/ulfm.h"

#include <fcntl.h>
#include <mpi-ext.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

enum {
    SEATS = 32,
    ROUNDS_MAX = 64,
    NOTES_MAX = 16,
    CALLS_MAX = 6,
    COLLECTIVES = 9,
    LAST = 99,
    TAG = 7
};

/* As agree_kills.py reads it. */
enum what { NOTHING, BEGUN, AGREE, SHRINK, FAILED, UNIFORM, LEFT_OUT };

struct note {
    _Atomic uint32_t what;      /* written last */
    uint32_t class, flag, kind; /* flag: BEGUN: incarnation */
    uint64_t seats; /* BEGUN: of the communicator; AGREE: the process with these flags; else: of the
                       result */
    uint64_t known; /* AGREE: of those that get_failed names then */
};

static struct note (*page)[SEATS][NOTES_MAX];

static uint64_t job_seed;
static int n_rounds; /* 0: until one is left */
static int n_played; /* or up to this number: then MPI_Finalize, and no process waits for another */
static int number, n_notes;
static unsigned kind;
static MPI_Comm comm; /* of the survivors */
static int rank, size, seat;
static int seats[SEATS], n_seats; /* by rank in comm; none ever changes */
static int node_of[SEATS];        /* by seat: the first seat of its node */

/* ---- Chance: alike at all members, but for what the seat is mixed into ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + b * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x632be59bd9b4e019);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

struct dice {
    uint64_t seed, thrown;
};

static struct dice dice_of(uint64_t whose)
{
    return (struct dice){.seed = mix(mix(job_seed, (uint64_t)number), whose)};
}

static unsigned draw(struct dice *dice, unsigned below)
{
    return (unsigned)(mix(dice->seed, ++dice->thrown) % below);
}

/* ---- Results ---- */

static uint64_t bit(int one)
{
    return UINT64_C(1) << one;
}

static uint64_t seats_of(MPI_Group group)
{
    MPI_Group base;
    uint64_t set = 0;
    int n, from[SEATS], to[SEATS];
    MPI_Comm_group(comm, &base);
    MPI_Group_size(group, &n);
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Group_translate_ranks(group, n, from, base, to);
    MPI_Group_free(&base);
    for (int i = 0; i < n; i++) {
        CHECK(to[i] != MPI_UNDEFINED);
        set |= bit(seats[to[i]]);
    }
    return set;
}

/* Of all members, or of those with flags that an agreement combines. */
static uint64_t members_of(MPI_Comm one, bool whose_flags)
{
    MPI_Group group;
    uint64_t set = 0;
    int inter;
    MPI_Comm_test_inter(one, &inter);
    if (inter) {
        MPI_Comm_remote_group(one, &group);
        set = seats_of(group);
        MPI_Group_free(&group);
    }
    if (!inter || !whose_flags) {
        MPI_Comm_group(one, &group);
        set |= seats_of(group);
        MPI_Group_free(&group);
    }
    return set;
}

static uint64_t failed_of(MPI_Comm one)
{
    MPI_Group group;
    CHECK(MPIX_Comm_get_failed(one, &group) == MPI_SUCCESS);
    uint64_t set = seats_of(group);
    MPI_Group_free(&group);
    return set;
}

static void note(enum what what, int error, int flag, uint64_t told, uint64_t known)
{
    CHECK(n_notes < NOTES_MAX);
    struct note *note = &page[number][seat][n_notes++];
    note->class = (uint32_t)class_of(error);
    note->flag = (uint32_t)flag;
    note->kind = kind;
    note->seats = told;
    note->known = known;
    atomic_store_explicit(&note->what, what, memory_order_release);
}

/* ---- Calls ---- */

struct call {
    enum what what;
    MPI_Comm in, made;
    MPI_Group group;
    int flag;
    uint64_t whose; /* while the communicator is there */
    MPI_Request request;
};

static struct call call_of(enum what what, MPI_Comm in)
{
    return (struct call){.what = what,
                         .in = in,
                         .made = MPI_COMM_NULL,
                         .group = MPI_GROUP_NULL,
                         .flag = (int)~(UINT32_C(1) << seat),
                         .whose = members_of(in, true)};
}

static int block(struct call *call)
{
    return call->what == AGREE    ? MPIX_Comm_agree(call->in, &call->flag)
           : call->what == SHRINK ? MPIX_Comm_shrink(call->in, &call->made)
                                  : MPIX_Comm_agree_failed(call->in, &call->group);
}

static void begin(struct call *call)
{
    int error = call->what == AGREE ? MPIX_Comm_iagree(call->in, &call->flag, &call->request)
                : call->what == SHRINK
                    ? MPIX_Comm_ishrink(call->in, &call->made, &call->request)
                    : MPIX_Comm_iagree_failed(call->in, &call->group, &call->request);
    CHECK(error == MPI_SUCCESS);
}

/* freed: its communicator was. */
static void ended(struct call *call, int error, bool freed)
{
    uint64_t told = 0;
    if (call->what == AGREE) {
        note(AGREE, error, call->flag, call->whose, freed ? UINT64_MAX : failed_of(call->in));
        return;
    }
    CHECK(error == MPI_SUCCESS);
    if (call->what == FAILED) {
        told = seats_of(call->group);
        MPI_Group_free(&call->group);
    } else if (call->made != MPI_COMM_NULL) {
        told = members_of(call->made, false);
        MPI_Comm_free(&call->made);
    }
    note(call->what, error, 0, told, 0);
}

static void do_one(enum what what, MPI_Comm in)
{
    struct call call = call_of(what, in);
    int error = block(&call);
    ended(&call, error, false);
}

/* Begun already, n of them; they end in some order, or all together. */
static void end_all(struct call *calls, int n, bool freed)
{
    struct dice dice = dice_of(100 + (uint64_t)seat);
    MPI_Request requests[CALLS_MAX];
    MPI_Status statuses[CALLS_MAX];
    int errors[CALLS_MAX];
    unsigned how = draw(&dice, 3);
    for (int i = 0; i < n; i++) {
        requests[i] = calls[i].request;
    }
    if (how == 2) {
        int all = MPI_Waitall(n, requests, statuses);
        CHECK(all == MPI_SUCCESS || class_of(all) == MPI_ERR_IN_STATUS);
        for (int i = 0; i < n; i++) {
            errors[i] = all == MPI_SUCCESS ? all : statuses[i].MPI_ERROR;
            if (class_of(errors[i]) == MPI_ERR_PENDING) { /* another one has failed */
                errors[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            }
        }
    }
    for (int i = 0; i < n && how < 2; i++) {
        int at = how == 0 ? i : n - 1 - i;
        errors[at] = MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++) {
        ended(&calls[i], errors[i], freed);
    }
}

static void begin_one(struct call *calls, int *n, enum what what, MPI_Comm in)
{
    calls[*n] = call_of(what, in);
    begin(&calls[(*n)++]);
}

/* ---- Kinds of rounds: each in a communicator of its own, `one` ---- */

static void agrees(MPI_Comm one)
{
    do_one(AGREE, one);
    do_one(AGREE, one);
}

/* A process that knows of a failure acknowledges it before; rarely all the same ones. */
static void acknowledges(MPI_Comm one)
{
    int acked;
    for (int i = 0; i < 3; i++) {
        CHECK(MPIX_Comm_ack_failed(one, size, &acked) == MPI_SUCCESS);
        do_one(AGREE, one);
    }
}

static void many_at_a_time(MPI_Comm one)
{
    struct dice dice = dice_of(1);
    struct call calls[CALLS_MAX];
    int n = 0;
    for (int left = 2 + (int)draw(&dice, CALLS_MAX - 1); left > 0; left--) {
        begin_one(calls, &n, AGREE + draw(&dice, 3), one);
    }
    end_all(calls, n, false);
}

static void freed_under_way(MPI_Comm one)
{
    struct dice dice = dice_of(2);
    struct call calls[CALLS_MAX];
    MPI_Comm copy;
    int n = 0;
    CHECK(MPIX_Comm_shrink(one, &copy) == MPI_SUCCESS); /* may have failed in it */
    for (int left = 1 + (int)draw(&dice, 3); left > 0; left--) {
        begin_one(calls, &n, AGREE + draw(&dice, 3), copy);
    }
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    end_all(calls, n, true);
}

static void lists(MPI_Comm one)
{
    do_one(FAILED, one);
    do_one(AGREE, one);
    do_one(FAILED, one);
}

static void shrinks(MPI_Comm one)
{
    do_one(SHRINK, one);
    do_one(SHRINK, one);
}

static void revoked(MPI_Comm one)
{
    struct dice dice = dice_of(3);
    if (rank == (int)draw(&dice, (unsigned)size)) {
        CHECK(MPIX_Comm_revoke(one) == MPI_SUCCESS);
    }
    do_one(AGREE, one);
    do_one(SHRINK, one);
}

static void with_pause(MPI_Comm one)
{
    struct dice dice = dice_of(200 + (uint64_t)seat);
    do_one(AGREE, one);
    nanosleep(&(struct timespec){.tv_nsec = (long)draw(&dice, 8) * 1000000}, NULL);
    do_one(AGREE, one);
    do_one(FAILED, one);
}

/* Some agree in the one first, others in the other one. */
static void set_engine(MPI_Comm one, unsigned engine);

static void two_at_a_time(MPI_Comm one)
{
    struct dice dice = dice_of(4);
    struct call calls[4];
    MPI_Comm other;
    CHECK(MPIX_Comm_shrink(comm, &other) == MPI_SUCCESS);
    set_engine(other, draw(&dice, 5));
    for (int i = 0; i < 4; i++) {
        int at = seat % 2 == 0 ? i : i ^ 1; /* requests write where they were begun */
        calls[at] = call_of(i < 2 ? AGREE : SHRINK, at % 2 == 0 ? one : other);
        begin(&calls[at]);
    }
    end_all(calls, 4, false);
    MPI_Comm_free(&other);
}

static int persistent(MPI_Comm one)
{
    int mine = 1, sum;
    MPI_Request request;
    int error = MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, one, MPI_INFO_NULL, &request);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = MPI_Start(&request);
    error = error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    return error;
}

static int collective(MPI_Comm one, unsigned form)
{
    int mine = 1, sum, error;
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request request;
    switch (form) {
    case 0:
        return MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, one);
    case 1:
        return MPI_Barrier(one);
    case 2:
        return persistent(one);
    case 3:
        error = MPI_Ibcast(&mine, 1, MPI_INT, 0, one, &request);
        break;
    case 4:
        error = MPI_Comm_idup(one, &copy, &request);
        break;
    default:
        error = MPI_Comm_split(one, 0, 0, &copy);
    }
    if (form < 5 && error == MPI_SUCCESS) {
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (error == MPI_SUCCESS && copy != MPI_COMM_NULL) {
        MPI_Comm_free(&copy);
    }
    return error;
}

/* Every collective operation returns the same at all members, also if one of them revokes the
 * communicator and omits the rest. */
static void uniform(MPI_Comm one)
{
    struct dice dice = dice_of(5);
    int leaver = (int)draw(&dice, 2 * (unsigned)size);
    unsigned end = draw(&dice, COLLECTIVES);
    for (unsigned i = 0; i < COLLECTIVES; i++) {
        unsigned form = draw(&dice, 6);
        if (rank == leaver && i == end) {
            CHECK(MPIX_Comm_revoke(one) == MPI_SUCCESS);
        }
        if (rank == leaver && i >= end) {
            note(LEFT_OUT, MPI_SUCCESS, 0, 0, 0);
        } else {
            note(UNIFORM, collective(one, form), 0, 0, 0);
        }
    }
    do_one(AGREE, one);
}

static void bridge(MPI_Comm one)
{
    struct call calls[3];
    int n = 0;
    begin_one(calls, &n, AGREE, one);
    begin_one(calls, &n, FAILED, one);
    begin_one(calls, &n, AGREE, one);
    end_all(calls, n, false);
    do_one(AGREE, one);
    do_one(SHRINK, one);
}

static const struct {
    void (*run)(MPI_Comm one);
    bool inter, uniform;
} kinds[] = {
    {agrees, false, false},          {acknowledges, false, false}, {many_at_a_time, false, false},
    {freed_under_way, false, false}, {lists, false, false},        {shrinks, false, false},
    {revoked, false, false},         {with_pause, false, false},   {two_at_a_time, false, false},
    {uniform, false, true},          {bridge, true, false}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- The communicator of a round: made before any process may fail ---- */

static void set_info(MPI_Comm one, const char *key, const char *value)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    CHECK(MPI_Comm_set_info(one, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

static void set_engine(MPI_Comm one, unsigned engine)
{
    static const char *const engines[] = {"era", "twophase", "gossip1", "gossip2", "gossip3"};
    set_info(one, "rz_agree", engines[engine]);
}

static MPI_Comm inter_of(MPI_Comm both)
{
    MPI_Comm half, inter;
    int half_size = size / 2, low = rank < half_size;
    CHECK(MPI_Comm_split(both, low, rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, both, low ? half_size : 0, TAG, &inter) == MPI_SUCCESS);
    MPI_Comm_free(&half);
    return inter;
}

static MPI_Comm make(struct dice *dice)
{
    MPI_Comm copy, inter;
    unsigned engine = draw(dice, 10);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
    if (kinds[kind].inter) {
        inter = inter_of(copy);
        MPI_Comm_free(&copy);
        copy = inter;
    }
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    set_engine(copy, engine < 5 ? engine : engine < 8 ? 0 : 1);
    if (kinds[kind].uniform) {
        set_info(copy, "mpi_error_uniform", "coll");
    }
    return copy;
}

/* ---- Failures ---- */

static bool takes_daemon;

/* A process that ends the daemon ends all ranks of its node. */
static void crash(void)
{
    if (takes_daemon) {
        kill(getppid(), SIGKILL);
    }
    raise(SIGKILL);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    crash();
}

/* Of the ranks that others hang below a fair part. */
static uint64_t victims(struct dice *dice)
{
    unsigned much = draw(dice, 20);
    int n = much < 12 ? 1 : much < 17 ? 2 : much < 19 ? 3 : 1 + size / 3;
    uint64_t chosen = 0;
    for (n = n < size ? n : size - 1; n > 0;) {
        int victim = (int)draw(dice, draw(dice, 2) == 0 && size > 3 ? 3 : (unsigned)size);
        n -= (chosen & bit(victim)) == 0;
        chosen |= bit(victim);
    }
    return chosen;
}

static uint64_t ranks_beside(int one)
{
    uint64_t found = 0;
    for (int i = 0; i < size; i++) {
        found |= node_of[seats[i]] == node_of[seats[one]] ? bit(i) : 0;
    }
    return found;
}

/* Of several nodes now and then a whole one goes; *killer: the rank that takes it along, or -1. */
static uint64_t victims_or_node(struct dice *dice, int *killer)
{
    uint64_t some = victims(dice);
    int one = (int)draw(dice, (unsigned)size);
    bool whole = draw(dice, 6) == 0 && n_rounds == 0 && ranks_beside(one) != bit(size) - 1;
    *killer = whole ? one : -1;
    return whole ? ranks_beside(one) : some;
}

static void fail_at_once_or_in_time(void)
{
    struct dice dice = dice_of(500);
    unsigned us = draw(&dice, 4000);
    struct itimerval when = {{0, 0}, {0, (int)us}};
    if (us < 300) {
        crash();
    } else if (us < 3700) {
        CHECK(signal(SIGALRM, on_alarm) != SIG_ERR && setitimer(ITIMER_REAL, &when, NULL) == 0);
    }
}

static void prepare_to_fail(void)
{
    static const char *const points[] = {
        "protocol-message", "protocol-message", "read",      "step", "step",
        "decided",          "gossip",           "ring-write"};
    struct dice dice = dice_of(300 + (uint64_t)seat);
    unsigned how = draw(&dice, 10);
    if (how < 6) {
        const char *point = points[draw(&dice, sizeof(points) / sizeof(points[0]))];
        fail_at_point(point, 1 + draw(&dice, strcmp(point, "decided") == 0 ? 4 : 14));
    } else if (how < 9) {
        struct itimerval when = {{0, 0}, {0, 1 + (int)draw(&dice, 3000)}};
        CHECK(signal(SIGALRM, on_alarm) != SIG_ERR && setitimer(ITIMER_REAL, &when, NULL) == 0);
    }
}

static void come_late(void)
{
    struct dice dice = dice_of(400 + (uint64_t)seat);
    if (draw(&dice, 4) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = (long)draw(&dice, 4000) * 1000}, NULL);
    }
}

/* ---- Rounds ---- */

static void look_at_comm(void)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* Of comm's seats those that are left; how many. */
static int forget(uint64_t failed)
{
    n_seats = 0;
    for (int i = 0; i < size; i++) {
        if ((failed & bit(i)) == 0) {
            seats[n_seats++] = seats[i];
        }
    }
    return n_seats;
}

/* The others continue with the survivors, or with new processes in place of the failed ones. */
static void go_on(uint64_t failed)
{
    MPI_Comm next;
    int left = forget(failed);
    if (n_rounds > 0) {
        CHECK(RZ_Comm_replace(comm, &next) == MPI_SUCCESS);
        for (left = 0; left < size; left++) {
            seats[left] = left;
        }
        n_seats = size;
    } else {
        CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
    }
    MPI_Comm_free(&comm);
    comm = next;
    look_at_comm();
    CHECK(size == left && seats[rank] == seat);
}

static void begin_round(void)
{
    uint64_t all = 0;
    int incarnation;
    n_notes = 0;
    RZ_Incarnation(&incarnation);
    for (int i = 0; i < n_seats; i++) {
        all |= bit(seats[i]);
    }
    note(BEGUN, MPI_SUCCESS, incarnation, all, 0);
}

static void play(void)
{
    struct dice dice = dice_of(0);
    const char *wanted = getenv("AGREE_KILLS_KIND");
    kind = draw(&dice, KINDS);
    kind = wanted ? (unsigned)atoi(wanted) % KINDS : kind;
    kind = size < 4 && kinds[kind].inter ? 0 : kind;
    begin_round();
    MPI_Comm one = make(&dice);
    int flag = 1, killer;
    uint64_t failed = victims_or_node(&dice, &killer);
    bool fails = (failed & bit(rank)) != 0;
    MPIX_Comm_agree(comm, &flag); /* a process that returns knows that all have arrived here */
    takes_daemon = rank == killer;
    if (takes_daemon) {
        fail_at_once_or_in_time();
    } else if (fails && killer < 0) {
        prepare_to_fail();
    } else {
        come_late();
    }
    kinds[kind].run(one);
    if (fails && (takes_daemon || killer < 0)) {
        crash();
    }
    if (fails) {
        pause(); /* until the daemon has ended */
    }
    MPI_Comm_free(&one);
    if (number + 1 == n_played) {
        forget(failed);
    } else {
        go_on(failed);
    }
}

/* Before any process fails. */
static void look_at_nodes(void)
{
    MPI_Comm node;
    int first = rank;
    CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) ==
          MPI_SUCCESS);
    CHECK(MPI_Bcast(&first, 1, MPI_INT, 0, node) == MPI_SUCCESS);
    MPI_Comm_free(&node);
    CHECK(MPI_Allgather(&first, 1, MPI_INT, node_of, 1, MPI_INT, comm) == MPI_SUCCESS);
}

/* A replacement process learns the number of the round. */
static void agree_on_number(void)
{
    int mine = number;
    CHECK(MPI_Allreduce(&mine, &number, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS);
}

static void join(void)
{
    int incarnation;
    RZ_Incarnation(&incarnation);
    if (incarnation > 1) {
        CHECK(RZ_Comm_replace(MPI_COMM_NULL, &comm) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    look_at_comm();
    SO(size <= SEATS);
    for (int i = 0; i < size; i++) {
        seats[i] = i;
    }
    n_seats = size;
    seat = rank;
    agree_on_number();
    if (n_rounds == 0) {
        look_at_nodes();
    }
}

static void map_page(const char *file)
{
    size_t bytes = sizeof(struct note[ROUNDS_MAX][SEATS][NOTES_MAX]);
    int fd = open(file, O_RDWR);
    SO(fd >= 0 && lseek(fd, 0, SEEK_END) == (off_t)bytes);
    page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    SO(page != MAP_FAILED);
    close(fd);
}

int main(int argc, char **argv)
{
    int provided;
    SO(argc == 3 || argc == 4);
    job_seed = strtoull(argv[1], NULL, 10);
    map_page(argv[2]);
    n_rounds = argc == 4 ? atoi(argv[3]) : 0;
    SO(n_rounds < ROUNDS_MAX);
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    join();
    n_played = job_seed % 4 == 0 && n_rounds == 0 ? 1 + (int)(job_seed / 4 % 6) : ROUNDS_MAX;
    while (n_rounds > 0 ? number < n_rounds : size > 1 && number < n_played) {
        play();
        number++;
        if (n_rounds > 0) {
            agree_on_number();
        }
    }
    kind = LAST;
    begin_round(); /* that all of the last one have ended */
    MPI_Comm_free(&comm);
    MPI_Finalize();
    printf("agree_kills: correct\n");
    return 0;
}
