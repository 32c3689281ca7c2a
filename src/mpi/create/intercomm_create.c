/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Intercomm_create: two groups of which only the leaders can communicate at first.
 */
#include "base/random.h"
#include "mpi/create/intercomm.h"
#include "mpi/create/comm_creation.h"

#include <stdlib.h>

/* Leaders use the context offset of MPI_Comm_create_group and the user's tag; this bit keeps the
 * two apart. */
#define LEADER_TAG 0x40000000

/* At the leader: receives the news of the other leader. error: one that this leader has already. */
static int leaders_meet(struct rz_comm *local_comm, uint64_t seed, const struct rz_leader_way *way,
                        int error, struct rz_news *theirs)
{
    struct rz_news mine = {0};
    int peers = rz_comm_peers(way->bridge);
    if (way->peer < 0 || way->peer >= peers) {
        return rzm_error(MPI_ERR_RANK, "remote_leader is %d, not in 0..%d", way->peer, peers - 1);
    }
    error = error != MPI_SUCCESS ? error : rz_news_of_group(seed, local_comm->group, &mine);
    error = rz_news_swap(way, error, &mine, theirs);
    free(mine.data);
    return error;
}

static int make_intercomm(struct rz_comm *local_comm, uint64_t seed, const struct rz_news *theirs,
                          struct rz_comm **newintercomm)
{
    uint64_t other;
    struct rz_group *remote;
    int error = rz_news_read_group(theirs, &other, &remote);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rz_intercomm_check_disjoint(local_comm->group, remote);
    if (error == MPI_SUCCESS) {
        uint64_t words[3] = {seed < other ? seed : other, seed < other ? other : seed, 0x1e4d};
        error =
            rz_comm_make(words, local_comm->group, remote, local_comm->errhandler, newintercomm);
    }
    rz_group_release(remote);
    return error;
}

int rzm_intercomm_create(struct rz_comm *local_comm, int local_leader, struct rz_comm *peer_comm,
                         int remote_leader, int tag, struct rz_comm **newintercomm)
{
    uint64_t operation = 0;
    int size = rz_comm_size(local_comm);
    if (local_comm->object.flags & RZ_COMM_INTER) {
        return rzm_error(MPI_ERR_COMM, "local_comm is an inter-communicator");
    }
    if (local_leader < 0 || local_leader >= size) {
        return rzm_error(MPI_ERR_RANK, "local_leader is %d, not in 0..%d", local_leader, size - 1);
    }
    int error = rz_comm_create_begin(local_comm, "MPI_Intercomm_create", &operation);
    if (error == RZM_ROLLBACK) {
        return error;
    }
    /* The leaders exchange news after all of both groups have entered, so no member leaves before
     * that. */
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(local_comm, operation);
    if (error == RZM_ROLLBACK) {
        return error;
    }
    uint64_t seed = rz_mix(local_comm->context, operation);
    struct rz_news theirs = {0};
    if (rz_comm_rank(local_comm) == local_leader) {
        /* Also after an error, since the other leader waits. */
        const struct rz_leader_way way = {peer_comm, RZ_CONTEXT_OFFSET_CREATE, remote_leader,
                                          tag | LEADER_TAG};
        error = leaders_meet(local_comm, seed, &way, error, &theirs);
    }
    error = rz_news_tell(local_comm, operation, local_leader, error, &theirs);
    if (error == MPI_SUCCESS) {
        error = make_intercomm(local_comm, seed, &theirs, newintercomm);
    }
    free(theirs.data);
    return error;
}
