/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inquiries of Cartesian topologies; cart_make.c makes communicators with them.
 */
#include "mpi/topo/cart.h"

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

int rz_cart_attach(struct rz_comm *comm, int ndims, const int dims[], const int periods[])
{
    comm->topology = cart_new(ndims, dims, periods);
    comm->topology_free = cart_free;
    comm->topology_copy = cart_copy;
    return comm->topology ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

const struct rz_cart *rz_cart_of(const struct rz_comm *comm, int *error)
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
    const struct rz_cart *cart = rz_cart_of(comm, &error);
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
    const struct rz_cart *cart = rz_cart_of(comm, &error);
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
    const struct rz_cart *cart = rz_cart_of(comm, &error);
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
    const struct rz_cart *cart = rz_cart_of(comm, &error);
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
    const struct rz_cart *cart = rz_cart_of(comm, &error);
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
