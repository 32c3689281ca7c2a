/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators made and freed. Every process knows the members of each, whether it is one or not.
 */
#include "random.h"

#include <stdlib.h>
#include <string.h>

struct slot *free_slot(struct player *player)
{
    for (int i = 1; i < SLOTS; i++) {
        if (!player->slot[i].there) {
            return &player->slot[i];
        }
    }
    return NULL;
}

/* The new one has these members of the old one, in this order. */
static void fill(struct player *player, struct slot *new, const struct slot *old, const int *ranks,
                 int n, MPI_Comm comm)
{
    *new = (struct slot){.there = true, .n = n, .me = -1, .comm = comm};
    new->member = malloc((size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) {
        new->member[i] = old->member[ranks[i]];
        new->me = new->member[i] == player->me ? i : new->me;
    }
    int rank = -1, size = -1;
    if (new->me >= 0) {
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
    }
    if (new->me >= 0 && (rank != new->me || size != n)) {
        wrong(player->op, "rank %d of %d of a new communicator for %d of %d", rank, size, new->me,
              n);
    }
}

static int *all_ranks(int n)
{
    int *ranks = malloc((size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
    }
    return ranks;
}

void fill_with_all(struct player *player, struct slot *new, const struct slot *old, MPI_Comm comm)
{
    int *ranks = all_ranks(old->n);
    fill(player, new, old, ranks, old->n, comm);
    free(ranks);
}

void play_dup(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = free_slot(player);
    uint32_t way = below(dice, 3);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    if (!new) {
        return;
    }
    if (slot->me >= 0 && way == 0) {
        MPI_Comm_dup(slot->comm, &comm);
    } else if (slot->me >= 0 && way == 1) {
        MPI_Comm_dup_with_info(slot->comm, MPI_INFO_NULL, &comm);
    } else if (slot->me >= 0) {
        MPI_Comm_idup(slot->comm, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    fill_with_all(player, new, slot, comm);
    new->graph = slot->graph ? graph_copy(slot->graph) : NULL;
    new->dims = slot->dims;
    memcpy(new->dim, slot->dim, sizeof(new->dim));
    memcpy(new->periodic, slot->periodic, sizeof(new->periodic));
}

/* Some of the old one's ranks, in an order of theirs. */
static int draw_ranks(struct dice *dice, const struct slot *slot, int *ranks)
{
    int n = 0;
    for (int i = 0; i < slot->n; i++) {
        if (chance(dice, 70)) {
            ranks[n++] = i;
        }
    }
    if (n == 0) {
        ranks[n++] = (int)below(dice, (uint32_t)slot->n);
    }
    for (int i = n - 1; i > 0; i--) {
        int j = (int)below(dice, (uint32_t)i + 1), was = ranks[i];
        ranks[i] = ranks[j], ranks[j] = was;
    }
    return n;
}

static int index_of(const int *ranks, int n, int rank)
{
    for (int i = 0; i < n; i++) {
        if (ranks[i] == rank) {
            return i;
        }
    }
    return -1;
}

void play_split(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = free_slot(player);
    int *ranks = malloc((size_t)slot->n * sizeof(int)), n = draw_ranks(dice, slot, ranks);
    MPI_Comm comm = MPI_COMM_NULL;
    if (new && slot->me >= 0) {
        int at = index_of(ranks, n, slot->me);
        MPI_Comm_split(slot->comm, at < 0 ? MPI_UNDEFINED : 1, at, &comm);
    }
    if (new) {
        fill(player, new, slot, ranks, n, comm);
    }
    free(ranks);
}

void play_group(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = free_slot(player);
    int *ranks = malloc((size_t)slot->n * sizeof(int)), n = draw_ranks(dice, slot, ranks);
    bool by_group = chance(dice, 50), is_in = index_of(ranks, n, slot->me) >= 0;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group old, group;
    if (new && slot->me >= 0 && (is_in || !by_group)) {
        MPI_Comm_group(slot->comm, &old);
        MPI_Group_incl(old, n, ranks, &group);
        if (by_group) {
            MPI_Comm_create_group(slot->comm, group, player->op, &comm);
        } else {
            MPI_Comm_create(slot->comm, group, &comm);
        }
        MPI_Group_free(&old);
        MPI_Group_free(&group);
    }
    if (new) {
        fill(player, new, slot, ranks, n, comm);
    }
    free(ranks);
}

void play_grid(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = free_slot(player);
    int dims = (int)between(dice, 1, 3), dim[3], periodic[3], all = 1;
    MPI_Comm comm = MPI_COMM_NULL;
    for (int d = 0; d < dims; d++) {
        dim[d] = (int)between(dice, 1, (uint32_t)(slot->n / all));
        periodic[d] = chance(dice, 50) && dim[d] > 2; /* see play_neighbours */
        all *= dim[d];
    }
    if (new && slot->me >= 0) {
        MPI_Cart_create(slot->comm, dims, dim, periodic, 0, &comm);
    }
    if (new) {
        int *ranks = all_ranks(slot->n);
        fill(player, new, slot, ranks, all, comm);
        free(ranks);
        new->dims = dims;
        memcpy(new->dim, dim, sizeof(dim));
        memcpy(new->periodic, periodic, sizeof(periodic));
    }
}

/* Two halves, a communicator between them, and one of both: the other half first. */
void play_merge(struct player *player, struct dice *dice, struct slot *slot)
{
    struct slot *new = slot->n > 1 ? free_slot(player) : NULL;
    int half = slot->n > 1 ? (int)between(dice, 1, (uint32_t)slot->n - 1) : 0;
    MPI_Comm peers, local, inter, comm = MPI_COMM_NULL;
    if (!new) {
        return;
    }
    if (slot->me >= 0) {
        bool first = slot->me < half;
        int there;
        MPI_Comm_split(slot->comm, first, slot->me, &local);
        MPI_Comm_dup(slot->comm, &peers); /* no message of another operation is in it */
        MPI_Intercomm_create(local, 0, peers, first ? half : 0, player->op, &inter);
        MPI_Comm_free(&peers);
        MPI_Comm_remote_size(inter, &there);
        if (there != (first ? slot->n - half : half)) {
            wrong(player->op, "an intercommunicator has %d remote processes", there);
        }
        MPI_Intercomm_merge(inter, first, &comm);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    int *ranks = malloc((size_t)slot->n * sizeof(int));
    for (int i = 0; i < slot->n; i++) {
        ranks[i] = (i + half) % slot->n;
    }
    fill(player, new, slot, ranks, slot->n, comm);
    free(ranks);
}

/* Also while something is pending in it. */
void play_free(struct player *player, struct dice *dice, struct slot *slot)
{
    (void)dice;
    if (slot == &player->slot[0]) {
        return;
    }
    if (slot->me >= 0) {
        MPI_Comm_free(&slot->comm);
    }
    free(slot->member);
    graph_free(slot->graph);
    *slot = (struct slot){.there = false};
}

/* ---- What hangs on a communicator ---- */

static int copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    ++*(int *)extra;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    *(int *)extra += 100;
    return MPI_SUCCESS;
}

void play_attribute(struct player *player, struct dice *dice, struct slot *slot)
{
    static char values[64];
    int times = 0, key, flag = 0;
    char *value = &values[below(dice, 60)], *got = NULL;
    MPI_Comm comm;
    if (slot->me < 0) {
        return;
    }
    MPI_Comm_create_keyval(copied, deleted, &key, &times);
    MPI_Comm_set_attr(slot->comm, key, value);
    MPI_Comm_dup(slot->comm, &comm);
    MPI_Comm_get_attr(comm, key, &got, &flag);
    MPI_Comm_free(&comm);
    MPI_Comm_delete_attr(slot->comm, key);
    MPI_Comm_free_keyval(&key);
    if (!flag || got != value + 1 || times != 201) {
        wrong(player->op, "an attribute: found %d, %td from the first, calls %d", flag, got - value,
              times);
    }
}

static _Thread_local int errors;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*code, &class);
    errors += class == MPI_ERR_RANK;
}

void play_error(struct player *player, struct dice *dice, struct slot *slot)
{
    MPI_Errhandler handler, before;
    int number = (int)below(dice, 100), class;
    if (slot->me < 0) {
        return;
    }
    errors = 0;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_get_errhandler(slot->comm, &before);
    MPI_Comm_set_errhandler(slot->comm, handler);
    int code = MPI_Send(&number, 1, MPI_INT, slot->n + number, 0, slot->comm);
    MPI_Comm_set_errhandler(slot->comm, before);
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&before);
    MPI_Error_class(code, &class);
    if (class != MPI_ERR_RANK || errors != 1) {
        wrong(player->op, "a send to rank %d of %d: class %d, %d calls of the handler",
              slot->n + number, slot->n, class, errors);
    }
}

static int asked(void *extra, MPI_Status *status)
{
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

static int released(void *extra)
{
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void check_generalised(struct pending *pending, const MPI_Status *status)
{
    int elements, *number = pending->more;
    MPI_Get_elements(status, MPI_INT, &elements);
    if (status->MPI_SOURCE != 3 || status->MPI_TAG != 4 || elements != (int)pending->elements ||
        *number != elements + 1) {
        wrong(pending->op, "a generalised request: source %d, tag %d, %d elements, %d",
              status->MPI_SOURCE, status->MPI_TAG, elements, *number);
    }
}

void play_generalised(struct player *player, struct dice *dice, struct slot *slot)
{
    int *number = malloc(sizeof(*number));
    struct pending *pending = begin(player);
    (void)slot;
    *number = (int)below(dice, 1000);
    pending->elements = (uint64_t)*number;
    pending->more = number;
    pending->over = check_generalised;
    MPI_Grequest_start(asked, released, cancelled, number, &pending->request);
    MPI_Grequest_complete(pending->request);
}
