/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges news between two leaders and spreads it in their groups; MPI_Comm_create and
 * MPI_Intercomm_merge on inter-communicators.
 */
#include "mpi/create/intercomm.h"

#include "base/no_memory.h"
#include "mpi/create/comm_creation.h"

#include <stdlib.h>
#include <string.h>

/* Sent before the bytes of the news. */
struct head {
    uint64_t bytes;
    int32_t error, zero;
};

static struct head head_of(int error, const struct rz_news *news)
{
    return (struct head){.bytes = error == MPI_SUCCESS ? news->bytes : 0, .error = error};
}

/* Space for news that others have sent, or pass on through this process: they would wait for ever
 * for one that has no memory and does not say so by its end. */
static struct rz_news news_to_come(uint64_t bytes)
{
    struct rz_news news = {malloc(bytes + 1), bytes};
    rz_need_memory(news.data, "for %zu bytes that other processes send", news.bytes);
    return news;
}

/* ---- Between two leaders ---- */

static struct rz_p2p_message message_of(const struct rz_leader_way *way, const void *data,
                                        size_t bytes)
{
    return (struct rz_p2p_message){.buffer = (void *)(uintptr_t)data,
                                   .count = (MPI_Count)bytes,
                                   .datatype = rz_datatype_of(MPI_BYTE),
                                   .peer = way->peer,
                                   .tag = way->tag,
                                   .comm = way->bridge,
                                   .context_offset = way->context_offset};
}

static int hear(const struct rz_leader_way *way, void *data, size_t bytes)
{
    const struct rz_p2p_message message = message_of(way, data, bytes);
    return rz_creation_recv(&message);
}

static int hear_news(const struct rz_leader_way *way, struct rz_news *theirs)
{
    struct head head;
    int error = hear(way, &head, sizeof(head));
    if (error == MPI_SUCCESS && head.error != MPI_SUCCESS) {
        error = rzm_error(head.error, "the leader of the other group could not continue");
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    *theirs = news_to_come(head.bytes);
    return head.bytes == 0 ? MPI_SUCCESS : hear(way, theirs->data, head.bytes);
}

int rz_news_swap(const struct rz_leader_way *way, int error, const struct rz_news *mine,
                 struct rz_news *theirs)
{
    struct head head = head_of(error, mine);
    struct rz_request *sends[2] = {NULL, NULL};
    const struct rz_p2p_message first = message_of(way, &head, sizeof(head));
    int result = rz_creation_isend(&first, &sends[0]);
    if (result == MPI_SUCCESS && head.bytes > 0) {
        const struct rz_p2p_message second = message_of(way, mine->data, head.bytes);
        result = rz_creation_isend(&second, &sends[1]);
    }
    if (result == MPI_SUCCESS) {
        result = hear_news(way, theirs);
    }
    int sent = rz_creation_wait(sends, 2);
    result = result != MPI_SUCCESS ? result : sent;
    return error != MPI_SUCCESS && result != RZM_ROLLBACK ? error : result;
}

/* ---- Within and between groups ---- */

int rz_news_tell(struct rz_comm *comm, uint64_t operation, int root, int error,
                 struct rz_news *news)
{
    if (error == RZM_ROLLBACK) {
        return error;
    }
    bool teller = rz_comm_rank(comm) == root;
    struct head head = head_of(error, news);
    int result = rz_comm_spread(comm, operation, root, &head, sizeof(head));
    if (teller && error != MPI_SUCCESS && result != RZM_ROLLBACK) {
        return error;
    }
    if (result == MPI_SUCCESS && head.error != MPI_SUCCESS) {
        result = rzm_error(head.error, "rank %d, the leader, could not continue", root);
    }
    if (result == MPI_SUCCESS && !teller) {
        *news = news_to_come(head.bytes);
    }
    if (result == MPI_SUCCESS && head.bytes > 0) {
        result = rz_comm_spread(comm, operation, root, news->data, news->bytes);
    }
    return result;
}

int rz_intercomm_swap(struct rz_comm *inter, uint64_t operation, int error,
                      const struct rz_news *mine, struct rz_news *theirs)
{
    if (rz_comm_rank(inter) == 0) {
        const struct rz_leader_way way = {inter, RZ_CONTEXT_OFFSET_COLLECTIVE, 0,
                                          rz_comm_operation_tag(operation)};
        error = rz_news_swap(&way, error, mine, theirs);
    }
    return rz_news_tell(inter->local, operation, 0, error, theirs);
}

int rz_news_of_group(uint64_t word, const struct rz_group *group, struct rz_news *news)
{
    size_t ranks = (size_t)group->size * sizeof(group->process[0]);
    *news = (struct rz_news){malloc(sizeof(word) + ranks), sizeof(word) + ranks};
    if (!news->data) {
        return MPI_ERR_NO_MEM;
    }
    memcpy(news->data, &word, sizeof(word));
    memcpy((char *)news->data + sizeof(word), group->process, ranks);
    return MPI_SUCCESS;
}

int rz_news_read_group(const struct rz_news *news, uint64_t *word, struct rz_group **group)
{
    const uint32_t *ranks = (void *)((char *)news->data + sizeof(*word));
    memcpy(word, news->data, sizeof(*word));
    *group = rz_group_new((int)((news->bytes - sizeof(*word)) / sizeof(*ranks)), ranks);
    return *group ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int rz_intercomm_check_disjoint(const struct rz_group *local, const struct rz_group *remote)
{
    for (int i = 0; i < local->size; i++) {
        int there = rz_group_find(remote, local->process[i]);
        if (there != MPI_UNDEFINED) {
            return rzm_error(MPI_ERR_GROUP,
                             "rank %d of the local group is rank %d of the remote one", i, there);
        }
    }
    return MPI_SUCCESS;
}

/* ---- MPI_Comm_create ---- */

/* theirs: the members that the other group selects. */
static int create_of(struct rz_comm *inter, uint64_t operation, struct rz_group *group,
                     const struct rz_news *theirs, struct rz_comm **newcomm)
{
    uint64_t words[3] = {inter->context, operation, 0}, nothing;
    struct rz_group *remote;
    int error = rz_news_read_group(theirs, &nothing, &remote);
    if (error != MPI_SUCCESS) {
        return error;
    }
    if (group->rank == MPI_UNDEFINED || remote->size == 0) {
        *newcomm = NULL;
    } else {
        error = rz_comm_make(words, group, remote, inter->errhandler, newcomm);
    }
    rz_group_release(remote);
    return error;
}

int rz_intercomm_create(struct rz_comm *inter, struct rz_group *group, int error,
                        struct rz_comm **newcomm)
{
    uint64_t operation;
    int begun = rz_comm_create_begin(inter, "MPI_Comm_create", &operation);
    begun = begun != MPI_SUCCESS ? begun : rz_comm_synchronise(inter, operation);
    if (begun != MPI_SUCCESS) {
        return begun;
    }
    struct rz_news mine = {0}, theirs = {0};
    error = error != MPI_SUCCESS ? error : rz_news_of_group(0, group, &mine);
    error = rz_intercomm_swap(inter, operation, error, &mine, &theirs);
    if (error == MPI_SUCCESS) {
        error = create_of(inter, operation, group, &theirs, newcomm);
    }
    free(mine.data);
    free(theirs.data);
    return error;
}

/* ---- MPI_Intercomm_merge ---- */

int rzm_intercomm_merge(struct rz_comm *intercomm, int high, struct rz_comm **newintracomm)
{
    uint64_t operation;
    unsigned char mine = high != 0;
    struct rz_news said = {&mine, sizeof(mine)}, theirs = {0};
    int error = MPI_SUCCESS;
    if (!(intercomm->object.flags & RZ_COMM_INTER)) {
        return rzm_error(MPI_ERR_COMM, "intercomm is no inter-communicator");
    }
    error = rz_comm_create_begin(intercomm, "MPI_Intercomm_merge", &operation);
    error = error != MPI_SUCCESS ? error : rz_comm_synchronise(intercomm, operation);
    error = error != MPI_SUCCESS
                ? error
                : rz_intercomm_swap(intercomm, operation, MPI_SUCCESS, &said, &theirs);
    if (error != MPI_SUCCESS) {
        free(theirs.data);
        return error;
    }
    unsigned char other = *(unsigned char *)theirs.data;
    free(theirs.data);
    struct rz_group *first = intercomm->group, *second = intercomm->remote;
    /* When both groups pass the same value, the group whose first member has the lower number comes
     * first. */
    if (mine != other ? mine : second->process[0] < first->process[0]) {
        first = intercomm->remote;
        second = intercomm->group;
    }
    struct rz_group *both;
    error = rzm_group_union(first, second, &both);
    if (error == MPI_SUCCESS) {
        error = rz_comm_derive(intercomm, both, operation, 0, newintracomm);
        rz_group_release(both);
    }
    return error;
}
