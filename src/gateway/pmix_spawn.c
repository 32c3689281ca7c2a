/* SPDX-License-Identifier: BSD-3-Clause */
/* PMIx_Spawn: new processes, which are a world of their own. The daemons place and start them. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"
#include "gateway/spawn_request.h"

#include <stdlib.h>
#include <string.h>

struct rz_pmix_spawn {
    struct rz_upcall upcall;
    struct rz_pmix_spawn *next;
    struct rz_spawn_request request;
    pmix_spawn_cbfunc_t done;
    void *arg;
    pmix_status_t status; /* the answer */
    pmix_nspace_t nspace;
};

/* On libpmix's thread. */
static void send_spawned(void *arg)
{
    struct rz_pmix_spawn *spawn = arg;
    spawn->done(spawn->status, spawn->nspace, spawn->arg);
    rz_spawn_request_clear(&spawn->request);
    free(spawn);
}

static void answer_spawn(struct rz_pmix_spawn *spawn, pmix_status_t status)
{
    spawn->status = status;
    rz_pmix_on_its_thread(send_spawned, spawn);
}

/* ---- what is asked ---- */

static const char *text_of(const pmix_info_t info[], size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key) && info[i].value.type == PMIX_STRING) {
            return info[i].value.data.string;
        }
    }
    return NULL;
}

/* The program, then its arguments: PMIx counts the program's name as the first of them. */
static void add_command(struct rz_spawn_request *request, const pmix_app_t *program,
                        const char *directory)
{
    struct rz_spawn_request_command *command = rz_spawn_request_add(request);
    command->maxprocs = program->maxprocs > 0 ? (uint32_t)program->maxprocs : 0;
    rz_spawn_request_set_text(&command->directory, directory ? directory : "");
    rz_spawn_request_add_text(&command->arguments, program->cmd ? program->cmd : program->argv[0]);
    for (char **argument = program->argv; argument && *argument; argument++) {
        if (argument > program->argv) {
            rz_spawn_request_add_text(&command->arguments, *argument);
        }
    }
    for (char **text = program->env; text && *text; text++) {
        if (strchr(*text, '=') > *text) {
            rz_spawn_request_add_text(&command->environment, *text);
        }
    }
}

static void begin_spawn(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct rz_pmix_spawn *spawn = (struct rz_pmix_spawn *)upcall;
    struct rz_spawn_request *request = &spawn->request;
    rz_gateway_add_text(&request->parent, "%u", request->process);
    request->question = ++rz_pmix->serial;
    spawn->next = rz_pmix->spawns;
    rz_pmix->spawns = spawn;
    rz_spawn_request_send(gateway, request);
}

pmix_status_t rz_pmix_on_spawn(const pmix_proc_t *process, const pmix_info_t info[], size_t n_info,
                               const pmix_app_t programs[], size_t n, pmix_spawn_cbfunc_t done,
                               void *arg)
{
    const char *directory = text_of(info, n_info, PMIX_WDIR);
    uint32_t number;
    if (!rz_pmix_number(process, &number) || n == 0) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    for (size_t i = 0; i < n; i++) {
        if (!programs[i].cmd && !(programs[i].argv && programs[i].argv[0])) {
            return PMIX_ERR_BAD_PARAM;
        }
    }
    RZ_UPCALL_MAKE(rz_pmix_spawn, spawn);
    spawn->request.process = number;
    spawn->done = done;
    spawn->arg = arg;
    for (size_t i = 0; i < n; i++) {
        const pmix_app_t *program = &programs[i];
        const char *own = text_of(program->info, program->ninfo, PMIX_WDIR);
        add_command(&spawn->request, program, own ? own : program->cwd ? program->cwd : directory);
    }
    rz_pmix_post(&spawn->upcall, begin_spawn);
    return PMIX_SUCCESS;
}

/* ---- the answer ---- */

/* Takes a spawn out of the list; NULL: there is none. */
static struct rz_pmix_spawn *take_spawn(struct rz_pmix_spawn **at)
{
    struct rz_pmix_spawn *spawn = *at;
    if (spawn) {
        *at = spawn->next;
    }
    return spawn;
}

void rz_pmix_spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                     uint32_t world)
{
    struct rz_pmix_spawn **at = &rz_pmix->spawns;
    while (*at && (*at)->request.question != question) {
        at = &(*at)->next;
    }
    struct rz_pmix_spawn *spawn = take_spawn(at);
    if (!spawn) {
        return; /* the process has ended */
    }
    if (status != RZ_OK) {
        rz_gateway_log(gateway, 1, "PMIx_Spawn: %s", rz_status_text(status));
        answer_spawn(spawn, status == RZ_ERR_NO_MEMORY     ? PMIX_ERR_OUT_OF_RESOURCE
                            : status == RZ_ERR_UNSUPPORTED ? PMIX_ERR_NOT_SUPPORTED
                            : status == RZ_ERR_INVALID     ? PMIX_ERR_BAD_PARAM
                                                           : PMIX_ERR_JOB_FAILED_TO_LAUNCH);
        return;
    }
    rz_pmix_nspace_of(world, spawn->nspace);
    answer_spawn(spawn, PMIX_SUCCESS);
}

void rz_pmix_spawns_end(uint32_t process)
{
    for (struct rz_pmix_spawn **at = &rz_pmix->spawns; *at;) {
        if ((*at)->request.process == process) {
            answer_spawn(take_spawn(at), PMIX_ERR_LOST_CONNECTION);
        } else {
            at = &(*at)->next;
        }
    }
}
