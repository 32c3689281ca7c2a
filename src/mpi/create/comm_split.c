/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_split and MPI_Comm_split_type: all members exchange colours and keys. And the types of
 * hardware by which MPI_Comm_split_type splits: MPI_Get_hw_resource_info.
 */
#include "mpi/agree/comm_info.h"
#include "mpi/create/comm_creation.h"
#include "mpi/create/intercomm.h"
#include "mpi/engine/waiting.h"

#include <sched.h>
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

/* Moves the members of my colour to the front, in the order of the new communicator; returns their
 * number. */
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

/* The group of the members of `from` that have my colour, in the order of the new communicator; it
 * may be empty. */
static int split_group(const struct rz_group *from, struct split *all, int size, int32_t colour,
                       struct rz_group **group)
{
    int n = split_select(all, size, colour);
    uint32_t *ranks = malloc(((size_t)n + 1) * sizeof(*ranks));
    if (!ranks) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        ranks[i] = from->process[all[i].rank];
    }
    *group = rz_group_new(n, ranks);
    free(ranks);
    if (*group) {
        (*group)->session = from->session;
    }
    return *group ? MPI_SUCCESS : MPI_ERR_NO_MEM;
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
    if (error == MPI_SUCCESS && remote && remote->size == 0) {
        *newcomm = NULL; /* no member of the other group has this colour */
    } else if (error == MPI_SUCCESS) {
        error = rz_comm_make(words, group, remote, comm->errhandler, newcomm);
    }
    if (group) {
        rz_group_release(group);
    }
    if (remote) {
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

/* ---- Pieces of hardware to which this process is bound ---- */

/* The types of hardware, as users name them in the info key mpi_hw_resource_type. */
#define HARDWARE_KEY "mpi_hw_resource_type"
#define HARDWARE_SHARED_MEMORY "mpi_shared_memory"
#define HARDWARE_NODE "rhizome://node"
#define HARDWARE_PROCESSOR "rhizome://processor"

/* The number, on its node, of the only processor on which this process may run; -1: there are
 * several. */
static int only_processor(void)
{
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) != 1) {
        return -1;
    }
    int processor = 0;
    while (!CPU_ISSET((size_t)processor, &cpus)) {
        processor++;
    }
    return processor;
}

/* The types of hardware of which this process is bound to one piece. */
int rzm_get_hw_resource_info(struct rz_info **hw_info)
{
    struct rz_info *made;
    int error = rzm_info_create(&made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    error = rzm_info_set(made, HARDWARE_NODE, "true");
    if (error == MPI_SUCCESS) {
        error = rzm_info_set(made, HARDWARE_PROCESSOR, only_processor() >= 0 ? "true" : "false");
    }
    if (error != MPI_SUCCESS) {
        rzm_info_free(made);
        return error;
    }
    *hw_info = made;
    return MPI_SUCCESS;
}

/* ---- MPI_Comm_split_type: the colour is the number of the shared piece of hardware ---- */

static int node_of_process(uint32_t process)
{
    return (int)rz_board_node(rz_member_of(process)->word);
}

static int colour_node(void)
{
    return node_of_process(rz_engine.self);
}

/* MPI_UNDEFINED where this process is not bound to a single processor. */
static int colour_processor(void)
{
    int processor = only_processor();
    return processor < 0 ? MPI_UNDEFINED : colour_node() * CPU_SETSIZE + processor;
}

/* Of an unknown hardware type there are no pieces: the standard then requires MPI_COMM_NULL. */
static int colour_of_hardware(const char *type)
{
    if (strcmp(type, HARDWARE_SHARED_MEMORY) == 0 || strcmp(type, HARDWARE_NODE) == 0) {
        return colour_node();
    }
    return strcmp(type, HARDWARE_PROCESSOR) == 0 ? colour_processor() : MPI_UNDEFINED;
}

static int colour_of_pset(const char *name)
{
    unsigned comm = rz_process_set_comm(name);
    return comm == 0x101 ? 0 : comm == 0x102 ? (int)rz_engine.info->self.rank : MPI_UNDEFINED;
}

static bool info_says(struct rz_info *info, const char *key, char value[MPI_MAX_INFO_VAL])
{
    int there = 0;
    return info && rzm_info_get(info, key, MPI_MAX_INFO_VAL - 1, value, &there) == MPI_SUCCESS &&
           there;
}

static int colour_guided(int split_type, struct rz_info *info)
{
    char value[MPI_MAX_INFO_VAL];
    if (info_says(info, HARDWARE_KEY, value)) {
        return colour_of_hardware(value);
    }
    bool by_pset = split_type == MPI_COMM_TYPE_RESOURCE_GUIDED;
    return by_pset && info_says(info, "mpi_pset_name", value) ? colour_of_pset(value)
                                                              : MPI_UNDEFINED;
}

/* ---- MPI_COMM_TYPE_HW_UNGUIDED: pieces that do not hold all of comm ---- */

static bool on_one_node(const struct rz_comm *comm)
{
    for (int i = 1; i < comm->group->size; i++) {
        if (node_of_process(comm->group->process[i]) != node_of_process(comm->group->process[0])) {
            return false;
        }
    }
    return true;
}

static int split_unguided(struct rz_comm *comm, int key, struct rz_info *info,
                          struct rz_comm **newcomm)
{
    bool by_node = !on_one_node(comm);
    struct rz_comm *made = NULL;
    int error = split(comm, "MPI_Comm_split_type", by_node ? colour_node() : colour_processor(),
                      key, &made);
    if (error == MPI_SUCCESS && made && made->group->size == comm->group->size) {
        rz_comm_release(made); /* not smaller than comm; the result is the same at all members */
        made = NULL;
    }
    if (error == MPI_SUCCESS && made && info) {
        error = rzm_info_set(info, HARDWARE_KEY, by_node ? HARDWARE_NODE : HARDWARE_PROCESSOR);
        if (error != MPI_SUCCESS) {
            rz_comm_release(made);
        }
    }
    if (error == MPI_SUCCESS) {
        *newcomm = made;
    }
    return error;
}

static int split_by_type(struct rz_comm *comm, int split_type, int key, struct rz_info *info,
                         struct rz_comm **newcomm)
{
    int colour;
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        colour = colour_node();
        break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        colour = colour_guided(split_type, info);
        break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
        return split_unguided(comm, key, info, newcomm);
    case MPI_UNDEFINED:
        colour = MPI_UNDEFINED;
        break;
    default:
        return rzm_error(MPI_ERR_ARG, "split_type is %d, neither MPI_COMM_TYPE_* nor MPI_UNDEFINED",
                         split_type);
    }
    return split(comm, "MPI_Comm_split_type", colour, key, newcomm);
}

int rzm_comm_split_type(struct rz_comm *comm, int split_type, int key, struct rz_info *info,
                        struct rz_comm **newcomm)
{
    int error = split_by_type(comm, split_type, key, info, newcomm);
    if (error == MPI_SUCCESS && *newcomm) {
        rz_comm_take_hints(*newcomm, info);
    }
    return error;
}
