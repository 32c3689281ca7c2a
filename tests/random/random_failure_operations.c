/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations while processes fail: what each call may return, and what it has done if it succeeds.
 */
#include "random_failures.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Rules ---- */

bool is_in(uint64_t set, int process)
{
    return set >> process & 1;
}

uint64_t members_of(const struct comm *comm)
{
    uint64_t set = 0;
    for (int i = 0; i < comm->n; i++) {
        set |= UINT64_C(1) << comm->member[i];
    }
    return set;
}

int number_of(const struct game *game)
{
    return game->round * ROUND + game->op;
}

int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

uint64_t set_of(struct game *game, struct comm *comm, MPI_Group group)
{
    int n, from[RANKS_MOST], to[RANKS_MOST];
    uint64_t set = 0;
    MPI_Group all;
    MPI_Comm_group(comm->comm, &all);
    MPI_Group_size(group, &n);
    if (n > comm->n) {
        wrong(number_of(game), "a group of %d members of %d", n, comm->n);
    }
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Group_translate_ranks(group, n, from, all, to);
    for (int i = 0; i < n; i++) {
        if (to[i] < 0 || to[i] >= comm->n) {
            wrong(number_of(game), "a group has a process that is no member");
        }
        set |= UINT64_C(1) << comm->member[to[i]];
    }
    MPI_Group_free(&all);
    return set;
}

/* The order of those known before does not change. */
static void check_order(struct game *game, struct comm *comm, MPI_Group group, int n)
{
    int from[RANKS_MOST], to[RANKS_MOST];
    MPI_Group all;
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Comm_group(comm->comm, &all);
    MPI_Group_translate_ranks(group, n, from, all, to);
    MPI_Group_free(&all);
    for (int i = 0; i < n; i++) {
        if (i < comm->n_order && comm->order[i] != to[i]) {
            wrong(number_of(game), "failed member %d was rank %d, and is %d", i, comm->order[i],
                  to[i]);
        }
        comm->order[i] = to[i];
    }
    comm->n_order = n;
}

uint64_t known_failed(struct game *game, struct comm *comm)
{
    MPI_Group group;
    int n;
    if (MPIX_Comm_get_failed(comm->comm, &group) != MPI_SUCCESS) {
        wrong(number_of(game), "MPIX_Comm_get_failed returns an error");
    }
    uint64_t set = set_of(game, comm, group);
    MPI_Group_size(group, &n);
    if (n != __builtin_popcountll(set) || (comm->known & ~set)) {
        wrong(number_of(game), "%d processes have failed, %llx; before it were %llx", n,
              (unsigned long long)set, (unsigned long long)comm->known);
    }
    if (set & ~(game->may_fail | game->gone)) {
        wrong(number_of(game), "failed are %llx, and only %llx may", (unsigned long long)set,
              (unsigned long long)(game->may_fail | game->gone));
    }
    check_order(game, comm, group, n);
    MPI_Group_free(&group);
    return comm->known = set;
}

void check_failed(struct game *game, struct comm *comm, int peer, const char *call)
{
    uint64_t others = members_of(comm) & ~(UINT64_C(1) << game->me);
    uint64_t concerned = peer == ALL ? others : UINT64_C(1) << peer;
    if (!(concerned & (game->may_fail | game->gone))) {
        wrong(number_of(game), "%s: PROC_FAILED, and nobody fails whom it concerns (process %d)",
              call, peer);
    }
    if (!(known_failed(game, comm) & concerned)) {
        wrong(number_of(game), "%s: PROC_FAILED, and the failed ones are %llx of %llx", call,
              (unsigned long long)comm->known, (unsigned long long)concerned);
    }
}

void refused(const struct game *game, int error, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(error, text, &length);
    wrong(number_of(game), "%s: class %d: %s", call, class_of(error), text);
}

bool went_well(struct game *game, struct comm *comm, int peer, int error, const char *call)
{
    int class = class_of(error), flag = 0;
    game->seen[class == MPIX_ERR_REVOKED ? 3 : class != MPI_SUCCESS]++;
    if (class == MPI_SUCCESS) {
        if (comm->revoked) {
            wrong(number_of(game), "%s: a success on a revoked communicator", call);
        }
        return true;
    }
    if (class == MPIX_ERR_REVOKED) {
        MPIX_Comm_is_revoked(comm->comm, &flag);
        if (!comm->revocable || !flag) {
            wrong(number_of(game), "%s: REVOKED, and the communicator is %s", call,
                  flag ? "revoked by none" : "not revoked");
        }
    } else if (class == MPIX_ERR_PROC_FAILED) {
        check_failed(game, comm, peer, call);
    } else {
        refused(game, error, call);
    }
    return false;
}

void must(struct game *game, int error, const char *call)
{
    if (error != MPI_SUCCESS) {
        refused(game, error, call);
    }
}

void note_entry(struct game *game, int at, struct comm *comm, uint64_t mine, uint64_t result,
                int error)
{
    game->entry[at] = (struct entry){.members = (uint64_t)comm->n,
                                     .mine = mine,
                                     .result = result,
                                     .class = (uint64_t)class_of(error)};
}

/* ---- Acknowledging ---- */

void acknowledge_all(struct game *game, struct comm *comm)
{
    int acknowledged;
    uint64_t known = known_failed(game, comm);
    must(game, MPIX_Comm_ack_failed(comm->comm, comm->n, &acknowledged), "MPIX_Comm_ack_failed");
    known_failed(game, comm);
    if (acknowledged < __builtin_popcountll(known) || acknowledged > comm->n_order) {
        wrong(number_of(game), "%d are acknowledged of %llx", acknowledged,
              (unsigned long long)known);
    }
    comm->acknowledged |= known;
}

/* The first ones, as many as drawn; or all, in the older way. */
void fail_acknowledge(struct game *game, struct dice *dice, struct comm *comm)
{
    struct dice own = {mix(roll(dice), (uint64_t)game->me)};
    MPI_Group group;
    if (comm->me < 0) {
        return;
    }
    uint64_t known = known_failed(game, comm);
    int n = comm->n_order, wanted = (int)below(&own, (uint32_t)n + 1), acknowledged;
    if (chance(&own, 50)) {
        must(game, MPIX_Comm_failure_ack(comm->comm), "MPIX_Comm_failure_ack");
        comm->acknowledged |= known;
    } else {
        int before = __builtin_popcountll(comm->acknowledged);
        must(game, MPIX_Comm_ack_failed(comm->comm, wanted, &acknowledged), "MPIX_Comm_ack_failed");
        if (acknowledged < before || acknowledged < wanted || acknowledged > comm->n) {
            wrong(number_of(game), "%d are acknowledged for %d, before it were %d", acknowledged,
                  wanted, before);
        }
        for (int i = 0; i < wanted; i++) {
            comm->acknowledged |= UINT64_C(1) << comm->member[comm->order[i]];
        }
    }
    must(game, MPIX_Comm_failure_get_acked(comm->comm, &group), "MPIX_Comm_failure_get_acked");
    uint64_t set = set_of(game, comm, group);
    MPI_Group_free(&group);
    if ((comm->acknowledged & ~set) || (set & ~known_failed(game, comm))) {
        wrong(number_of(game), "acknowledged are %llx, of %llx known ones; before it were %llx",
              (unsigned long long)set, (unsigned long long)comm->known,
              (unsigned long long)comm->acknowledged);
    }
    comm->acknowledged = set;
}

/* ---- Agreement, revocation, shrinking ---- */

/* It ends later. */
static void begin_agree(struct game *game, struct comm *comm, int flag)
{
    struct wait *wait = wait_new(game, comm, ALL);
    wait->flag = malloc(sizeof(int));
    *wait->flag = flag;
    wait->mine = (uint32_t)flag;
    must(game, MPIX_Comm_iagree(comm->comm, wait->flag, &wait->request), "MPIX_Comm_iagree");
}

static int call_agree(struct comm *comm, bool blocks, int *flag)
{
    MPI_Request request;
    if (blocks) {
        return MPIX_Comm_agree(comm->comm, flag);
    }
    int error = MPIX_Comm_iagree(comm->comm, flag, &request);
    return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int agree(struct game *game, int at, struct comm *comm, bool blocks, int *flag)
{
    uint32_t mine = (uint32_t)*flag;
    uint64_t news = known_failed(game, comm) & ~comm->acknowledged;
    int error = call_agree(comm, blocks, flag), class = class_of(error);
    if (class != MPI_SUCCESS && class != MPIX_ERR_PROC_FAILED) {
        refused(game, error, "an agreement");
    }
    if (class == MPI_SUCCESS && news) {
        wrong(number_of(game), "an agreement: success, and %llx are not acknowledged",
              (unsigned long long)news);
    }
    if (class == MPIX_ERR_PROC_FAILED && !known_failed(game, comm)) {
        wrong(number_of(game), "an agreement: PROC_FAILED, and no failure is known");
    }
    note_entry(game, at, comm, mine, (uint32_t)*flag, error);
    return error;
}

static void agree_failed(struct game *game, struct comm *comm, bool blocks)
{
    MPI_Group group;
    MPI_Request request;
    uint64_t known = known_failed(game, comm);
    if (blocks) {
        must(game, MPIX_Comm_agree_failed(comm->comm, &group), "MPIX_Comm_agree_failed");
    } else {
        must(game, MPIX_Comm_iagree_failed(comm->comm, &group, &request), "iagree_failed");
        must(game, MPI_Wait(&request, MPI_STATUS_IGNORE), "the end of iagree_failed");
    }
    uint64_t set = set_of(game, comm, group);
    if ((known & ~set) || (set & ~(game->may_fail | game->gone))) {
        wrong(number_of(game), "agreed are %llx, known were %llx, and only %llx may fail",
              (unsigned long long)set, (unsigned long long)known,
              (unsigned long long)(game->may_fail | game->gone));
    }
    if (set & ~known_failed(game, comm)) {
        wrong(number_of(game), "agreed are %llx, and only %llx are known", (unsigned long long)set,
              (unsigned long long)comm->known);
    }
    note_entry(game, game->op, comm, ~UINT64_C(0), set, MPI_SUCCESS);
    MPI_Group_free(&group);
}

void fail_agree(struct game *game, struct dice *dice, struct comm *comm)
{
    uint32_t way = below(dice, 6);
    uint64_t seed = roll(dice);
    if (comm->me < 0) {
        return;
    }
    int flag = (int)(uint32_t)(mix(seed, (uint64_t)comm->me) | mix(seed, 1000));
    if (way > 3) {
        begin_agree(game, comm, flag);
    } else if (way < 2) {
        agree(game, game->op, comm, way == 0, &flag);
    } else {
        agree_failed(game, comm, way == 2);
    }
}

void fail_revoke(struct game *game, struct dice *dice, struct comm *comm)
{
    int one = draw_member(game, dice, comm, 50), flag = 0;
    if (comm->revocable && comm->me == one) {
        comm->revoker = true;
        must(game, MPIX_Comm_revoke(comm->comm), "MPIX_Comm_revoke");
        MPIX_Comm_is_revoked(comm->comm, &flag);
        if (!flag) {
            wrong(number_of(game), "revoked here, and it is not revoked");
        }
    }
}

uint64_t remaining(struct game *game, struct comm *old, MPI_Comm new)
{
    MPI_Group group;
    int n, rank, last = -1, from[RANKS_MOST], to[RANKS_MOST], flag = 0;
    MPI_Group all;
    MPI_Comm_group(new, &group);
    MPI_Comm_group(old->comm, &all);
    MPI_Group_size(group, &n);
    uint64_t set = set_of(game, old, group);
    for (int i = 0; i < n; i++) {
        from[i] = i;
    }
    MPI_Group_translate_ranks(group, n, from, all, to);
    for (int i = 0; i < n; i++) {
        if (to[i] <= last) {
            wrong(number_of(game), "rank %d of the new communicator was %d, after %d", i, to[i],
                  last);
        }
        last = to[i];
    }
    MPI_Comm_rank(new, &rank);
    if (to[rank] != old->me) {
        wrong(number_of(game), "rank %d is now %d, which was %d", old->me, rank, to[rank]);
    }
    if (members_of(old) & ~set & ~(game->may_fail | game->gone)) {
        wrong(number_of(game), "living processes are left out: %llx of %llx remain",
              (unsigned long long)set, (unsigned long long)members_of(old));
    }
    MPIX_Comm_is_revoked(new, &flag);
    if (flag) {
        wrong(number_of(game), "the new communicator is revoked");
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    return set;
}

static int call_shrink(struct comm *comm, bool blocks, MPI_Comm *new)
{
    MPI_Request request;
    if (blocks) {
        return MPIX_Comm_shrink(comm->comm, new);
    }
    int error = MPIX_Comm_ishrink(comm->comm, new, &request);
    return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* What remains of a communicator works, unless somebody fails again; then it is freed. */
void fail_shrink(struct game *game, struct dice *dice, struct comm *comm)
{
    bool blocks = chance(dice, 50);
    int one = 1, sum = 0, n;
    if (comm->me < 0) {
        return;
    }
    struct comm left = *comm;
    uint64_t known = known_failed(game, comm);
    must(game, call_shrink(comm, blocks, &left.comm), "MPIX_Comm_shrink");
    uint64_t set = remaining(game, comm, left.comm);
    if (set & known) {
        wrong(number_of(game), "%llx had failed, and %llx remain", (unsigned long long)known,
              (unsigned long long)set);
    }
    note_entry(game, game->op, comm, ~UINT64_C(0), set, MPI_SUCCESS);
    left.known = left.acknowledged = 0;
    left.revoked = left.revocable = false;
    left.n = left.n_order = 0;
    for (int i = 0; i < comm->n; i++) {
        if (is_in(set, comm->member[i])) {
            left.member[left.n++] = comm->member[i];
        }
    }
    int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, left.comm);
    MPI_Comm_size(left.comm, &n);
    if (went_well(game, &left, ALL, error, "MPI_Allreduce of those that remain") && sum != n) {
        wrong(number_of(game), "%d of %d take part after a shrink", sum, n);
    }
    must(game, MPI_Comm_free(&left.comm), "MPI_Comm_free");
}

/* ---- Communicators ---- */

static struct comm *unused_comm(struct game *game)
{
    for (int i = 2; i < COMMS; i++) {
        if (!game->comm[i].there) {
            return &game->comm[i];
        }
    }
    return NULL;
}

enum maker { DUP, DUP_WITH_INFO, IDUP, SPLIT, GROUP, MAKERS };

MPI_Info info_of(enum uniform uniform, bool revokes)
{
    static const char *const uniforms[UNIFORMS] = {"local", "construct", "coll"};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_error_uniform", uniforms[uniform]);
    MPI_Info_set(info, "mpi_error_range", revokes ? "group" : "local");
    return info;
}

static int dup_with_info(struct comm *new, const struct comm *of)
{
    MPI_Info info = info_of(new->uniform, new->range_group);
    int error = MPI_Comm_dup_with_info(of->comm, info, &new->comm);
    MPI_Info_free(&info);
    return error;
}

/* Its members, at all processes; in the order of their new ranks. */
static void draw_members(struct game *game, struct dice *dice, struct comm *new,
                         const struct comm *of, enum maker maker)
{
    bool part = maker == SPLIT || maker == GROUP, reversed = maker == SPLIT && chance(dice, 50);
    uint64_t seed = roll(dice);
    *new = (struct comm){.me = -1, .comm = MPI_COMM_NULL, .revocable = chance(dice, 35)};
    for (int k = 0; k < of->n; k++) {
        int i = reversed ? of->n - 1 - k : k;
        if (part && mix(seed, (uint64_t)of->member[i]) % 3 == 0) {
            continue;
        }
        new->me = of->member[i] == game->me ? new->n : new->me;
        new->member[new->n++] = of->member[i];
    }
    if (maker == DUP_WITH_INFO) {
        new->uniform = (enum uniform)below(dice, UNIFORMS);
        new->range_group = chance(dice, 30);
        new->revocable |= new->range_group;
    }
}

static int make_of_group(struct game *game, struct comm *new, const struct comm *of)
{
    int rank[RANKS_MOST];
    MPI_Group all, group;
    for (int i = 0, k = 0; i < of->n && k < new->n; i++) {
        if (of->member[i] == new->member[k]) {
            rank[k++] = i;
        }
    }
    MPI_Comm_group(of->comm, &all);
    MPI_Group_incl(all, new->n, rank, &group);
    int error = MPI_Comm_create_group(of->comm, group, ROUND_TAGS + number_of(game), &new->comm);
    MPI_Group_free(&all);
    MPI_Group_free(&group);
    return error;
}

static int make(struct game *game, struct comm *new, const struct comm *of, enum maker maker)
{
    MPI_Request request;
    int error;
    switch (maker) {
    case DUP:
        return MPI_Comm_dup(of->comm, &new->comm);
    case DUP_WITH_INFO:
        return dup_with_info(new, of);
    case IDUP:
        error = MPI_Comm_idup(of->comm, &new->comm, &request);
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    case SPLIT:
        return MPI_Comm_split(of->comm, new->me >= 0 ? 1 : MPI_UNDEFINED, new->me, &new->comm);
    default:
        return make_of_group(game, new, of);
    }
}

/* Made at all, by agreement, or at none. */
void fail_derive(struct game *game, struct dice *dice, struct comm *comm)
{
    enum maker maker = (enum maker)below(dice, MAKERS);
    struct comm *new = unused_comm(game), nowhere;
    draw_members(game, dice, new ? new : &nowhere, comm, maker);
    if (!new || new->n == 0) {
        return;
    }
    new->there = true; /* its slot is taken, also if nothing comes of it */
    if (comm->me < 0) {
        new->me = -1;
        return;
    }
    int flag = 1;
    if (maker != GROUP || new->me >= 0) {
        int error = make(game, new, comm, maker);
        flag = went_well(game, comm, ALL, error, "a call that makes a communicator");
    }
    int good = flag;
    agree(game, game->op, comm, true, &flag);
    if (flag != good && comm->uniform != UNIFORM_LOCAL && maker != GROUP) {
        wrong(number_of(game), "a call that makes a communicator: a result that not all have");
    }
    if (!(flag & 1)) {
        if (new->comm != MPI_COMM_NULL) {
            must(game, MPI_Comm_free(&new->comm), "MPI_Comm_free");
        }
        new->me = -1;
    }
}

void fail_free(struct game *game, struct dice *dice, struct comm *comm)
{
    (void)dice;
    if (comm < &game->comm[2]) {
        return;
    }
    if (comm->me >= 0) {
        wait_all(game, comm);
        must(game, MPI_Comm_free(&comm->comm), "MPI_Comm_free");
    }
    comm->there = false;
}
