/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes learn of their world: its size, its nodes, which ranks are on which node. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Waits for the end of a call of libpmix that has its own thread. */
struct wait {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    pmix_status_t status;
};

static void wait_over(pmix_status_t status, void *arg)
{
    struct wait *wait = arg;
    pthread_mutex_lock(&wait->lock);
    wait->done = true;
    wait->status = status;
    pthread_cond_signal(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
}

/* The status of a call that was made with wait_over. libpmix's thread is local and depends on no
 * other process. */
static pmix_status_t settled(struct wait *wait, pmix_status_t status)
{
    if (status == PMIX_SUCCESS) {
        pthread_mutex_lock(&wait->lock);
        while (!wait->done) {
            pthread_cond_wait(&wait->changed, &wait->lock);
        }
        pthread_mutex_unlock(&wait->lock);
        return wait->status;
    }
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

/* An array of info that grows. */
struct infos {
    pmix_info_t *at;
    size_t n, room;
};

static void add_info(struct infos *infos, const char *key, const void *value, pmix_data_type_t type)
{
    if (infos->n == infos->room) {
        infos->room = infos->room ? 2 * infos->room : 64;
        infos->at = realloc(infos->at, infos->room * sizeof(*infos->at));
        rz_need_memory(infos->at, "for the job's data");
    }
    pmix_info_t *info = &infos->at[infos->n++];
    PMIX_INFO_CONSTRUCT(info);
    PMIX_INFO_LOAD(info, key, value, type);
}

static void add_number(struct infos *infos, const char *key, uint32_t value)
{
    add_info(infos, key, &value, PMIX_UINT32);
}

static void infos_clear(struct infos *infos)
{
    for (size_t i = 0; i < infos->n; i++) {
        PMIX_INFO_DESTRUCT(&infos->at[i]);
    }
    free(infos->at);
}

/* A text that grows. */
struct text {
    char *at;
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
    char part[64];
    va_list arguments;
    va_start(arguments, format);
    size_t n = (size_t)vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    text->at = realloc(text->at, text->n + n + 1);
    rz_need_memory(text->at, "for the job's data");
    memcpy(text->at + text->n, part, n + 1);
    text->n += n;
}

void rz_pmix_node_name(uint32_t node, char name[RZ_PMIX_NODE_NAME_MAX])
{
    snprintf(name, RZ_PMIX_NODE_NAME_MAX, "node%u", node);
}

/* A world, for what is said of it. */
struct view {
    const struct rz_gateway *gateway;
    const struct rz_gateway_process *processes; /* [n], by rank */
    uint32_t n, n_nodes;
};

/* The ranks of a node, separated by commas. */
static void append_ranks(struct text *text, const struct view *world, uint32_t node)
{
    const char *between = "";
    for (uint32_t rank = 0; rank < world->n; rank++) {
        if (world->processes[rank].node == node) {
            append(text, "%s%u", between, rank);
            between = ",";
        }
    }
}

/* The nodes that have ranks, and the ranks of each. */
static void add_maps(struct infos *infos, const struct view *world)
{
    struct text nodes = {NULL, 0}, ranks = {NULL, 0};
    char *node_map = NULL, *rank_map = NULL;
    uint32_t n = 0;
    for (uint32_t node = 0; node < world->n_nodes; node++) {
        char name[RZ_PMIX_NODE_NAME_MAX];
        size_t before = ranks.n;
        append(&ranks, "%s", n > 0 ? ";" : "");
        size_t begun = ranks.n;
        append_ranks(&ranks, world, node);
        if (ranks.n == begun) { /* a node without any */
            ranks.n = before;
            ranks.at[before] = 0;
            continue;
        }
        rz_pmix_node_name(node, name);
        append(&nodes, "%s%s", n > 0 ? "," : "", name);
        n++;
    }
    if (PMIx_generate_regex(nodes.at, &node_map) == PMIX_SUCCESS &&
        PMIx_generate_ppn(ranks.at, &rank_map) == PMIX_SUCCESS) {
        add_info(infos, PMIX_NODE_MAP, node_map, PMIX_REGEX);
        add_info(infos, PMIX_PROC_MAP, rank_map, PMIX_REGEX);
    }
    add_number(infos, PMIX_NUM_NODES, n);
    free(node_map);
    free(rank_map);
    free(nodes.at);
    free(ranks.at);
}

/* The number of a rank among those of its node: in its world, and with earlier worlds; and among
 * those of its program. */
struct order {
    uint32_t on_node, of_all, in_program;
};

static struct order order_of(const struct view *world, uint32_t rank)
{
    const struct rz_gateway_process *process = &world->processes[rank], *other = process;
    struct order order = {0, 0, 0};
    while (other-- > world->gateway->processes) {
        bool same = other >= world->processes;
        order.of_all += other->node == process->node;
        order.on_node += same && other->node == process->node;
        order.in_program += same && other->program == process->program;
    }
    return order;
}

static void add_process(struct infos *infos, const struct view *world, uint32_t rank)
{
    char name[RZ_PMIX_NODE_NAME_MAX];
    const struct order order = order_of(world, rank);
    const struct rz_gateway_process *process = &world->processes[rank];
    uint16_t on_node = (uint16_t)order.on_node, of_all = (uint16_t)order.of_all;
    pmix_rank_t number = rank, in_program = order.in_program;
    struct infos own = {NULL, 0, 0};
    rz_pmix_node_name(process->node, name);
    add_info(&own, PMIX_RANK, &number, PMIX_PROC_RANK);
    add_info(&own, PMIX_GLOBAL_RANK, &number, PMIX_PROC_RANK);
    add_info(&own, PMIX_APP_RANK, &in_program, PMIX_PROC_RANK);
    add_number(&own, PMIX_APPNUM, process->program);
    add_info(&own, PMIX_LOCAL_RANK, &on_node, PMIX_UINT16);
    add_info(&own, PMIX_NODE_RANK, &of_all, PMIX_UINT16);
    add_number(&own, PMIX_NODEID, process->node);
    add_info(&own, PMIX_HOSTNAME, name, PMIX_STRING);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = own.n, .array = own.at};
    add_info(infos, PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
    infos_clear(&own);
}

/* Folders for the files of processes, which end with the node. The one around them is of this user
 * alone: what is there has been made for an earlier world. False: none can be made. */
static bool add_folders(struct infos *infos, const struct rz_gateway *gateway,
                        const pmix_nspace_t nspace)
{
    char folder[512];
    bool yes = true;
    snprintf(folder, sizeof(folder), "%s/%s", gateway->job.folder, nspace);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return false;
    }
    add_info(infos, PMIX_TMPDIR, gateway->job.folder, PMIX_STRING);
    add_info(infos, PMIX_NSDIR, folder, PMIX_STRING);
    add_info(infos, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
    return true;
}

static uint32_t add_local(struct infos *infos, const struct view *world)
{
    uint32_t here = world->gateway->job.node;
    struct text peers = {NULL, 0};
    pmix_rank_t leader = PMIX_RANK_INVALID;
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < world->n; rank++) {
        if (world->processes[rank].node == here) {
            leader = n++ == 0 ? rank : leader;
        }
    }
    add_number(infos, PMIX_NODEID, here);
    if (n > 0) {
        append_ranks(&peers, world, here);
        add_number(infos, PMIX_LOCAL_SIZE, n);
        add_number(infos, PMIX_NODE_SIZE, n);
        add_info(infos, PMIX_LOCAL_PEERS, peers.at, PMIX_STRING);
        add_info(infos, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    }
    free(peers.at);
    return n;
}

static uint32_t n_programs(const struct view *world)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < world->n; rank++) {
        n = world->processes[rank].program >= n ? world->processes[rank].program + 1 : n;
    }
    return n;
}

static pmix_status_t register_clients(const struct rz_gateway *gateway,
                                      const struct rz_gateway_world *world)
{
    pmix_status_t status = PMIX_SUCCESS;
    for (uint32_t i = world->first; i < world->first + world->n && status == PMIX_SUCCESS; i++) {
        struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
        pmix_proc_t process;
        if (rz_gateway_is_here(gateway, i)) {
            rz_pmix_process(&process, i);
            status = settled(&wait, PMIx_server_register_client(&process, getuid(), getgid(), NULL,
                                                                wait_over, &wait));
        }
    }
    return status;
}

rz_status_t rz_pmix_register(struct rz_gateway *gateway, uint32_t number, uint32_t parent,
                             const char **why)
{
    const struct rz_gateway_world *world = &gateway->worlds[number];
    const struct view view = {.gateway = gateway,
                              .processes = gateway->processes + world->first,
                              .n = world->n,
                              .n_nodes = gateway->job.n_nodes};
    struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
    struct infos infos = {NULL, 0, 0};
    pmix_nspace_t nspace;
    rz_pmix_nspace_of(number, nspace);
    add_info(&infos, PMIX_JOBID, nspace, PMIX_STRING);
    add_number(&infos, PMIX_UNIV_SIZE, gateway->job.n_slots);
    add_number(&infos, PMIX_JOB_SIZE, world->n);
    add_number(&infos, PMIX_MAX_PROCS, world->n);
    add_number(&infos, PMIX_JOB_NUM_APPS, n_programs(&view));
    if (parent != UINT32_MAX) {
        pmix_proc_t process;
        rz_pmix_process(&process, parent);
        add_info(&infos, PMIX_PARENT_ID, &process, PMIX_PROC);
    }
    add_maps(&infos, &view);
    if (!add_folders(&infos, gateway, nspace)) {
        infos_clear(&infos);
        *why = "no folder can be made for the files of its processes";
        return RZ_ERR_SYSTEM;
    }
    uint32_t local = add_local(&infos, &view);
    for (uint32_t rank = 0; rank < world->n; rank++) {
        add_process(&infos, &view, rank);
    }
    pmix_status_t status = settled(&wait, PMIx_server_register_nspace(nspace, (int)local, infos.at,
                                                                      infos.n, wait_over, &wait));
    infos_clear(&infos);
    if (status == PMIX_SUCCESS) {
        status = register_clients(gateway, world);
    }
    if (status != PMIX_SUCCESS) {
        *why = PMIx_Error_string(status);
        return RZ_ERR_SYSTEM;
    }
    return RZ_OK;
}
