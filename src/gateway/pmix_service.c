/* SPDX-License-Identifier: BSD-3-Clause */
/* libpmix's server: its start, the way of upcalls to the gateway's thread, and the names of
 * processes. */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"
#include "port/descriptor.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rz_pmix *rz_pmix;

/* Descriptors among which libpmix's listening socket is looked for: it has just been opened. */
enum { DESCRIPTORS = 256 };

/* ---- upcalls ---- */

void rz_pmix_post(struct rz_upcall *upcall, void (*run)(struct rz_gateway *, struct rz_upcall *))
{
    upcall->next = NULL;
    upcall->run = run;
    pthread_mutex_lock(&rz_pmix->lock);
    *rz_pmix->last = upcall;
    rz_pmix->last = &upcall->next;
    pthread_mutex_unlock(&rz_pmix->lock);
    rz_event_fd_ring(rz_pmix->event_fd);
}

static struct rz_upcall *take_upcalls(struct rz_pmix *pmix)
{
    pthread_mutex_lock(&pmix->lock);
    struct rz_upcall *first = pmix->first;
    pmix->first = NULL;
    pmix->last = &pmix->first;
    pthread_mutex_unlock(&pmix->lock);
    return first;
}

static void run_upcalls(evutil_socket_t fd, short what, void *arg)
{
    struct rz_gateway *gateway = arg;
    struct rz_pmix *pmix = gateway->state;
    (void)what;
    rz_event_fd_clear(fd);
    for (struct rz_upcall *upcall = take_upcalls(pmix), *next; upcall; upcall = next) {
        next = upcall->next;
        upcall->run(gateway, upcall);
    }
}

struct its_call {
    void (*run)(void *arg);
    void *arg;
};

static void its_call_run(pmix_status_t status, void *arg)
{
    struct its_call *call = arg;
    (void)status;
    call->run(call->arg);
    free(call);
}

/* libpmix offers no call for that; this one does nothing else for a namespace that it does not
 * know. */
void rz_pmix_on_its_thread(void (*run)(void *arg), void *arg)
{
    pmix_proc_t unknown;
    struct its_call *call = malloc(sizeof(*call));
    rz_need_memory(call, "for an answer");
    *call = (struct its_call){run, arg};
    PMIX_LOAD_PROCID(&unknown, "rhizome.none", 0);
    PMIx_server_deregister_client(&unknown, its_call_run, call);
}

/* ---- names of processes ---- */

bool rz_pmix_rank(const pmix_proc_t *process, uint32_t *rank)
{
    *rank = process->rank;
    return PMIX_CHECK_NSPACE(process->nspace, rz_pmix->nspace) &&
           process->rank < rz_pmix->gateway->job.n_ranks;
}

void rz_pmix_process(pmix_proc_t *process, uint32_t rank)
{
    PMIX_LOAD_PROCID(process, rz_pmix->nspace, rank);
}

uint32_t *rz_pmix_ranks(const pmix_proc_t *processes, size_t n, uint32_t *n_ranks)
{
    const struct rz_gateway *gateway = rz_pmix->gateway;
    bool *named = calloc(gateway->job.n_ranks, sizeof(*named)), good = true;
    uint32_t *ranks = calloc(gateway->job.n_ranks, sizeof(*ranks));
    rz_need_memory(named && ranks, "for a list of processes");
    for (size_t i = 0; i < n && good; i++) {
        uint32_t rank;
        if (processes[i].rank == PMIX_RANK_WILDCARD &&
            PMIX_CHECK_NSPACE(processes[i].nspace, rz_pmix->nspace)) {
            memset(named, 1, gateway->job.n_ranks * sizeof(*named));
        } else if ((good = rz_pmix_rank(&processes[i], &rank))) {
            named[rank] = true;
        }
    }
    *n_ranks = 0;
    for (uint32_t rank = 0; rank < gateway->job.n_ranks; rank++) {
        if (named[rank]) {
            ranks[(*n_ranks)++] = rank;
        }
    }
    free(named);
    if (good && *n_ranks > 0) {
        return ranks;
    }
    free(ranks);
    return NULL;
}

/* ---- start and end ---- */

/* Answers of libpmix's server wait 40 ms for the acknowledgement of the message before, unless its
 * connections are told not to. They inherit that from the listening socket. */
static void send_at_once(void)
{
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof(address);
        int listens = 0, one = 1;
        socklen_t length = sizeof(listens);
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens &&
            getsockname(fd, (struct sockaddr *)&address, &bytes) == 0 &&
            (address.ss_family == AF_INET || address.ss_family == AF_INET6)) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        }
    }
}

static rz_status_t start_server(struct rz_gateway *gateway, const char **why)
{
    static pmix_server_module_t module = {.client_connected2 = rz_pmix_on_connected,
                                          .client_finalized = rz_pmix_on_finalized,
                                          .abort = rz_pmix_on_abort,
                                          .fence_nb = rz_pmix_on_fence,
                                          .direct_modex = rz_pmix_on_modex,
                                          .publish = rz_pmix_on_publish,
                                          .lookup = rz_pmix_on_lookup,
                                          .unpublish = rz_pmix_on_unpublish,
                                          .spawn = rz_pmix_on_spawn,
                                          .connect = rz_pmix_on_connect,
                                          .disconnect = rz_pmix_on_disconnect,
                                          .register_events = rz_pmix_on_register,
                                          .deregister_events = rz_pmix_on_deregister,
                                          .notify_event = rz_pmix_on_notify,
                                          .query = rz_pmix_on_query,
                                          .group = rz_pmix_on_group};
    char name[RZ_PMIX_NODE_NAME_MAX], nspace[PMIX_MAX_NSLEN + 1];
    pmix_rank_t rank = gateway->job.node;
    bool tools = false;
    pmix_info_t info[5];
    rz_pmix_node_name(gateway->job.node, name);
    snprintf(nspace, sizeof(nspace), "%.200s.daemons", rz_pmix->nspace);
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, gateway->job.folder, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_NSPACE, nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[3], PMIX_HOSTNAME, name, PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_SERVER_TOOL_SUPPORT, &tools, PMIX_BOOL);
    /* In files of shared memory libpmix keeps data of failed processes, which clients then read. */
    setenv("PMIX_MCA_gds", "hash", 1);
    /* Of failures those are told, too, that ask later. */
    setenv("PMIX_MCA_pmix_max_events", "10000", 1);
    setenv("PMIX_MCA_pmix_event_eviction_time", "1000000", 1);
    pmix_status_t status = PMIx_server_init(&module, info, 5);
    for (int i = 0; i < 5; i++) {
        PMIX_INFO_DESTRUCT(&info[i]);
    }
    if (status != PMIX_SUCCESS) {
        *why = PMIx_Error_string(status);
        return RZ_ERR_SYSTEM;
    }
    send_at_once();
    return RZ_OK;
}

static void add_text(uint8_t **texts, size_t *bytes, const char *text)
{
    size_t n = strlen(text) + 1;
    *texts = realloc(*texts, *bytes + n);
    rz_need_memory(*texts, "for the environment of processes");
    memcpy(*texts + *bytes, text, n);
    *bytes += n;
}

/* Open MPI looks for PMIx only if it believes to be started by a launcher it knows. Files that its
 * processes share lie in a folder that ends with the node, whatever ends them. */
static void add_for_open_mpi(const struct rz_gateway *gateway, uint8_t **texts, size_t *bytes)
{
    static const char *const folders[] = {"OMPI_MCA_btl_vader_backing_directory",
                                          "OMPI_MCA_btl_sm_backing_directory"};
    add_text(texts, bytes, "JSM_JSRUN_PORT=1");
    if (gateway->job.tolerant) {
        add_text(texts, bytes, "OMPI_MCA_mpi_ft_enable=1");
        /* Connections that are needed first after a failure do not always come up (5.0.7). */
        add_text(texts, bytes, "OMPI_MCA_mpi_preconnect_all=1");
    }
    if (gateway->job.crowd) { /* as its own launcher does */
        add_text(texts, bytes, "OMPI_MCA_mpi_yield_when_idle=1");
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        char text[512];
        snprintf(text, sizeof(text), "%s=%s", folders[i], gateway->job.folder);
        add_text(texts, bytes, text);
    }
}

/* The same for all processes, but for the variable of the rank. */
static rz_status_t tell_ready(struct rz_gateway *gateway, const char **why)
{
    static const char rank_variable[] = "PMIX_RANK";
    pmix_proc_t first;
    char **environment = NULL;
    uint8_t *texts = NULL, *defaults = NULL;
    size_t bytes = 0, default_bytes = 0;
    rz_pmix_process(&first, 0);
    if (PMIx_server_setup_fork(&first, &environment) != PMIX_SUCCESS) {
        *why = "libpmix made no environment for processes";
        return RZ_ERR_SYSTEM;
    }
    for (char **text = environment; text && *text; text++) {
        if (strncmp(*text, rank_variable, strlen(rank_variable)) != 0) {
            add_text(&texts, &bytes, *text);
        }
    }
    add_for_open_mpi(gateway, &defaults, &default_bytes);
    rz_gateway_send(
        gateway, &(struct rz_gateway_message){.type = RZ_GATEWAY_READY,
                                              .ready = {.environment = texts,
                                                        .environment_length = (uint32_t)bytes,
                                                        .defaults = defaults,
                                                        .defaults_length = (uint32_t)default_bytes,
                                                        .rank_variable = rank_variable}});
    PMIX_ARGV_FREE(environment);
    free(texts);
    free(defaults);
    return RZ_OK;
}

static rz_status_t open_pmix(struct rz_gateway *gateway, const char **why)
{
    struct rz_pmix *pmix = calloc(1, sizeof(*pmix));
    rz_need_memory(pmix, "for PMIx");
    pmix->gateway = gateway;
    pmix->last = &pmix->first;
    pthread_mutex_init(&pmix->lock, NULL);
    snprintf(pmix->nspace, sizeof(pmix->nspace), "rz%016llx", (unsigned long long)gateway->job.id);
    rz_need_memory(rz_event_fd_make(&pmix->event_fd) == RZ_OK, "for PMIx");
    pmix->posted =
        event_new(gateway->base, pmix->event_fd, EV_READ | EV_PERSIST, run_upcalls, gateway);
    rz_need_memory(pmix->posted && event_add(pmix->posted, NULL) == 0, "for PMIx");
    rz_pmix = pmix;
    gateway->state = pmix;
    rz_status_t status = start_server(gateway, why);
    if (status == RZ_OK) {
        status = rz_pmix_register_job(gateway, why);
    }
    return status == RZ_OK ? tell_ready(gateway, why) : status;
}

/* After the loss of processes PMIx_server_finalize may wait for them for ever. The gateway is about
 * to exit, and all its files lie in the node's folder. */
static void close_pmix(struct rz_gateway *gateway)
{
    (void)gateway;
    _exit(gateway->exit_status);
}

static void pmix_process_ended(struct rz_gateway *gateway, uint32_t rank, bool failed)
{
    rz_pmix_lookups_end(gateway, rank);
    if (failed) {
        rz_pmix_data_of_failed(gateway, rank);
        rz_pmix_process_failed(gateway, rank);
    }
}

static void pmix_peer(struct rz_gateway *gateway, uint32_t node,
                      const struct rz_peer_message *message)
{
    if (message->type == RZ_PEER_DATA_ASK) {
        rz_pmix_data_ask(gateway, node, &message->data_ask);
    } else if (message->type == RZ_PEER_DATA) {
        rz_pmix_data(gateway, &message->data);
    } else if (message->type == RZ_PEER_EVENT) {
        rz_pmix_event(gateway, &message->event);
    }
}

const struct rz_gateway_service rz_pmix_service = {.open = open_pmix,
                                                   .close = close_pmix,
                                                   .process_ended = pmix_process_ended,
                                                   .node_failed = rz_pmix_node_failed,
                                                   .peer = pmix_peer,
                                                   .added = rz_pmix_added};
