/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made of groups and a name, without a parent. The context id is a function of the
 * members, the name, and the number of earlier creations with the same members and name: every
 * member takes part in each of these, so that all count alike.
 */
#include "base/random.h"
#include "mpi/create/create_hooks.h"

#include "mpi/agree/comm_info.h"
#include "mpi/core/errhandler.h"
#include "mpi/create/comm_creation.h"
#include "mpi/create/intercomm.h"
#include "mpi/engine/waiting.h"

#include <stdlib.h>
#include <string.h>

/* ---- The number of creations ---- */

struct made {
    uint64_t key; /* 0: free */
    uint64_t times;
};

static struct made *made; /* open addressing */
static size_t made_size, made_used;

static struct made *made_place(struct made *table, size_t size, uint64_t key)
{
    size_t i = key & (size - 1);
    while (table[i].key != 0 && table[i].key != key) {
        i = (i + 1) & (size - 1);
    }
    return &table[i];
}

static bool made_reserve(void)
{
    if (2 * (made_used + 1) <= made_size) {
        return true;
    }
    size_t size = made_size == 0 ? 64 : 2 * made_size;
    struct made *larger = calloc(size, sizeof(*larger));
    if (!larger) {
        return false;
    }
    for (size_t i = 0; i < made_size; i++) {
        if (made[i].key != 0) {
            *made_place(larger, size, made[i].key) = made[i];
        }
    }
    free(made);
    made = larger;
    made_size = size;
    return true;
}

/* The number of this creation among those with that key, counted from 1; 0: no memory. */
static uint64_t made_count(uint64_t key)
{
    if (!made_reserve()) {
        return 0;
    }
    key |= key == 0;
    struct made *place = made_place(made, made_size, key);
    made_used += place->key == 0;
    place->key = key;
    return ++place->times;
}

void rz_comm_from_group_close(void)
{
    free(made);
    made = NULL;
    made_size = 0;
    made_used = 0;
}

/* ---- Keys ---- */

/* Distinguish creations with equal members and name. */
enum { KIND_INTRA = 0x6701, KIND_LOCAL = 0x6702, KIND_INTER = 0x6703 };

static uint64_t key_of_text(uint64_t key, const char *text)
{
    for (; *text != '\0'; text++) {
        key = rz_mix(key, (unsigned char)*text);
    }
    return rz_mix(key, 0x100);
}

/* Within an epoch a rank of the job identifies one incarnation. In a job that rewinds, all ranks
 * are restored with their counts, and a member that was in the call already has its key: the others
 * must compute the same one in a later epoch. */
static uint64_t key_of_group(uint64_t key, const struct rz_group *group)
{
    uint64_t epoch = rz_engine.rewinds ? 0 : rz_engine.epoch;
    key = rz_mix(key, epoch << 32 | (uint32_t)group->size);
    for (int i = 0; i < group->size; i++) {
        key = rz_mix(key, group->process[i]);
    }
    return key;
}

/* Makes an intra-communicator of group; kind: its purpose. */
static int make_intra(uint64_t kind, struct rz_group *group, const char *stringtag,
                      struct rz_errhandler *errhandler, struct rz_comm **newcomm)
{
    uint64_t key =
        key_of_text(key_of_group(rz_mix(rz_engine.info->self.job, kind), group), stringtag);
    uint64_t words[3] = {key, made_count(key), kind};
    return words[1] == 0 ? MPI_ERR_NO_MEM : rz_comm_make(words, group, NULL, errhandler, newcomm);
}

static int check(const char *name, const struct rz_group *group,
                 const struct rz_errhandler *errhandler)
{
    int error = rz_engine_begin();
    if (error == MPI_SUCCESS && group->rank == MPI_UNDEFINED) {
        error = rzm_error(MPI_ERR_GROUP, "this process is not in %s", name);
    }
    if (error == MPI_SUCCESS && errhandler->object.predefined == 0 &&
        errhandler->of != RZ_OBJECT_COMM) {
        error = rzm_error(MPI_ERR_ERRHANDLER, "the error handler is not one of communicators");
    }
    return error;
}

/* A barrier that ends when all members have entered, so that a failed member is reported. Each
 * member has made `made` by itself before, so each takes part. Releases it on an error. */
static int settle_made(struct rz_comm *made, const char *call)
{
    uint64_t operation;
    int error = rz_comm_create_begin(made, call, &operation);
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(made, operation);
    rz_comm_create_end(made);
    if (error != MPI_SUCCESS) {
        rz_comm_release(made);
    }
    return error;
}

int rzm_comm_create_from_group(struct rz_group *group, const char *stringtag, struct rz_info *info,
                               struct rz_errhandler *errhandler, struct rz_comm **newcomm)
{
    if (group->size == 0) {
        *newcomm = NULL;
        return MPI_SUCCESS;
    }
    int error = check("group", group, errhandler);
    struct rz_comm *made_here;
    if (error == MPI_SUCCESS) {
        error = make_intra(KIND_INTRA, group, stringtag, errhandler, &made_here);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = settle_made(made_here, "MPI_Comm_create_from_group");
    if (error != MPI_SUCCESS) {
        return error;
    }
    rz_comm_take_hints(made_here, info);
    *newcomm = made_here;
    return MPI_SUCCESS;
}

/* ---- MPI_Intercomm_create_from_groups ---- */

struct leaders {
    const struct rz_group *local, *remote; /* remote: known to the local leader */
    int local_leader, remote_leader;
    const char *stringtag;
};

/* At a leader, which knows both groups: computes a word that the other leader computes, too. */
static int leader_word(const struct leaders *leaders, uint64_t *word)
{
    const struct rz_group *local = leaders->local, *remote = leaders->remote;
    int local_leader = leaders->local_leader, remote_leader = leaders->remote_leader;
    if (remote_leader < 0 || remote_leader >= remote->size) {
        return rzm_error(MPI_ERR_RANK, "remote_leader is %d, not in 0..%d", remote_leader,
                         remote->size - 1);
    }
    int error = rz_intercomm_check_disjoint(local, remote);
    if (error != MPI_SUCCESS) {
        return error;
    }
    uint64_t mine = local->process[local_leader], other = remote->process[remote_leader];
    bool first = mine < other;
    uint64_t key = rz_mix(rz_engine.info->self.job, KIND_INTER);
    key = rz_mix(key, first ? mine << 32 | other : other << 32 | mine);
    key = key_of_group(key_of_group(key, first ? local : remote), first ? remote : local);
    key = key_of_text(key, leaders->stringtag);
    uint64_t times = made_count(key);
    *word = rz_mix(key, times);
    return times != 0 ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Broadcasts the leader's word and the remote group in the local group, over a communicator made
 * for that. */
static int told_by_leader(struct rz_comm *local, const struct leaders *leaders, uint64_t *word,
                          struct rz_group **told)
{
    int error = MPI_SUCCESS;
    struct rz_news news = {0};
    uint64_t operation = rz_comm_begin(local, "MPI_Intercomm_create_from_groups");
    if (rz_comm_rank(local) == leaders->local_leader) {
        error = leader_word(leaders, word);
        error = error != MPI_SUCCESS ? error : rz_news_of_group(*word, leaders->remote, &news);
    }
    error = rz_news_tell(local, operation, leaders->local_leader, error, &news);
    error = error != MPI_SUCCESS ? error : rz_news_read_group(&news, word, told);
    free(news.data);
    return error;
}

int rzm_intercomm_create_from_groups(struct rz_group *local_group, int local_leader,
                                     struct rz_group *remote_group, int remote_leader,
                                     const char *stringtag, struct rz_info *info,
                                     struct rz_errhandler *errhandler,
                                     struct rz_comm **newintercomm)
{
    struct rz_comm *local;
    struct rz_group *remote = NULL;
    uint64_t word = 0;
    int error = check("local_group", local_group, errhandler);
    if (error == MPI_SUCCESS && (local_leader < 0 || local_leader >= local_group->size)) {
        error = rzm_error(MPI_ERR_RANK, "local_leader is %d, not in 0..%d", local_leader,
                          local_group->size - 1);
    }
    error = error != MPI_SUCCESS
                ? error
                : make_intra(KIND_LOCAL, local_group, stringtag, errhandler, &local);
    if (error != MPI_SUCCESS) {
        return error;
    }
    const struct leaders leaders = {local_group, remote_group, local_leader, remote_leader,
                                    stringtag};
    error = told_by_leader(local, &leaders, &word, &remote);
    rz_comm_release(local);
    if (error == MPI_SUCCESS) {
        uint64_t words[3] = {word, 0, KIND_INTER};
        error = rz_comm_make(words, local_group, remote, errhandler, newintercomm);
        rz_group_release(remote);
    }
    if (error == MPI_SUCCESS) {
        rz_comm_take_hints(*newintercomm, info);
    }
    return error;
}
