/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to PMIx_Query_info; and what is refused: spawns. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <stdlib.h>
#include <string.h>

struct query {
    struct rz_upcall upcall;
    char **keys;
    size_t n;
    pmix_info_cbfunc_t done;
    void *arg;
};

struct answers {
    pmix_info_t *info;
    size_t n, room;
    pmix_status_t status;
    pmix_info_cbfunc_t done;
    void *arg;
};

static void answers_free(void *arg)
{
    struct answers *answers = arg;
    PMIX_INFO_FREE(answers->info, answers->room);
    free(answers);
}

static void add_table(const struct rz_gateway *gateway, pmix_info_t *info, const char *key,
                      bool all)
{
    pmix_data_array_t array;
    size_t n = 0;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, gateway->job.n_ranks, PMIX_PROC_INFO);
    pmix_proc_info_t *table = array.array;
    for (uint32_t rank = 0; rank < gateway->job.n_ranks; rank++) {
        const struct rz_gateway_process *process = &gateway->processes[rank];
        char name[RZ_PMIX_NODE_NAME_MAX];
        if (!all && !rz_gateway_is_here(gateway, rank)) {
            continue;
        }
        rz_pmix_node_name(gateway->job.node_of[rank], name);
        rz_pmix_process(&table[n].proc, rank);
        table[n].hostname = strdup(name);
        table[n].pid = (pid_t)process->pid;
        table[n].state = process->failed  ? PMIX_PROC_STATE_ABORTED
                         : process->ended ? PMIX_PROC_STATE_TERMINATED
                                          : PMIX_PROC_STATE_RUNNING;
        n++;
    }
    array.size = n;
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
    array.size = gateway->job.n_ranks;
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

static void add_failed(const struct rz_gateway *gateway, pmix_info_t *info, const char *key)
{
    pmix_data_array_t array;
    size_t n = 0;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, gateway->job.n_ranks, PMIX_PROC);
    for (uint32_t rank = 0; rank < gateway->job.n_ranks; rank++) {
        if (gateway->processes[rank].failed) {
            rz_pmix_process((pmix_proc_t *)array.array + n++, rank);
        }
    }
    array.size = n;
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* False: it is not known. */
static bool answer_key(const struct rz_gateway *gateway, const char *key, pmix_info_t *info)
{
    if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
        PMIX_INFO_LOAD(info, key, rz_pmix->nspace, PMIX_STRING);
    } else if (strcmp(key, PMIX_QUERY_PROC_TABLE) == 0) {
        add_table(gateway, info, key, true);
    } else if (strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0) {
        add_table(gateway, info, key, false);
    } else if (strcmp(key, RZ_PMIX_QUERY_FAILED) == 0) {
        add_failed(gateway, info, key);
    } else {
        return false;
    }
    return true;
}

/* On libpmix's thread. */
static void send_answers(void *arg)
{
    struct answers *answers = arg;
    answers->done(answers->status, answers->info, answers->n, answers->arg, answers_free, answers);
}

static void run_query(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct query *query = (struct query *)upcall;
    struct answers *answers = calloc(1, sizeof(*answers));
    rz_need_memory(answers, "for a query");
    answers->room = query->n + 1;
    PMIX_INFO_CREATE(answers->info, answers->room);
    for (size_t i = 0; i < query->n; i++) {
        answers->n += answer_key(gateway, query->keys[i], &answers->info[answers->n]);
        free(query->keys[i]);
    }
    answers->status = answers->n == 0         ? PMIX_ERR_NOT_FOUND
                      : answers->n < query->n ? PMIX_QUERY_PARTIAL_SUCCESS
                                              : PMIX_SUCCESS;
    answers->done = query->done;
    answers->arg = query->arg;
    rz_pmix_on_its_thread(send_answers, answers);
    free(query->keys);
    free(query);
}

pmix_status_t rz_pmix_on_query(pmix_proc_t *process, pmix_query_t *queries, size_t n,
                               pmix_info_cbfunc_t done, void *arg)
{
    RZ_UPCALL_MAKE(query, query);
    (void)process;
    query->done = done;
    query->arg = arg;
    for (size_t i = 0; i < n; i++) {
        for (char **key = queries[i].keys; key && *key; key++) {
            query->keys = realloc(query->keys, (query->n + 1) * sizeof(*query->keys));
            rz_need_memory(query->keys && (query->keys[query->n] = strdup(*key)), "for a query");
            query->n++;
        }
    }
    rz_pmix_post(&query->upcall, run_query);
    return PMIX_SUCCESS;
}

/* ---- refusals ---- */

struct spawn_call {
    struct rz_upcall upcall;
    uint32_t rank;
};

static void say_spawn(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    const struct spawn_call *call = (struct spawn_call *)upcall;
    rz_gateway_log(
        gateway, 0,
        "rank %u: PMIx_Spawn (MPI_Comm_spawn) is not supported for programs of other MPIs",
        call->rank);
    free(upcall);
}

pmix_status_t rz_pmix_on_spawn(const pmix_proc_t *process, const pmix_info_t info[], size_t n_info,
                               const pmix_app_t programs[], size_t n, pmix_spawn_cbfunc_t done,
                               void *arg)
{
    (void)info, (void)n_info, (void)programs, (void)n, (void)done, (void)arg;
    RZ_UPCALL_MAKE(spawn_call, call);
    call->rank = process->rank;
    rz_pmix_post(&call->upcall, say_spawn);
    return PMIX_ERR_NOT_SUPPORTED;
}
