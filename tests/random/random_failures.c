/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays a program at random in which processes fail: README.md.
 *
 *   random_failures [--seed N] [--rounds N] [--only A,B-C,...] [--folder PATH]
 *                   [--outside RANKS] [--thread] [--list] [--spoil OPERATION]
 *
 * --outside A,B-C,...: these ranks may be killed from outside, at any time. --thread: another
 * thread of each process waits in MPI all the time. --spoil: rank 0 finds that operation wrong, to
 * see that this is found.
 */
#include "random_failures.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CALM_OPERATIONS = 12 };
/* Places of a round at which processes may fail: its operations, and these. */
enum { PLACE_REVOKE = OPERATIONS, PLACE_AGREE, PLACE_SHRINK, PLACE_LAST, PLACES };

static struct {
    uint64_t seed;
    int rounds, spoil;
    const char *only, *folder, *outside;
    bool list, thread;
} options = {.seed = 1, .rounds = 5, .spoil = -1};

static struct game *the_game;

void wrong(int op, const char *format, ...)
{
    char text[600];
    va_list more;
    va_start(more, format);
    vsnprintf(text, sizeof(text), format, more);
    va_end(more);
    if (the_game->op == AT_CALM) {
        op = number_of(the_game);
    }
    fprintf(stderr, "WRONG seed %llu operation %d rank %d: %s\n", (unsigned long long)options.seed,
            op, the_game->me, text);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
    abort();
}

static bool is_played(const struct game *game, int at)
{
    return is_wanted(options.only, game->round * ROUND + at);
}

static void list(const struct game *game, int at, const char *format, ...)
{
    va_list more;
    if (!options.list || game->comm[0].me != 0) {
        return;
    }
    printf("%d: ", game->round * ROUND + at);
    va_start(more, format);
    vprintf(format, more);
    va_end(more);
    printf("\n");
    fflush(stdout);
}

/* ---- Deaths ---- */

enum moment { BEFORE, INSTANT, POINT, AFTER, MOMENTS };
static const char *const moments[MOMENTS] = {"before", "at an instant of", "at a point of",
                                             "after"};

struct death {
    int number; /* its own, among the operations */
    int victim; /* a rank in MPI_COMM_WORLD */
    bool node;  /* all of its node */
    int place;
    enum moment moment;
    const char *point;
    uint32_t nth;
    long ns;
    bool spared; /* it lives if it has not come to the point */
};

static struct {
    struct death death[DEATHS];
    int n;
    int node_of[RANKS_MOST]; /* the process id of the daemon */
    uint64_t outside;        /* killed by somebody else */
} fate;

static const char *const points[] = {"send",        "sent",    "arrived",    "protocol-message",
                                     "read",        "step",    "decided",    "revoked",
                                     "revoke-told", "comm",    "ring-write", "ring-told",
                                     "fetch",       "fetched", "gossip"};
static const char *const repair_points[] = {
    "protocol-message", "read",          "step",         "decided",
    "gossip",           "comm",          "revoked",      "revoke-told",
    "replace-agreed",   "replace-asked", "replace-last", "replace-bootstrapped"};

static uint64_t node_mates(const struct game *game, int victim)
{
    uint64_t set = 0;
    for (int i = 0; i < game->n; i++) {
        if (fate.node_of[i] == fate.node_of[victim]) {
            set |= UINT64_C(1) << i;
        }
    }
    return set;
}

static struct death draw_death(struct game *game, struct dice *dice, int number)
{
    static const char *const *from[2] = {points, repair_points};
    static const uint32_t many[2] = {sizeof(points) / sizeof(*points),
                                     sizeof(repair_points) / sizeof(*repair_points)};
    const struct comm *base = &game->comm[0];
    struct death death = {.number = number};
    bool repair = chance(dice, 35);
    death.victim = base->member[below(dice, (uint32_t)base->n)];
    death.node = chance(dice, 10);
    death.place = repair ? OPERATIONS + (int)below(dice, 4) : (int)below(dice, OPERATIONS);
    death.moment = (enum moment)below(dice, MOMENTS);
    death.point = from[repair][below(dice, many[repair])];
    death.nth = between(dice, 1, 4);
    death.ns = 1L << between(dice, 10, 21);
    death.ns += (long)below(dice, (uint32_t)death.ns);
    death.spared = chance(dice, 30);
    if (death.node && death.moment != AFTER) {
        death.moment = BEFORE;
    }
    return death;
}

/* Somebody lives on, most often two or more. */
static void draw_deaths(struct game *game)
{
    struct dice dice = {mix(game->seed, (uint64_t)game->round * 7919 + 3)};
    int n = chance(&dice, 20) ? 0 : (int)between(&dice, 1, DEATHS - 1);
    uint64_t living = members_of(&game->comm[0]), doomed = fate.outside & living;
    bool together = chance(&dice, 40);
    int least = chance(&dice, 80) ? 2 : 1;
    fate.n = 0;
    for (int i = 0; i < n && game->round + 1 < options.rounds; i++) {
        struct death death = draw_death(game, &dice, OPERATIONS + i);
        uint64_t more = death.node ? node_mates(game, death.victim) : UINT64_C(1) << death.victim;
        if (together && fate.n > 0) {
            death.place = fate.death[0].place;
        }
        if (!is_played(game, death.number) ||
            __builtin_popcountll(living & ~doomed & ~more) < least || is_in(doomed, death.victim)) {
            continue;
        }
        doomed |= more;
        fate.death[fate.n++] = death;
        list(game, death.number, "rank %d%s fails %s %d (%s:%u, %ld ns%s)", death.victim,
             death.node ? " with its node" : "", moments[death.moment],
             game->round * ROUND + death.place, death.point, death.nth, death.ns,
             death.spared ? ", or not" : "");
    }
    game->may_fail = doomed & living;
}

static void arm(const char *text)
{
    int index, count;
    MPI_T_cvar_handle handle;
    char copy[512];
    snprintf(copy, sizeof(copy), "%s", text);
    if (MPI_T_cvar_get_index("RZ_KILL_AT", &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS ||
        MPI_T_cvar_write(handle, copy) != MPI_SUCCESS) {
        wrong(-1, "no kill point %s", text);
    }
    MPI_T_cvar_handle_free(&handle);
}

static void die(const struct death *death)
{
    kill(death->node ? fate.node_of[death->victim] : getpid(), SIGKILL);
    for (;;) {
        pause();
    }
}

static void die_in(long ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {.tv_nsec = ns}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &when, NULL) != 0) {
        wrong(-1, "no timer");
    }
}

static void before(struct game *game, int place)
{
    char text[64];
    for (int i = 0; i < fate.n; i++) {
        const struct death *death = &fate.death[i];
        if (death->victim != game->me || death->place != place) {
            continue;
        }
        if (death->moment == BEFORE) {
            die(death);
        } else if (death->moment == INSTANT) {
            die_in(death->ns);
        } else if (death->moment == POINT) {
            snprintf(text, sizeof(text), "%s:%u", death->point, death->nth);
            arm(text);
        }
    }
}

/* At the last place all that is still to come comes, or not at all. */
static void after(struct game *game, int place)
{
    for (int i = 0; i < fate.n; i++) {
        const struct death *death = &fate.death[i];
        if (death->victim != game->me) {
            continue;
        }
        if (death->moment == AFTER && death->place == place) {
            die(death);
        }
        if (place == PLACE_LAST && death->spared && death->moment == POINT) {
            arm("");
        } else if (place == PLACE_LAST) {
            die(death);
        }
    }
}

/* ---- Operations ---- */

static const struct {
    const char *name;
    fail_operation *play;
    uint32_t weight;
} operations[] = {
    {"message", fail_message, 40},  {"burst", fail_burst, 6},
    {"exchange", fail_exchange, 6}, {"collective", fail_collective, 25},
    {"derive", fail_derive, 10},    {"free", fail_free, 3},
    {"revoke", fail_revoke, 4},     {"agree", fail_agree, 5},
    {"shrink", fail_shrink, 4},     {"acknowledge", fail_acknowledge, 5},
    {"window", fail_window, 6},     {"file", fail_file, 4},
};
enum { KINDS = sizeof(operations) / sizeof(*operations) };

static int draw_kind(struct dice *dice)
{
    uint32_t all = 0, at = 0;
    for (int i = 0; i < KINDS; i++) {
        all += operations[i].weight;
    }
    uint32_t drawn = below(dice, all);
    int i = 0;
    while (at + operations[i].weight <= drawn) {
        at += operations[i++].weight;
    }
    return i;
}

static void play_operation(struct game *game, int op)
{
    struct dice dice = {mix(game->seed, (uint64_t)(game->round * ROUND + op) + 1000)};
    int kind = draw_kind(&dice), slot = (int)below(&dice, COMMS);
    if (!is_played(game, op)) {
        return;
    }
    if (slot >= 2 && chance(&dice, 40)) {
        slot = 0;
    }
    struct comm *comm = &game->comm[slot];
    if (!comm->there) {
        return;
    }
    list(game, op, "%s in %d of %d%s", operations[kind].name, slot, comm->n,
         comm->revocable ? ", revocable" : "");
    if (game->round * ROUND + op == options.spoil && game->comm[0].me == 0) {
        wrong(options.spoil, "damaged");
    }
    operations[kind].play(game, &dice, comm);
}

static void play_operations(struct game *game)
{
    struct dice program = {mix(game->seed, (uint64_t)game->round + 77)};
    uint32_t lazy = below(&program, 5) * 25;
    for (game->op = 0; game->op < OPERATIONS; game->op++) {
        struct dice own = {
            mix(game->seed, (uint64_t)number_of(game) * 4096 + (uint64_t)game->me + (1 << 30))};
        before(game, game->op);
        play_operation(game, game->op);
        after(game, game->op);
        if (game->n_waits > 0 && !chance(&own, lazy)) {
            wait_some(game, &own);
        }
    }
    wait_all(game, NULL);
}

/* ---- Repair ---- */

enum { CALLED = 1, IS_REVOKED = 2, HAS_IT = 4 };

/* What each tells all the others at the end of a repair. A replacement process knows nothing. */
struct report {
    uint64_t knows, round, n, parent;
    uint64_t member[RANKS_MOST];
    uint64_t comm[COMMS]; /* CALLED and so on */
    struct entry entry[ROUND];
};

static struct report report_of(struct game *game, bool knows)
{
    struct report report = {.knows = knows,
                            .round = (uint64_t)game->round,
                            .n = (uint64_t)game->comm[0].n,
                            .parent = (uint64_t)getppid()};
    memcpy(report.entry, game->entry, sizeof(report.entry));
    for (int i = 0; i < game->comm[0].n; i++) {
        report.member[i] = (uint64_t)game->comm[0].member[i];
    }
    for (int i = 0; i < COMMS; i++) {
        struct comm *comm = &game->comm[i];
        int flag = 0;
        if (comm->there && comm->me >= 0 && comm->comm != MPI_COMM_NULL) {
            MPIX_Comm_is_revoked(comm->comm, &flag);
            report.comm[i] = (uint64_t)(comm->revoker * CALLED + flag * IS_REVOKED + HAS_IT);
        }
    }
    return report;
}

/* Agreements had one result at all. */
static void compare_entries(struct game *game, const struct report *reports, int n)
{
    for (int at = 0; at < ROUND; at++) {
        const struct entry *first = NULL;
        uint64_t every = ~UINT64_C(0), took_part = 0;
        for (int i = 0; i < n; i++) {
            const struct entry *entry = &reports[i].entry[at];
            if (entry->members == 0) {
                continue;
            }
            took_part++;
            every &= entry->mine;
            first = first ? first : entry;
            if (entry->result != first->result || entry->class != first->class) {
                wrong(game->round * ROUND + at,
                      "an agreement: value %llx, class %llu, and elsewhere %llx, %llu",
                      (unsigned long long)first->result, (unsigned long long)first->class,
                      (unsigned long long)entry->result, (unsigned long long)entry->class);
            }
        }
        bool sets = every == ~UINT64_C(0);
        if (first && !sets &&
            ((first->result & ~every) || (took_part == first->members && first->result != every))) {
            wrong(game->round * ROUND + at, "an agreement: value %llx of %llx, by %llu of %llu",
                  (unsigned long long)first->result, (unsigned long long)every,
                  (unsigned long long)took_part, (unsigned long long)first->members);
        }
    }
}

/* One that somebody knows to be revoked is revoked for all of its members soon. */
static void await_revocation(struct comm *comm, MPI_Comm next)
{
    int flag = 0, there;
    while (comm->me >= 0 && !flag) {
        MPIX_Comm_is_revoked(comm->comm, &flag);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, next, &there, MPI_STATUS_IGNORE);
    }
    comm->revoked = true;
}

/* All living members have it, or none; and it is revoked by somebody, or not at all. */
static void compare_comm(struct game *game, int i, const struct comm *next,
                         const struct report *reports)
{
    struct comm *comm = &game->comm[i];
    uint64_t said = 0, have = 0, living = 0;
    for (int k = 0; k < next->n; k++) {
        said |= reports[k].comm[i];
        if (is_in(members_of(comm), next->member[k])) {
            living++;
            have += (reports[k].comm[i] & HAS_IT) != 0;
        }
    }
    if (have != 0 && have != living) {
        wrong(number_of(game), "communicator %d: %llu of %llu members have it", i,
              (unsigned long long)have, (unsigned long long)living);
    }
    if ((said & IS_REVOKED) && !(said & CALLED) && !comm->revoked &&
        !(members_of(comm) & (game->may_fail | game->gone))) {
        wrong(number_of(game), "communicator %d is revoked, by none", i);
    }
    if (have == 0) {
        comm->there = false;
    } else if (said & (IS_REVOKED | CALLED)) {
        await_revocation(comm, next->comm);
    }
}

static void revoke_base(struct game *game, struct dice *dice)
{
    struct comm *base = &game->comm[0];
    int one = (int)below(dice, (uint32_t)base->n);
    bool wanted = chance(dice, 60), all = chance(dice, 20);
    wanted = wanted && base->revocable && is_played(game, AT_REVOKE);
    before(game, PLACE_REVOKE);
    if (wanted) {
        list(game, AT_REVOKE, "revoke in 0 of %d", base->n);
    }
    if (wanted && (base->me == one || all)) {
        base->revoker = true;
        if (MPIX_Comm_revoke(base->comm) != MPI_SUCCESS) {
            wrong(number_of(game), "MPIX_Comm_revoke returns an error");
        }
    }
    after(game, PLACE_REVOKE);
}

/* Until all that live have acknowledged all that have failed. */
static void agree_in_base(struct game *game)
{
    struct comm *base = &game->comm[0];
    int error, tries = 0;
    before(game, PLACE_AGREE);
    do {
        int flag = 0xff & ~(1 << game->me % 8);
        acknowledge_all(game, base);
        uint64_t mine = (uint64_t)(uint32_t)flag;
        error = MPIX_Comm_agree(base->comm, &flag);
        note_entry(game, AT_AGREE, base, mine, (uint32_t)flag, error);
        if (error != MPI_SUCCESS && class_of(error) != MPIX_ERR_PROC_FAILED) {
            refused(game, error, "MPIX_Comm_agree");
        }
        if (++tries > base->n + 1) {
            wrong(number_of(game), "%d agreements of %d processes do not succeed", tries, base->n);
        }
    } while (error != MPI_SUCCESS);
    after(game, PLACE_AGREE);
}

static MPI_Comm shrunk(struct game *game, bool blocks, uint64_t *set)
{
    struct comm *base = &game->comm[0];
    MPI_Comm next = MPI_COMM_NULL;
    MPI_Request request;
    uint64_t known = known_failed(game, base);
    int error = blocks ? MPIX_Comm_shrink(base->comm, &next)
                       : MPIX_Comm_ishrink(base->comm, &next, &request);
    if (!blocks && error == MPI_SUCCESS) {
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (error != MPI_SUCCESS) {
        refused(game, error, "MPIX_Comm_shrink");
    }
    *set = remaining(game, base, next);
    if (*set & known) {
        wrong(number_of(game), "%llx had failed, and %llx remain", (unsigned long long)known,
              (unsigned long long)*set);
    }
    return next;
}

/* At a replacement process, too: it knows nothing yet. */
static MPI_Comm replaced(struct game *game)
{
    struct comm *base = &game->comm[0];
    MPI_Comm next = MPI_COMM_NULL;
    int size, rank,
        error = (game->round + game->me) % 2 == 0
                    ? RZ_Comm_replace(base->comm, &next)
                    : RZ_Comm_repair(1, &base->comm, &next); /* the same, of one */
    must(game, error, "RZ_Comm_replace");
    MPI_Comm_size(next, &size);
    MPI_Comm_rank(next, &rank);
    if (base->n > 0 && (size != base->n || rank != base->me)) {
        wrong(number_of(game), "RZ_Comm_replace: rank %d of %d for %d of %d", rank, size, base->me,
              base->n);
    }
    for (int i = base->n; i < size; i++) {
        base->member[i] = i == rank ? game->me : RANKS_MOST / 2 + i; /* until it is told */
    }
    base->n = size;
    return next;
}

/* Slot 0 becomes `next`, of the members `set`. */
static void set_base(struct game *game, MPI_Comm next, uint64_t set)
{
    struct comm *base = &game->comm[0], new = {.there = true, .comm = next};
    for (int i = 0; i < base->n; i++) {
        if (is_in(set, base->member[i])) {
            new.member[new.n++] = base->member[i];
        }
    }
    MPI_Comm_rank(next, &new.me);
    MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
    *base = new;
}

static void free_comm(struct game *game, MPI_Comm comm)
{
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_NULL && MPI_Comm_free(&comm) != MPI_SUCCESS) {
        wrong(number_of(game), "MPI_Comm_free returns an error");
    }
}

/* A communicator that works at all of its members, and what they say. The old one is left. */
static void repair_base(struct game *game, bool replaces, const struct report *mine,
                        struct report *reports)
{
    int flag, tries = 0;
    do {
        struct comm *base = &game->comm[0];
        MPI_Comm before_it = base->comm, next;
        uint64_t set = ~UINT64_C(0);
        before(game, tries == 0 ? PLACE_SHRINK : PLACES);
        next = replaces ? replaced(game) : shrunk(game, (game->round + tries) % 2 == 0, &set);
        after(game, tries == 0 ? PLACE_SHRINK : PLACES);
        set_base(game, next, set);
        if (tries > 0) {
            free_comm(game, before_it);
        }
        before(game, tries == 0 ? PLACE_LAST : PLACES);
        int error =
            MPI_Allgather(mine, sizeof(*mine), MPI_BYTE, reports, sizeof(*mine), MPI_BYTE, next);
        after(game, tries == 0 ? PLACE_LAST : PLACES);
        flag = went_well(game, base, ALL, error, "MPI_Allgather after a repair");
        error = MPIX_Comm_agree(next, &flag);
        flag = flag && error == MPI_SUCCESS;
        if (++tries > game->n + 1) {
            wrong(number_of(game), "%d repairs of %d processes do not succeed", tries, game->n);
        }
    } while (!flag);
}

/* Of what one that knows has said, and where each process is. */
static void learn(struct game *game, const struct report *reports)
{
    struct comm *base = &game->comm[0];
    const struct report *known = reports;
    while (!known->knows) {
        known++;
    }
    if (game->round < 0) {
        game->round = (int)known->round;
        for (int i = 0; i < base->n; i++) {
            base->member[i] = (int)known->member[i];
        }
    }
    for (int i = 0; i < base->n; i++) {
        fate.node_of[base->member[i]] = (int)reports[i].parent;
    }
}

/* The old communicator of all may stay for a while, with its failed members. */
static void keep_or_free(struct game *game, const struct comm *old, uint32_t slot)
{
    if (old->comm != MPI_COMM_WORLD && !game->comm[slot].there && old->n > 0) {
        game->comm[slot] = *old;
    } else {
        free_comm(game, old->comm);
    }
}

/* A replacement process has no communicator but the new one, so the others leave theirs. */
static void leave_others(struct game *game)
{
    for (int i = 1; i < COMMS; i++) {
        struct comm *comm = &game->comm[i];
        if (comm->there && comm->me >= 0) {
            free_comm(game, comm->comm);
        }
        comm->there = false;
    }
    game->gone = 0;
}

static void leave_some(struct game *game, struct dice *dice)
{
    for (int i = 2; i < COMMS; i++) {
        struct comm *comm = &game->comm[i];
        uint32_t percent = comm->revoked || (members_of(comm) & game->gone) ? 60 : 25;
        if (chance(dice, percent) && comm->there) {
            fail_free(game, dice, comm);
        }
    }
}

static void repair(struct game *game, bool replaces)
{
    struct dice dice = {mix(game->seed, (uint64_t)game->round + 991)};
    struct report *reports = calloc(RANKS_MOST, sizeof(*reports));
    struct report mine = report_of(game, true);
    struct comm old = game->comm[0];
    repair_base(game, replaces, &mine, reports);
    struct comm base = game->comm[0];
    learn(game, reports);
    compare_entries(game, reports, base.n);
    if (replaces) {
        free_comm(game, old.comm);
        leave_others(game);
    } else {
        game->gone |= members_of(&old) & ~members_of(&base);
        game->comm[0] = old;
        for (int i = 0; i < COMMS; i++) {
            if (game->comm[i].there) {
                compare_comm(game, i, &base, reports);
            }
        }
        old = game->comm[0];
        game->comm[0] = base;
        keep_or_free(game, &old, 2 + below(&dice, COMMS - 2));
        leave_some(game, &dice);
    }
    free(reports);
}

/* What a replacement process does first. */
static void join(struct game *game)
{
    struct report *reports = calloc(RANKS_MOST, sizeof(*reports));
    game->comm[0].comm = MPI_COMM_NULL;
    struct report mine = report_of(game, false);
    game->may_fail = ~UINT64_C(0);
    game->round = -1;
    repair_base(game, true, &mine, reports);
    learn(game, reports);
    free(reports);
}

/* ---- The program ---- */

/* All operations of random_program, and no error is allowed. */
static void play_without_failures(struct game *game)
{
    struct comm *base = &game->comm[0];
    int member[RANKS_MOST];
    list(game, AT_CALM, "calm in 0 of %d", base->n);
    struct player player = {.seed = mix(game->seed, (uint64_t)number_of(game)),
                            .n = base->n,
                            .me = base->me,
                            .folder = options.folder,
                            .without = "spawn,session",
                            .operations = CALM_OPERATIONS,
                            .spoil = -1};
    for (int i = 0; i < base->n; i++) {
        member[i] = i;
    }
    player.slot[0] = (struct slot){
        .there = true, .n = base->n, .me = base->me, .comm = base->comm, .member = member};
    MPI_Comm_set_errhandler(base->comm, MPI_ERRORS_ARE_FATAL);
    play(&player);
    MPI_Comm_set_errhandler(base->comm, MPI_ERRORS_RETURN);
}

/* Some have the same error at all members, from now on. */
static void draw_uniform(struct game *game)
{
    struct dice dice = {mix(game->seed, (uint64_t)game->round + 4711)};
    struct comm *base = &game->comm[0];
    if (chance(&dice, 25)) {
        base->uniform = (enum uniform)below(&dice, UNIFORMS);
        MPI_Info info = info_of(base->uniform, false);
        must(game, MPI_Comm_set_info(base->comm, info), "MPI_Comm_set_info");
        MPI_Info_free(&info);
    }
}

static void play_calm(struct game *game)
{
    struct comm *base = &game->comm[0];
    int flag = 1;
    game->op = AT_CALM;
    draw_uniform(game);
    game->may_fail = fate.outside & members_of(base);
    if (is_played(game, AT_CALM) && !game->may_fail) {
        play_without_failures(game);
    }
    MPIX_Comm_agree(base->comm, &flag); /* all are through: now somebody may fail, or revoke */
}

static void play_round(struct game *game)
{
    struct dice dice = {mix(game->seed, (uint64_t)game->round + 31337)};
    memset(game->entry, 0, sizeof(game->entry));
    game->comm[0].revocable = chance(&dice, 40);
    draw_deaths(game);
    play_operations(game);
    game->op = AT_REVOKE;
    revoke_base(game, &dice);
    game->op = AT_AGREE;
    agree_in_base(game);
    game->op = AT_REPLACE;
    bool replaces = chance(&dice, 30);
    replaces = replaces && is_played(game, AT_REPLACE) && !options.outside;
    list(game, AT_REPLACE, replaces ? "replace" : "shrink");
    repair(game, replaces);
    play_calm(game);
}

/* For a look at what is left behind of it. */
static void say_job(const struct game *game)
{
    const char *job = getenv("RZ_JOB_ID");
    if (job && game->me == 0) {
        printf("job %s\n", job);
        fflush(stdout);
    }
}

static void begin_game(struct game *game)
{
    struct comm world = {.there = true, .comm = MPI_COMM_WORLD, .n = game->n, .me = game->me};
    struct dice dice = {mix(game->seed, 5)};
    for (int i = 0; i < game->n; i++) {
        world.member[i] = i;
        fate.outside |= (uint64_t)(options.outside && is_wanted(options.outside, i)) << i;
    }
    say_job(game);
    world.revocable = chance(&dice, 20);
    game->may_fail = fate.outside;
    game->comm[0] = game->comm[1] = world;
    game->round = 0;
    game->op = 0;
    repair(game, false);
}

/* Those that are killed from outside wait for it, and the others see that they have failed: a
 * failure that no process knows of is the job's. */
static void await_outside(struct game *game)
{
    struct comm *base = &game->comm[0];
    game->op = AT_REPLACE;
    while (is_in(fate.outside, game->me)) {
        pause();
    }
    while (members_of(base) & fate.outside) {
        int one = 0;
        while (!is_in(fate.outside, base->member[one])) {
            one++;
        }
        int error = MPI_Recv(NULL, 0, MPI_INT, one, 9999, base->comm, MPI_STATUS_IGNORE);
        if (went_well(game, base, base->member[one], error, "MPI_Recv at the end")) {
            wrong(number_of(game), "a message that nobody has sent");
        }
        repair(game, false);
    }
    play_calm(game);
}

static void play_all(struct game *game)
{
    int incarnation, flag = 1;
    RZ_Incarnation(&incarnation);
    if (incarnation > 1) {
        join(game);
        play_calm(game);
        game->round++;
    } else {
        begin_game(game);
    }
    for (; game->round < options.rounds; game->round++) {
        play_round(game);
    }
    if (fate.outside) {
        await_outside(game);
    }
    MPIX_Comm_agree(game->comm[0].comm, &flag);
    if (game->comm[0].me == 0) {
        printf(
            "%d of %d are left; of rank %d's calls %lu were successful, %lu returned PROC_FAILED, "
            "%lu PROC_FAILED_PENDING, %lu REVOKED\n",
            game->comm[0].n, game->n, game->me, game->seen[0], game->seen[1], game->seen[2],
            game->seen[3]);
        printf("1 programs from seed %llu are right\n", (unsigned long long)options.seed);
        fflush(stdout);
    }
}

/* ---- Another thread, which waits in MPI all the time ---- */

static void *wait_for_the_end(void *none)
{
    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return none;
}

static void begin_thread(pthread_t *thread)
{
    if (options.thread && pthread_create(thread, NULL, wait_for_the_end, NULL) != 0) {
        wrong(-1, "no thread");
    }
}

static void end_thread(pthread_t thread)
{
    if (options.thread) {
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_SELF);
        pthread_join(thread, NULL);
    }
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *is = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--list") == 0 || strcmp(name, "--thread") == 0) {
            *(name[2] == 'l' ? &options.list : &options.thread) = true;
            continue;
        }
        if (strcmp(name, "--seed") == 0) {
            options.seed = strtoull(is, NULL, 10);
        } else if (strcmp(name, "--rounds") == 0) {
            options.rounds = atoi(is);
        } else if (strcmp(name, "--spoil") == 0) {
            options.spoil = atoi(is);
        } else if (strcmp(name, "--only") == 0) {
            options.only = is;
        } else if (strcmp(name, "--folder") == 0) {
            options.folder = is;
        } else if (strcmp(name, "--outside") == 0) {
            options.outside = is;
        } else {
            fprintf(stderr, "random_failures: unknown option %s\n", name);
            exit(2);
        }
        i++;
    }
}

int main(int argc, char **argv)
{
    int provided, bytes;
    pthread_t thread = {0};
    struct game *game = the_game = calloc(1, sizeof(*game));
    read_options(argc, argv);
    MPI_Init_thread(&argc, &argv, options.thread ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &game->me);
    MPI_Comm_size(MPI_COMM_WORLD, &game->n);
    if (game->n > RANKS_MOST / 2) {
        fprintf(stderr, "random_failures: at most %d ranks\n", RANKS_MOST / 2);
        exit(2);
    }
    game->seed = options.seed;
    game->folder = options.folder;
    void *buffer = malloc((size_t)BUFFER_BYTES + 4096);
    MPI_Buffer_attach(buffer, BUFFER_BYTES + 4096);
    begin_thread(&thread);
    play_all(game);
    end_thread(thread);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    free(game->wait);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
