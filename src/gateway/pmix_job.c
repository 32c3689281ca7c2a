/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes learn of their job: its size, its nodes, which ranks are on which node. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

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

/* The ranks of a node, separated by commas. */
static void append_ranks(struct text *text, const struct rz_served_job *job, uint32_t node)
{
    const char *between = "";
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        if (job->node_of[rank] == node) {
            append(text, "%s%u", between, rank);
            between = ",";
        }
    }
}

/* The nodes that have ranks, and the ranks of each. */
static void add_maps(struct infos *infos, const struct rz_served_job *job)
{
    struct text nodes = {NULL, 0}, ranks = {NULL, 0};
    char *node_map = NULL, *rank_map = NULL;
    uint32_t n = 0;
    for (uint32_t node = 0; node < job->n_nodes; node++) {
        char name[RZ_PMIX_NODE_NAME_MAX];
        size_t before = ranks.n;
        append(&ranks, "%s", n > 0 ? ";" : "");
        size_t begun = ranks.n;
        append_ranks(&ranks, job, node);
        if (ranks.n == begun) { /* a spare node */
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

/* The number of a rank among those of its node, and among those of its program. */
struct order {
    uint32_t on_node, in_program;
};

static struct order order_of(const struct rz_served_job *job, uint32_t rank)
{
    struct order order = {0, 0};
    for (uint32_t other = 0; other < rank; other++) {
        order.on_node += job->node_of[other] == job->node_of[rank];
        order.in_program += job->program_of[other] == job->program_of[rank];
    }
    return order;
}

static void add_process(struct infos *infos, const struct rz_served_job *job, uint32_t rank)
{
    char name[RZ_PMIX_NODE_NAME_MAX];
    const struct order order = order_of(job, rank);
    uint16_t on_node = (uint16_t)order.on_node;
    pmix_rank_t number = rank, in_program = order.in_program;
    struct infos own = {NULL, 0, 0};
    rz_pmix_node_name(job->node_of[rank], name);
    add_info(&own, PMIX_RANK, &number, PMIX_PROC_RANK);
    add_info(&own, PMIX_GLOBAL_RANK, &number, PMIX_PROC_RANK);
    add_info(&own, PMIX_APP_RANK, &in_program, PMIX_PROC_RANK);
    add_number(&own, PMIX_APPNUM, job->program_of[rank]);
    add_info(&own, PMIX_LOCAL_RANK, &on_node, PMIX_UINT16);
    add_info(&own, PMIX_NODE_RANK, &on_node, PMIX_UINT16);
    add_number(&own, PMIX_NODEID, job->node_of[rank]);
    add_info(&own, PMIX_HOSTNAME, name, PMIX_STRING);
    pmix_data_array_t array = {.type = PMIX_INFO, .size = own.n, .array = own.at};
    add_info(infos, PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
    infos_clear(&own);
}

/* Folders for the files of processes, which end with the node. */
static void add_folders(struct infos *infos, const struct rz_gateway *gateway)
{
    char folder[512];
    bool yes = true;
    snprintf(folder, sizeof(folder), "%s/%s", gateway->job.folder, rz_pmix->nspace);
    mkdir(folder, 0700);
    add_info(infos, PMIX_TMPDIR, gateway->job.folder, PMIX_STRING);
    add_info(infos, PMIX_NSDIR, folder, PMIX_STRING);
    add_info(infos, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
}

static uint32_t add_local(struct infos *infos, const struct rz_served_job *job)
{
    struct text peers = {NULL, 0};
    pmix_rank_t leader = PMIX_RANK_INVALID;
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        if (job->node_of[rank] == job->node) {
            leader = n++ == 0 ? rank : leader;
        }
    }
    add_number(infos, PMIX_NODEID, job->node);
    if (n > 0) {
        append_ranks(&peers, job, job->node);
        add_number(infos, PMIX_LOCAL_SIZE, n);
        add_number(infos, PMIX_NODE_SIZE, n);
        add_info(infos, PMIX_LOCAL_PEERS, peers.at, PMIX_STRING);
        add_info(infos, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    }
    free(peers.at);
    return n;
}

static uint32_t n_programs(const struct rz_served_job *job)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        n = job->program_of[rank] >= n ? job->program_of[rank] + 1 : n;
    }
    return n;
}

static pmix_status_t register_clients(const struct rz_gateway *gateway)
{
    pmix_status_t status = PMIX_SUCCESS;
    for (uint32_t rank = 0; rank < gateway->job.n_ranks && status == PMIX_SUCCESS; rank++) {
        struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
        pmix_proc_t process;
        if (rz_gateway_is_here(gateway, rank)) {
            rz_pmix_process(&process, rank);
            status = settled(&wait, PMIx_server_register_client(&process, getuid(), getgid(), NULL,
                                                                wait_over, &wait));
        }
    }
    return status;
}

rz_status_t rz_pmix_register_job(struct rz_gateway *gateway, const char **why)
{
    const struct rz_served_job *job = &gateway->job;
    struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};
    struct infos infos = {NULL, 0, 0};
    add_info(&infos, PMIX_JOBID, rz_pmix->nspace, PMIX_STRING);
    add_number(&infos, PMIX_UNIV_SIZE, job->n_ranks);
    add_number(&infos, PMIX_JOB_SIZE, job->n_ranks);
    add_number(&infos, PMIX_MAX_PROCS, job->n_ranks);
    add_number(&infos, PMIX_JOB_NUM_APPS, n_programs(job));
    add_maps(&infos, job);
    add_folders(&infos, gateway);
    uint32_t local = add_local(&infos, job);
    for (uint32_t rank = 0; rank < job->n_ranks; rank++) {
        add_process(&infos, job, rank);
    }
    pmix_status_t status =
        settled(&wait, PMIx_server_register_nspace(rz_pmix->nspace, (int)local, infos.at, infos.n,
                                                   wait_over, &wait));
    infos_clear(&infos);
    if (status == PMIX_SUCCESS) {
        status = register_clients(gateway);
    }
    if (status != PMIX_SUCCESS) {
        *why = PMIx_Error_string(status);
        return RZ_ERR_SYSTEM;
    }
    return RZ_OK;
}
