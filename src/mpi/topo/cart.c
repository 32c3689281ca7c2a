/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cartesian topologies: inquiries, and communicators with them. Of these every process computes the
 * members; messages only make sure that all have entered the call.
 */
#include "mpi/topo/cart.h"

#include "mpi/create/comm_creation.h"
#include "mpi/engine/waiting.h"

#include <stdlib.h>

/* ---- The object ---- */

static void cart_free(void *topology)
{
    free(topology);
}

static struct rz_cart *cart_new(int ndims, const int dims[], const int periods[])
{
    struct rz_cart *cart = malloc(sizeof(*cart) + 2 * (size_t)ndims * sizeof(int));
    if (!cart) {
        return NULL;
    }
    cart->topology.kind = MPI_CART;
    cart->ndims = ndims;
    cart->dims = (int *)(cart + 1);
    cart->periodic = cart->dims + ndims;
    for (int i = 0; i < ndims; i++) {
        cart->dims[i] = dims[i];
        cart->periodic[i] = periods[i] != 0;
    }
    return cart;
}

static void *cart_copy(const void *topology)
{
    const struct rz_cart *cart = topology;
    return cart_new(cart->ndims, cart->dims, cart->periodic);
}

/* Gives comm this topology, copied. MPI_ERR_NO_MEM. */
static int cart_attach(struct rz_comm *comm, int ndims, const int dims[], const int periods[])
{
    comm->topology = cart_new(ndims, dims, periods);
    comm->topology_free = cart_free;
    comm->topology_copy = cart_copy;
    return comm->topology ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* The topology of comm, or NULL with *error set to MPI_ERR_TOPOLOGY. */
static const struct rz_cart *cart_of(const struct rz_comm *comm, int *error)
{
    bool found = rz_topology_kind(comm) == MPI_CART;
    *error = found ? MPI_SUCCESS : rzm_error(MPI_ERR_TOPOLOGY, "comm has no Cartesian topology");
    return found ? comm->topology : NULL;
}

/* coords[ndims] of a rank. */
static void cart_coords(const struct rz_cart *cart, int rank, int coords[])
{
    for (int i = cart->ndims - 1; i >= 0; i--) {
        coords[i] = rank % cart->dims[i];
        rank /= cart->dims[i];
    }
}

/* ---- Inquiries ---- */

int rzm_cartdim_get(struct rz_comm *comm, int *ndims)
{
    int error;
    const struct rz_cart *cart = cart_of(comm, &error);
    if (cart) {
        *ndims = cart->ndims;
    }
    return error;
}

static int maxdims_too_short(const struct rz_cart *cart, int maxdims)
{
    return cart->ndims <= maxdims
               ? MPI_SUCCESS
               : rzm_error(MPI_ERR_ARG, "maxdims is %d, the topology has %d dimensions", maxdims,
                           cart->ndims);
}

int rzm_cart_get(struct rz_comm *comm, int maxdims, int dims[], int periods[], int coords[])
{
    int error;
    const struct rz_cart *cart = cart_of(comm, &error);
    if (!cart || (error = maxdims_too_short(cart, maxdims)) != MPI_SUCCESS) {
        return error;
    }
    memcpy(dims, cart->dims, (size_t)cart->ndims * sizeof(int));
    memcpy(periods, cart->periodic, (size_t)cart->ndims * sizeof(int));
    cart_coords(cart, rz_comm_rank(comm), coords);
    return MPI_SUCCESS;
}

int rzm_cart_coords(struct rz_comm *comm, int rank, int maxdims, int coords[])
{
    int error;
    const struct rz_cart *cart = cart_of(comm, &error);
    if (!cart || (error = maxdims_too_short(cart, maxdims)) != MPI_SUCCESS) {
        return error;
    }
    if (rank < 0 || rank >= rz_comm_size(comm)) {
        return rzm_error(MPI_ERR_RANK, "rank is %d, not in 0..%d", rank, rz_comm_size(comm) - 1);
    }
    cart_coords(cart, rank, coords);
    return MPI_SUCCESS;
}

/* The position `at` on a ring of `size`. */
static int wrap(int64_t at, int size)
{
    int64_t rest = at % size;
    return (int)(rest < 0 ? rest + size : rest);
}

int rzm_cart_rank(struct rz_comm *comm, const int coords[], int *rank)
{
    int error;
    const struct rz_cart *cart = cart_of(comm, &error);
    if (!cart) {
        return error;
    }
    if (!coords && cart->ndims > 0) {
        return rzm_error(MPI_ERR_ARG, "coords is a null pointer");
    }
    int found = 0;
    for (int i = 0; i < cart->ndims; i++) {
        int size = cart->dims[i];
        if (!cart->periodic[i] && (coords[i] < 0 || coords[i] >= size)) {
            return rzm_error(MPI_ERR_ARG, "coords[%d] is %d, not in 0..%d", i, coords[i], size - 1);
        }
        found = found * size + wrap(coords[i], size);
    }
    *rank = found;
    return MPI_SUCCESS;
}

int rz_cart_neighbour(const struct rz_cart *cart, int rank, int direction, int64_t distance)
{
    int stride = 1, size = cart->dims[direction];
    for (int i = cart->ndims - 1; i > direction; i--) {
        stride *= cart->dims[i];
    }
    int at = rank / stride % size;
    int64_t to = at + distance;
    if (!cart->periodic[direction] && (to < 0 || to >= size)) {
        return MPI_PROC_NULL;
    }
    return rank + (wrap(to, size) - at) * stride;
}

int rzm_cart_shift(struct rz_comm *comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    int error, rank = rz_comm_rank(comm);
    const struct rz_cart *cart = cart_of(comm, &error);
    if (!cart) {
        return error;
    }
    if (direction < 0 || direction >= cart->ndims) {
        return rzm_error(MPI_ERR_DIMS, "direction is %d, not in 0..%d", direction, cart->ndims - 1);
    }
    *rank_source = rz_cart_neighbour(cart, rank, direction, -(int64_t)disp);
    *rank_dest = rz_cart_neighbour(cart, rank, direction, disp);
    return MPI_SUCCESS;
}

/* ---- MPI_Cart_create, MPI_Cart_map ---- */

/* The number of processes in the grid; an error if size is smaller. */
static int grid_size(int ndims, const int dims[], int size, int *n)
{
    int64_t cells = 1;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] <= 0) {
            return rzm_error(MPI_ERR_DIMS, "dims[%d] is %d", i, dims[i]);
        }
        cells *= dims[i];
        if (cells > size) {
            return rzm_error(MPI_ERR_TOPOLOGY, "dims give more cells than the %d processes of comm",
                             size);
        }
    }
    *n = (int)cells;
    return MPI_SUCCESS;
}

static int begin_cart(struct rz_comm *comm, const char *call, uint64_t *operation)
{
    int error = rz_comm_create_begin(comm, call, operation);
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(comm, *operation);
    if (error == MPI_SUCCESS && comm->object.flags & RZ_COMM_INTER) {
        error = rzm_error(MPI_ERR_COMM,
                          "comm is an inter-communicator, which has no Cartesian topology");
    }
    return error;
}

/* A group of n ranks. Frees ranks. NULL: no memory, also if ranks is NULL. */
static struct rz_group *group_of(uint32_t *ranks, int n)
{
    struct rz_group *group = ranks ? rz_group_new(n, ranks) : NULL;
    free(ranks);
    return group;
}

/* A communicator of this group of comm (all members know it) with a topology. Consumes group. */
static int derive(struct rz_comm *comm, uint64_t operation, uint64_t colour, struct rz_group *group,
                  const struct rz_cart *cart, struct rz_comm **newcomm)
{
    if (!group) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_comm *made;
    int error = rz_comm_derive(comm, group, operation, colour, &made);
    rz_group_release(group);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = cart_attach(made, cart->ndims, cart->dims, cart->periodic);
    if (error != MPI_SUCCESS) {
        rz_comm_release(made);
        return error;
    }
    *newcomm = made;
    return MPI_SUCCESS;
}

int rzm_cart_create(struct rz_comm *comm_old, int ndims, const int dims[], const int periods[],
                    int reorder, struct rz_comm **comm_cart)
{
    (void)reorder; /* ranks are not changed: reductions and checkpoints depend on them */
    uint64_t operation;
    int n = 0;
    int error = begin_cart(comm_old, "MPI_Cart_create", &operation);
    if (error == MPI_SUCCESS) {
        error = grid_size(ndims, dims, rz_comm_size(comm_old), &n);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (rz_comm_rank(comm_old) >= n) {
        *comm_cart = NULL;
        return MPI_SUCCESS;
    }
    uint32_t *ranks = malloc((size_t)n * sizeof(*ranks));
    if (ranks) {
        memcpy(ranks, comm_old->group->process, (size_t)n * sizeof(*ranks));
    }
    struct rz_cart cart = {
        .ndims = ndims, .dims = (int *)(uintptr_t)dims, .periodic = (int *)(uintptr_t)periods};
    return derive(comm_old, operation, 0, group_of(ranks, n), &cart, comm_cart);
}

int rzm_cart_map(struct rz_comm *comm, int ndims, const int dims[], const int periods[],
                 int *newrank)
{
    (void)periods;
    int n = 0;
    int error = grid_size(ndims, dims, rz_comm_size(comm), &n);
    if (error == MPI_SUCCESS) {
        *newrank = rz_comm_rank(comm) < n ? rz_comm_rank(comm) : MPI_UNDEFINED;
    }
    return error;
}

/* ---- MPI_Cart_sub ---- */

/*
 * Splits a grid: `kept` has the dimensions that remain, in order, and moves[i] is the distance in
 * old ranks between neighbours in kept dimension i. Returns the rank of the slice's corner, which
 * identifies the slice.
 */
static int slice(const struct rz_cart *cart, int rank, const int remain_dims[],
                 struct rz_cart *kept, int *moves)
{
    int corner = rank, stride = 1;
    for (int i = cart->ndims - 1; i >= 0; i--) {
        corner -= remain_dims[i] ? rank / stride % cart->dims[i] * stride : 0;
        stride *= cart->dims[i];
    }
    kept->ndims = 0;
    for (int i = 0; i < cart->ndims; i++) {
        stride /= cart->dims[i];
        if (remain_dims[i]) {
            kept->dims[kept->ndims] = cart->dims[i];
            kept->periodic[kept->ndims] = cart->periodic[i];
            moves[kept->ndims++] = stride;
        }
    }
    return corner;
}

static uint32_t *slice_ranks(const struct rz_comm *comm, const struct rz_cart *kept,
                             const int *moves, int corner, int *n)
{
    *n = 1;
    for (int i = 0; i < kept->ndims; i++) {
        *n *= kept->dims[i];
    }
    uint32_t *ranks = malloc((size_t)*n * sizeof(*ranks));
    for (int k = 0; k < *n && ranks; k++) {
        int rank = corner, rest = k;
        for (int i = kept->ndims - 1; i >= 0; i--) {
            rank += rest % kept->dims[i] * moves[i];
            rest /= kept->dims[i];
        }
        ranks[k] = comm->group->process[rank];
    }
    return ranks;
}

int rzm_cart_sub(struct rz_comm *comm, const int remain_dims[], struct rz_comm **newcomm)
{
    uint64_t operation;
    int error = begin_cart(comm, "MPI_Cart_sub", &operation);
    const struct rz_cart *cart = error == MPI_SUCCESS ? cart_of(comm, &error) : NULL;
    if (!cart) {
        return error;
    }
    if (!remain_dims && cart->ndims > 0) {
        return rzm_error(MPI_ERR_ARG, "remain_dims is a null pointer");
    }
    int *numbers = malloc(((size_t)cart->ndims + 1) * 3 * sizeof(int));
    if (!numbers) {
        return MPI_ERR_NO_MEM;
    }
    struct rz_cart kept = {.dims = numbers, .periodic = numbers + cart->ndims};
    int *moves = numbers + 2 * cart->ndims, n;
    int corner = slice(cart, rz_comm_rank(comm), remain_dims, &kept, moves);
    uint32_t *ranks = slice_ranks(comm, &kept, moves, corner, &n);
    error = derive(comm, operation, (uint64_t)corner, group_of(ranks, n), &kept, newcomm);
    free(numbers);
    return error;
}
