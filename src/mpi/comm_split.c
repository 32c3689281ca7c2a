/* MPI_Comm_split and MPI_Comm_split_type: everybody's colour and key go to everybody. */
#include "mpi/intercomm.h"

#include <stdlib.h>

struct split {
    int32_t colour, key;
    int32_t rank; /* filled in after the exchange */
};

static int split_order(const void *a, const void *b)
{
    const struct split *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Those of my colour to the front, in the order of the new communicator; how many. */
static int split_select(struct split *all, int size, int32_t colour)
{
    int n = 0;
    for (int i = 0; i < size; i++) {
        if (all[i].colour == colour) {
            all[n] = all[i];
            all[n++].rank = i;
        }
    }
    qsort(all, (size_t)n, sizeof(*all), split_order);
    return n;
}

/* The group of those of `from` whose colour is mine, in the order of the new communicator; it may
 * be empty. */
static int split_group(const struct rz_group *from, struct split *all, int size, int32_t colour,
                       struct rz_group **group)
{
    int n = split_select(all, size, colour);
    uint32_t *ranks = malloc(((size_t)n + 1) * sizeof(*ranks));
    if (ranks == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        ranks[i] = from->world[all[i].rank];
    }
    *group = rz_group_new(n, ranks);
    free(ranks);
    if (*group != NULL) {
        (*group)->session = from->session;
    }
    return *group != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int split_derive(struct rz_comm *comm, uint64_t operation, struct split *all, int32_t colour,
                        const struct rz_news *others, struct rz_comm **newcomm)
{
    bool inter = comm->object.flags & RZ_COMM_INTER;
    struct rz_group *group = NULL, *remote = NULL;
    uint64_t words[3] = {comm->context, operation, (uint64_t)(uint32_t)colour};
    int error = split_group(comm->group, all, rz_comm_size(comm), colour, &group);
    if (error == MPI_SUCCESS && inter) {
        error = split_group(comm->remote, others->data, rz_comm_peers(comm), colour, &remote);
    }
    if (error == MPI_SUCCESS && remote != NULL && remote->size == 0) {
        *newcomm = NULL; /* a colour that the other group does not have */
    } else if (error == MPI_SUCCESS) {
        error = rz_comm_make(words, group, remote, comm->errhandler, newcomm);
    }
    if (group != NULL) {
        rz_group_release(group);
    }
    if (remote != NULL) {
        rz_group_release(remote);
    }
    return error;
}

static int split(struct rz_comm *comm, const char *call, int colour, int key,
                 struct rz_comm **newcomm)
{
    uint64_t operation;
    int error = rz_comm_create_begin(comm, call, &operation);
    if (error != MPI_SUCCESS) {
        return error;
    }
    bool inter = comm->object.flags & RZ_COMM_INTER;
    struct rz_comm *made = NULL;
    struct split mine = {.colour = colour, .key = key};
    struct rz_news here = {0}, there = {0};
    here.bytes = (size_t)rz_comm_size(comm) * sizeof(mine);
    if ((here.data = malloc(here.bytes)) == NULL) {
        return MPI_ERR_NO_MEM;
    }
    error = rz_comm_exchange(inter ? comm->local : comm, operation, &mine, sizeof(mine), here.data);
    if (error == MPI_SUCCESS && inter) {
        error = rz_intercomm_swap(comm, operation, MPI_SUCCESS, &here, &there);
    }
    if (error == MPI_SUCCESS && colour != MPI_UNDEFINED) {
        error = split_derive(comm, operation, here.data, colour, &there, &made);
    }
    free(here.data);
    free(there.data);
    if (error == MPI_SUCCESS) {
        *newcomm = made;
    }
    return error;
}

int rzm_comm_split(struct rz_comm *comm, int color, int key, struct rz_comm **newcomm)
{
    if (color < 0 && color != MPI_UNDEFINED) {
        return rzm_error(MPI_ERR_ARG, "color is %d, less than 0", color);
    }
    return split(comm, "MPI_Comm_split", color, key, newcomm);
}

int rzm_comm_split_type(struct rz_comm *comm, int split_type, int key, struct rz_info *info,
                        struct rz_comm **newcomm)
{
    (void)info;
    bool shared = split_type == MPI_COMM_TYPE_SHARED;
    uint64_t word = rz_engine.members[rz_engine.info->self.rank].word;
    int colour = shared ? (int)rz_board_node(word) : MPI_UNDEFINED;
    return split(comm, "MPI_Comm_split_type", colour, key, newcomm);
}
