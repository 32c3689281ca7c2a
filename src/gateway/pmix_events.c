/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of processes, and events: failures for those that have asked to be told, and what
 * processes tell each other. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- processes connect, finalize and abort ---- */

struct process_call {
    struct rz_upcall upcall;
    uint32_t process;
    enum rz_client_state state;
    uint32_t code, *others, n_others;
    char message[256];
    pmix_op_cbfunc_t done;
    void *arg;
};

static struct process_call *make_call(uint32_t number, pmix_op_cbfunc_t done, void *arg)
{
    RZ_UPCALL_MAKE(process_call, call);
    call->process = number;
    call->done = done;
    call->arg = arg;
    return call;
}

static void end_call(struct process_call *call)
{
    if (call->done) { /* libpmix does not wait for all of them */
        call->done(PMIX_SUCCESS, call->arg);
    }
    free(call->others);
    free(call);
}

/* The daemon knows that the process has finalized before the process does, and so before its
 * end. */
static void tell_client(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct process_call *call = (struct process_call *)upcall;
    rz_gateway_client(gateway, call->process, call->state);
    rz_gateway_flush(gateway);
    end_call(call);
}

pmix_status_t rz_pmix_on_connected(const pmix_proc_t *process, void *object, pmix_info_t info[],
                                   size_t n, pmix_op_cbfunc_t done, void *arg)
{
    uint32_t number;
    (void)object, (void)info, (void)n;
    if (!rz_pmix_number(process, &number)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    struct process_call *call = make_call(number, done, arg);
    call->state = RZ_CLIENT_CONNECTED;
    rz_pmix_post(&call->upcall, tell_client);
    return PMIX_SUCCESS;
}

pmix_status_t rz_pmix_on_finalized(const pmix_proc_t *process, void *object, pmix_op_cbfunc_t done,
                                   void *arg)
{
    uint32_t number;
    (void)object;
    if (!rz_pmix_number(process, &number)) {
        return PMIX_OPERATION_SUCCEEDED;
    }
    struct process_call *call = make_call(number, done, arg);
    call->state = RZ_CLIENT_FINALIZED;
    rz_pmix_post(&call->upcall, tell_client);
    return PMIX_SUCCESS;
}

/* Whether the call names all processes of a world. */
static bool has_all(const struct rz_gateway *gateway, const struct process_call *call,
                    uint32_t world)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < call->n_others; i++) {
        n += gateway->processes[call->others[i]].world == world;
    }
    return n == gateway->worlds[world].n;
}

static void tell_abort(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct process_call *call = (struct process_call *)upcall;
    const struct rz_gateway_process *process = &gateway->processes[call->process];
    bool all = !call->others || has_all(gateway, call, process->world);
    uint32_t bytes = all ? 0 : 8 * call->n_others;
    uint8_t *processes = malloc(bytes + 1);
    rz_need_memory(processes, "for a list of processes");
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, processes, bytes);
    for (uint32_t i = 0; !all && i < call->n_others; i++) {
        rz_wire_put_u32(&w, gateway->processes[call->others[i]].slot);
        rz_wire_put_u32(&w, gateway->processes[call->others[i]].incarnation);
    }
    rz_gateway_send(gateway,
                    &(struct rz_gateway_message){.type = RZ_GATEWAY_ABORT,
                                                 .abort = {.rank = process->slot,
                                                           .incarnation = process->incarnation,
                                                           .code = call->code,
                                                           .reason = call->message,
                                                           .processes = processes,
                                                           .processes_length = bytes}});
    free(processes);
    end_call(call);
}

pmix_status_t rz_pmix_on_abort(const pmix_proc_t *process, void *object, int code,
                               const char message[], pmix_proc_t processes[], size_t n,
                               pmix_op_cbfunc_t done, void *arg)
{
    uint32_t number;
    (void)object;
    if (!rz_pmix_number(process, &number)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    struct process_call *call = make_call(number, done, arg);
    call->code = (uint32_t)code;
    call->others = n > 0 ? rz_pmix_numbers(processes, n, &call->n_others) : NULL;
    if (n > 0 && !call->others) {
        free(call);
        return PMIX_ERR_BAD_PARAM;
    }
    bool empty = !message || !*message || strcmp(message, "N/A") == 0; /* as Open MPI says */
    snprintf(call->message, sizeof(call->message), "%s", empty ? "MPI_Abort" : message);
    rz_pmix_post(&call->upcall, tell_abort);
    return PMIX_SUCCESS;
}

/* ---- which events processes want ---- */

static void tell_tolerant(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    free(upcall);
    if (!rz_pmix->tolerant) {
        rz_pmix->tolerant = true;
        rz_gateway_send(gateway, &(struct rz_gateway_message){.type = RZ_GATEWAY_TOLERANT});
    }
}

pmix_status_t rz_pmix_on_register(pmix_status_t *codes, size_t n, const pmix_info_t info[],
                                  size_t n_info, pmix_op_cbfunc_t done, void *arg)
{
    bool failures = false; /* libpmix reports events of the system alone, as that of a node */
    (void)info, (void)n_info, (void)done, (void)arg;
    for (size_t i = 0; i < n; i++) {
        failures |= codes[i] == PMIX_EVENT_NODE_DOWN;
    }
    if (failures) {
        RZ_UPCALL_MAKE(rz_upcall, upcall);
        rz_pmix_post(upcall, tell_tolerant);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t rz_pmix_on_deregister(pmix_status_t *codes, size_t n, pmix_op_cbfunc_t done,
                                    void *arg)
{
    (void)codes, (void)n, (void)done, (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

/* ---- failures ---- */

static void notified(pmix_status_t status, void *arg)
{
    pmix_info_t *info = arg;
    (void)status;
    PMIX_INFO_FREE(info, 2);
}

/* Tells the processes of this node that have asked for this code; those that ask later are told
 * then. key, value: what the event is about. */
static void notify(pmix_status_t code, const pmix_proc_t *source, const char *key,
                   const void *value, pmix_data_type_t type)
{
    pmix_info_t *info;
    bool yes = true;
    PMIX_INFO_CREATE(info, 2);
    PMIX_INFO_LOAD(&info[0], key, value, type);
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    if (PMIx_Notify_event(code, source, PMIX_RANGE_LOCAL, info, 2, notified, info) !=
        PMIX_SUCCESS) {
        notified(PMIX_SUCCESS, info);
    }
}

void rz_pmix_process_failed(struct rz_gateway *gateway, uint32_t number)
{
    pmix_proc_t process;
    (void)gateway;
    rz_pmix_process(&process, number);
    notify(PMIX_ERR_PROC_ABORTED, &process, PMIX_EVENT_AFFECTED_PROC, &process, PMIX_PROC);
}

void rz_pmix_node_failed(struct rz_gateway *gateway, uint32_t node)
{
    char name[RZ_PMIX_NODE_NAME_MAX];
    pmix_proc_t none;
    (void)gateway;
    PMIX_LOAD_PROCID(&none, rz_pmix->nspace, PMIX_RANK_UNDEF);
    rz_pmix_node_name(node, name);
    notify(PMIX_EVENT_NODE_DOWN, &none, PMIX_HOSTNAME, name, PMIX_STRING);
}

/* ---- events of processes for processes of other nodes ---- */

struct event_call {
    struct rz_upcall upcall;
    pmix_status_t code;
    uint32_t process;
    pmix_data_range_t range;
    pmix_byte_object_t info;
};

static void tell_other_nodes(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct event_call *call = (struct event_call *)upcall;
    rz_gateway_peer(gateway, RZ_GATEWAY_ALL,
                    &(struct rz_peer_message){.type = RZ_PEER_EVENT,
                                              .event = {.code = (uint32_t)call->code,
                                                        .process = call->process,
                                                        .range = call->range,
                                                        .info = (const uint8_t *)call->info.bytes,
                                                        .info_length = (uint32_t)call->info.size}});
    free(call->info.bytes);
    free(call);
}

/* libpmix has told the processes of this node already. */
pmix_status_t rz_pmix_on_notify(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t n,
                                pmix_op_cbfunc_t done, void *arg)
{
    pmix_data_buffer_t buffer;
    uint32_t number;
    (void)done, (void)arg;
    if (!rz_pmix_number(source, &number)) {
        return PMIX_OPERATION_SUCCEEDED;
    }
    RZ_UPCALL_MAKE(event_call, call);
    call->code = code;
    call->process = number;
    call->range = range;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    if (PMIx_Data_pack(NULL, &buffer, &n, 1, PMIX_SIZE) == PMIX_SUCCESS &&
        (n == 0 || PMIx_Data_pack(NULL, &buffer, info, (int32_t)n, PMIX_INFO) == PMIX_SUCCESS)) {
        PMIx_Data_unload(&buffer, &call->info);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    rz_pmix_post(&call->upcall, tell_other_nodes);
    return PMIX_OPERATION_SUCCEEDED;
}

struct told {
    pmix_info_t *info;
    size_t n;
};

static void told_all(pmix_status_t status, void *arg)
{
    struct told *told = arg;
    (void)status;
    if (told->info) {
        PMIX_INFO_FREE(told->info, told->n);
    }
    free(told);
}

void rz_pmix_event(struct rz_gateway *gateway, const struct rz_peer_event *event)
{
    pmix_byte_object_t packed = {.bytes = (char *)event->info, .size = event->info_length};
    pmix_data_buffer_t buffer;
    pmix_proc_t source;
    int32_t one = 1;
    RZ_UPCALL_MAKE(told, told);
    if (event->process >= gateway->n_processes) {
        free(told);
        return;
    }
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    if (PMIx_Data_embed(&buffer, &packed) == PMIX_SUCCESS &&
        PMIx_Data_unpack(NULL, &buffer, &told->n, &one, PMIX_SIZE) == PMIX_SUCCESS && told->n > 0 &&
        told->n < event->info_length) {
        int32_t n = (int32_t)told->n;
        PMIX_INFO_CREATE(told->info, told->n);
        PMIx_Data_unpack(NULL, &buffer, told->info, &n, PMIX_INFO);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    rz_pmix_process(&source, event->process);
    /* It does not go round again: libpmix passes on only what its own clients say. */
    if (PMIx_Notify_event((pmix_status_t)event->code, &source, (pmix_data_range_t)event->range,
                          told->info, told->info ? told->n : 0, told_all, told) != PMIX_SUCCESS) {
        told_all(PMIX_SUCCESS, told);
    }
}
