/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences, with what processes have committed (modex); connections and groups, which are fences of
 * other kinds; and what a process of another node has committed (direct modex). */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <stdlib.h>
#include <string.h>

/* The kinds of fences (collective.h). Those of groups follow, by a hash of the group's name. */
enum { KIND_FENCE, KIND_CONNECT, KIND_DISCONNECT, KIND_GROUPS };

#define FOR_FENCE "for the data of a fence"

/* Operations that processes begin and end with. */
struct fence {
    struct rz_upcall upcall;
    struct rz_gateway_waiter waiter;
    uint32_t kind, *numbers, n_numbers; /* of the participants */
    uint8_t *data;
    size_t bytes;
    bool whole;
    void *arg; /* of the one of these that is set */
    pmix_modex_cbfunc_t modex;
    pmix_op_cbfunc_t done;
    pmix_info_cbfunc_t group;
};

#define FENCE_OF(waiter_) ((struct fence *)((char *)(waiter_)-offsetof(struct fence, waiter)))

static void fence_free(struct fence *fence)
{
    free(fence->numbers);
    free(fence->data);
    free(fence);
}

/* ---- groups ---- */

/* The number of a group, unique in the job: each node proposes one, and the first node's counts. */
static size_t propose(const struct rz_gateway *gateway)
{
    return ((size_t)gateway->job.node + 1) << 32 | (uint32_t)++rz_pmix->serial;
}

static void info_free(void *arg)
{
    pmix_info_t *info = arg;
    PMIX_INFO_FREE(info, 2);
}

static void group_made(const struct fence *fence, pmix_status_t status, const uint8_t *data,
                       size_t bytes)
{
    pmix_info_t *info;
    pmix_data_array_t members;
    size_t number = 0;
    memcpy(&number, data, bytes < sizeof(number) ? bytes : sizeof(number));
    PMIX_DATA_ARRAY_CONSTRUCT(&members, fence->n_numbers, PMIX_PROC);
    for (uint32_t i = 0; i < fence->n_numbers; i++) {
        rz_pmix_process((pmix_proc_t *)members.array + i, fence->numbers[i]);
    }
    PMIX_INFO_CREATE(info, 2);
    PMIX_INFO_LOAD(&info[0], PMIX_GROUP_CONTEXT_ID, &number, PMIX_SIZE);
    PMIX_INFO_LOAD(&info[1], PMIX_GROUP_MEMBERSHIP, &members, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&members);
    fence->group(status, info, 2, fence->arg, info_free, info);
}

/* ---- the beginning of a fence, and its end ---- */

static void pmix_fence_done(struct rz_gateway_waiter *waiter, rz_status_t result,
                            const uint8_t *data, size_t bytes)
{
    struct fence *fence = FENCE_OF(waiter);
    pmix_status_t status = result == RZ_OK            ? PMIX_SUCCESS
                           : result == RZ_ERR_INVALID ? PMIX_ERR_BAD_PARAM
                                                      : PMIX_ERR_LOST_CONNECTION;
    if (fence->modex) {
        void *copy = rz_need_copy(data, bytes, FOR_FENCE);
        fence->modex(status, copy, bytes, fence->arg, free, copy);
    } else if (fence->done) {
        fence->done(status, fence->arg);
    } else {
        group_made(fence, status, data, bytes);
    }
    fence_free(fence);
}

static void begin_fence(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct fence *fence = (struct fence *)upcall;
    if (fence->group) {
        size_t number = propose(gateway);
        fence->data = rz_need_copy(&number, sizeof(number), FOR_FENCE);
        fence->bytes = sizeof(number);
    }
    fence->waiter.done = pmix_fence_done;
    const struct rz_collective_message its = {.kind = fence->kind,
                                              .whole = fence->whole,
                                              .slots = fence->numbers,
                                              .n_slots = fence->n_numbers,
                                              .data = fence->data,
                                              .bytes = fence->bytes};
    if (!rz_collectives_join(gateway->collectives, &its, &fence->waiter)) {
        rz_gateway_log(gateway, 0, "two fences of the same processes at the same time");
        pmix_fence_done(&fence->waiter, RZ_ERR_INVALID, NULL, 0);
    }
}

/* What libpmix says of the participants of this node: some may have failed. */
static bool all_contributed(const pmix_info_t info[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_LOCAL_COLLECTIVE_STATUS)) {
            return info[i].value.data.status == PMIX_SUCCESS;
        }
    }
    return true;
}

static struct fence *make_fence(uint32_t kind, const pmix_proc_t processes[], size_t n,
                                const pmix_info_t info[], size_t n_info)
{
    RZ_UPCALL_MAKE(fence, fence);
    fence->kind = kind;
    fence->numbers = rz_pmix_numbers(processes, n, &fence->n_numbers);
    fence->whole = all_contributed(info, n_info);
    if (fence->numbers) {
        return fence;
    }
    free(fence);
    return NULL;
}

pmix_status_t rz_pmix_on_fence(const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                               size_t n_info, char *data, size_t bytes, pmix_modex_cbfunc_t done,
                               void *arg)
{
    struct fence *fence = make_fence(KIND_FENCE, processes, n, info, n_info);
    if (!fence) {
        free(data);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    fence->data = (uint8_t *)data; /* it is ours from now on */
    fence->bytes = bytes;
    fence->modex = done;
    fence->arg = arg;
    rz_pmix_post(&fence->upcall, begin_fence);
    return PMIX_SUCCESS;
}

static pmix_status_t without_data(struct fence *fence, pmix_op_cbfunc_t done, void *arg)
{
    if (!fence) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    fence->done = done;
    fence->arg = arg;
    rz_pmix_post(&fence->upcall, begin_fence);
    return PMIX_SUCCESS;
}

pmix_status_t rz_pmix_on_connect(const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                                 size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
    return without_data(make_fence(KIND_CONNECT, processes, n, info, n_info), done, arg);
}

pmix_status_t rz_pmix_on_disconnect(const pmix_proc_t processes[], size_t n,
                                    const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done,
                                    void *arg)
{
    return without_data(make_fence(KIND_DISCONNECT, processes, n, info, n_info), done, arg);
}

pmix_status_t rz_pmix_on_group(pmix_group_operation_t operation, char group[],
                               const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                               size_t n_info, pmix_info_cbfunc_t done, void *arg)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = group; *c; c++) {
        hash = (hash ^ (uint8_t)*c) * 16777619u;
    }
    if (operation == PMIX_GROUP_DESTRUCT) {
        hash = ~hash;
    }
    struct fence *fence =
        make_fence(hash < KIND_GROUPS ? KIND_GROUPS : hash, processes, n, info, n_info);
    if (!fence) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    fence->group = done;
    fence->arg = arg;
    rz_pmix_post(&fence->upcall, begin_fence);
    return PMIX_SUCCESS;
}

/* ---- direct modex: the node that asks ---- */

struct rz_pmix_ask {
    struct rz_upcall upcall;
    struct rz_pmix_ask *next;
    uint64_t serial;
    uint32_t process;
    pmix_modex_cbfunc_t done;
    void *arg;
};

static void answer_ask(struct rz_pmix_ask **at, pmix_status_t status, const uint8_t *data,
                       size_t bytes)
{
    struct rz_pmix_ask *ask = *at;
    void *copy = rz_need_copy(data, bytes, FOR_FENCE);
    *at = ask->next;
    ask->done(status, copy, bytes, ask->arg, free, copy);
    free(ask);
}

static void ask_other_node(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct rz_pmix_ask *ask = (struct rz_pmix_ask *)upcall;
    ask->serial = ++rz_pmix->serial;
    ask->next = rz_pmix->asks;
    rz_pmix->asks = ask;
    const struct rz_gateway_process *process = &gateway->processes[ask->process];
    if (process->failed || process->node == gateway->job.node) { /* libpmix has what is here */
        answer_ask(&rz_pmix->asks, process->failed ? PMIX_ERR_LOST_CONNECTION : PMIX_ERR_NOT_FOUND,
                   NULL, 0);
        return;
    }
    rz_gateway_peer(
        gateway, process->node,
        &(struct rz_peer_message){.type = RZ_PEER_DATA_ASK,
                                  .data_ask = {.serial = ask->serial, .process = ask->process}});
}

pmix_status_t rz_pmix_on_modex(const pmix_proc_t *process, const pmix_info_t info[], size_t n_info,
                               pmix_modex_cbfunc_t done, void *arg)
{
    uint32_t number;
    (void)info, (void)n_info;
    if (!rz_pmix_number(process, &number)) {
        return PMIX_ERR_NOT_FOUND;
    }
    RZ_UPCALL_MAKE(rz_pmix_ask, ask);
    ask->process = number;
    ask->done = done;
    ask->arg = arg;
    rz_pmix_post(&ask->upcall, ask_other_node);
    return PMIX_SUCCESS;
}

void rz_pmix_data(struct rz_gateway *gateway, const struct rz_peer_data *data)
{
    struct rz_pmix_ask **at = &rz_pmix->asks;
    (void)gateway;
    while (*at && (*at)->serial != data->serial) {
        at = &(*at)->next;
    }
    if (*at) {
        answer_ask(at, (pmix_status_t)data->status, data->data, data->data_length);
    }
}

void rz_pmix_data_of_failed(struct rz_gateway *gateway, uint32_t process)
{
    (void)gateway;
    for (struct rz_pmix_ask **at = &rz_pmix->asks; *at;) {
        if ((*at)->process == process) {
            answer_ask(at, PMIX_ERR_LOST_CONNECTION, NULL, 0);
        } else {
            at = &(*at)->next;
        }
    }
}

/* ---- direct modex: the node of the process ---- */

struct data_request {
    struct rz_upcall upcall;
    uint32_t node;
    uint64_t serial;
    pmix_status_t status;
    uint8_t *data;
    size_t bytes;
};

static void send_data(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct data_request *request = (struct data_request *)upcall;
    rz_gateway_peer(gateway, request->node,
                    &(struct rz_peer_message){.type = RZ_PEER_DATA,
                                              .data = {.serial = request->serial,
                                                       .status = (uint32_t)request->status,
                                                       .data = request->data,
                                                       .data_length = (uint32_t)request->bytes}});
    free(request->data);
    free(request);
}

/* On libpmix's thread, when the process has committed its data, which may be later. */
static void have_data(pmix_status_t status, char *data, size_t bytes, void *arg)
{
    struct data_request *request = arg;
    request->status = status;
    request->data = rz_need_copy(data, bytes, FOR_FENCE);
    request->bytes = bytes;
    rz_pmix_post(&request->upcall, send_data);
}

void rz_pmix_data_ask(struct rz_gateway *gateway, uint32_t node,
                      const struct rz_peer_data_ask *asked)
{
    pmix_proc_t process;
    RZ_UPCALL_MAKE(data_request, request);
    request->node = node;
    request->serial = asked->serial;
    request->status = PMIX_ERR_NOT_FOUND;
    if (rz_gateway_is_here(gateway, asked->process)) {
        rz_pmix_process(&process, asked->process);
        request->status = PMIx_server_dmodex_request(&process, have_data, request);
    }
    if (request->status != PMIX_SUCCESS) {
        send_data(gateway, &request->upcall);
    }
}
