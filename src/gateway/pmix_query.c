/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to PMIx_Query_info. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <stdlib.h>
#include <string.h>

/* A key, and the world that it is asked of. */
struct question {
    char *key;
    uint32_t process; /* of that world */
};

struct query {
    struct rz_upcall upcall;
    struct question *questions;
    size_t n;
    size_t n_unknown; /* keys asked of a namespace that does not exist */
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

static void add_table(const struct rz_gateway *gateway, pmix_info_t *info,
                      const struct question *question, bool all)
{
    const struct rz_gateway_world *world =
        &gateway->worlds[gateway->processes[question->process].world];
    pmix_data_array_t array;
    size_t n = 0;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, world->n, PMIX_PROC_INFO);
    pmix_proc_info_t *table = array.array;
    for (uint32_t i = world->first; i < world->first + world->n; i++) {
        const struct rz_gateway_process *process = &gateway->processes[i];
        char name[RZ_PMIX_NODE_NAME_MAX];
        if (!all && !rz_gateway_is_here(gateway, i)) {
            continue;
        }
        rz_pmix_node_name(process->node, name);
        rz_pmix_process(&table[n].proc, i);
        table[n].hostname = strdup(name);
        table[n].pid = (pid_t)process->pid;
        table[n].state = process->failed  ? PMIX_PROC_STATE_ABORTED
                         : process->ended ? PMIX_PROC_STATE_TERMINATED
                                          : PMIX_PROC_STATE_RUNNING;
        n++;
    }
    array.size = n;
    PMIX_INFO_LOAD(info, question->key, &array, PMIX_DATA_ARRAY);
    array.size = world->n;
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

static void add_failed(const struct rz_gateway *gateway, pmix_info_t *info, const char *key)
{
    pmix_data_array_t array;
    size_t n = 0;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, gateway->n_processes, PMIX_PROC);
    for (uint32_t i = 0; i < gateway->n_processes; i++) {
        if (gateway->processes[i].failed) {
            rz_pmix_process((pmix_proc_t *)array.array + n++, i);
        }
    }
    array.size = n;
    PMIX_INFO_LOAD(info, key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* Separated by commas. */
static void add_namespaces(const struct rz_gateway *gateway, pmix_info_t *info, const char *key)
{
    struct rz_gateway_texts names = {NULL, 0};
    for (uint32_t world = 0; world < gateway->n_worlds; world++) {
        pmix_nspace_t nspace;
        rz_pmix_nspace_of(world, nspace);
        if (world > 0) {
            names.at[names.bytes - 1] = ',';
        }
        rz_gateway_add_text(&names, "%s", nspace);
    }
    PMIX_INFO_LOAD(info, key, (const char *)names.at, PMIX_STRING);
    free(names.at);
}

/* False: it is not known. */
static bool answer_key(const struct rz_gateway *gateway, const struct question *question,
                       pmix_info_t *info)
{
    const char *key = question->key;
    if (strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
        add_namespaces(gateway, info, key);
    } else if (strcmp(key, PMIX_QUERY_PROC_TABLE) == 0) {
        add_table(gateway, info, question, true);
    } else if (strcmp(key, PMIX_QUERY_LOCAL_PROC_TABLE) == 0) {
        add_table(gateway, info, question, false);
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
        answers->n += answer_key(gateway, &query->questions[i], &answers->info[answers->n]);
        free(query->questions[i].key);
    }
    answers->status = answers->n == 0                            ? PMIX_ERR_NOT_FOUND
                      : answers->n < query->n + query->n_unknown ? PMIX_QUERY_PARTIAL_SUCCESS
                                                                 : PMIX_SUCCESS;
    answers->done = query->done;
    answers->arg = query->arg;
    rz_pmix_on_its_thread(send_answers, answers);
    free(query->questions);
    free(query);
}

/* The world that a query is about: that of its qualifier, or the ranks, for libpmix does not say
 * which process asks. */
static uint32_t process_of(const pmix_query_t *query)
{
    uint32_t number;
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, rz_pmix->nspace, 0);
    for (size_t i = 0; i < query->nqual; i++) {
        if (PMIX_CHECK_KEY(&query->qualifiers[i], PMIX_NSPACE) &&
            query->qualifiers[i].value.type == PMIX_STRING) {
            PMIX_LOAD_PROCID(&process, query->qualifiers[i].value.data.string, 0);
        }
    }
    return rz_pmix_number(&process, &number) ? number : UINT32_MAX;
}

pmix_status_t rz_pmix_on_query(pmix_proc_t *process, pmix_query_t *queries, size_t n,
                               pmix_info_cbfunc_t done, void *arg)
{
    RZ_UPCALL_MAKE(query, query);
    (void)process;
    query->done = done;
    query->arg = arg;
    for (size_t i = 0; i < n; i++) {
        uint32_t about = process_of(&queries[i]);
        for (char **key = queries[i].keys; key && *key; key++) {
            if (about == UINT32_MAX) {
                query->n_unknown++;
                continue;
            }
            query->questions =
                realloc(query->questions, (query->n + 1) * sizeof(*query->questions));
            char *copy = strdup(*key);
            rz_need_memory(query->questions && copy, "for a query");
            query->questions[query->n++] = (struct question){.key = copy, .process = about};
        }
    }
    rz_pmix_post(&query->upcall, run_query);
    return PMIX_SUCCESS;
}
