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

void rz_pmix_nspace_of(uint32_t world, pmix_nspace_t nspace)
{
    if (world == 0) {
        PMIX_LOAD_NSPACE(nspace, rz_pmix->nspace);
    } else {
        snprintf(nspace, sizeof(pmix_nspace_t), "%.200s.%u", rz_pmix->nspace, world);
    }
}

/* The world of this namespace; false: it is none. The caller holds the lock. */
static bool world_of(const pmix_nspace_t nspace, struct rz_gateway_world *its)
{
    size_t length = strlen(rz_pmix->nspace);
    uint32_t world = 0;
    if (strncmp(nspace, rz_pmix->nspace, length) != 0) {
        return false;
    }
    if (nspace[length] == '.') {
        world = (uint32_t)strtoul(nspace + length + 1, NULL, 10);
    }
    pmix_nspace_t name;
    rz_pmix_nspace_of(world, name);
    if (world >= rz_pmix->n_worlds || strcmp(name, nspace) != 0) {
        return false;
    }
    *its = rz_pmix->worlds[world];
    return true;
}

/* Adds the process to the numbers that are named, or all of its world. False: it is unknown. */
static bool name_processes(const pmix_proc_t *process, bool *named)
{
    struct rz_gateway_world world;
    if (!world_of(process->nspace, &world)) {
        return false;
    }
    if (process->rank == PMIX_RANK_WILDCARD) {
        memset(named + world.first, 1, world.n);
    } else if (process->rank < world.n) {
        named[world.first + process->rank] = true;
    }
    return process->rank == PMIX_RANK_WILDCARD || process->rank < world.n;
}

bool rz_pmix_number(const pmix_proc_t *process, uint32_t *number)
{
    struct rz_gateway_world world;
    pthread_mutex_lock(&rz_pmix->lock);
    bool known = world_of(process->nspace, &world);
    pthread_mutex_unlock(&rz_pmix->lock);
    *number = known ? world.first + process->rank : UINT32_MAX;
    return known && process->rank < world.n;
}

void rz_pmix_process(pmix_proc_t *process, uint32_t number)
{
    const struct rz_gateway *gateway = rz_pmix->gateway;
    pmix_nspace_t nspace;
    rz_pmix_nspace_of(gateway->processes[number].world, nspace);
    PMIX_LOAD_PROCID(process, nspace, rz_gateway_rank(gateway, number));
}

/* The gateway has another world. */
static void add_world(const struct rz_gateway *gateway)
{
    struct rz_pmix *pmix = rz_pmix;
    pthread_mutex_lock(&pmix->lock);
    while (pmix->n_worlds < gateway->n_worlds) {
        pmix->worlds = realloc(pmix->worlds, (pmix->n_worlds + 1) * sizeof(*pmix->worlds));
        rz_need_memory(pmix->worlds, "for spawned processes");
        pmix->worlds[pmix->n_worlds] = gateway->worlds[pmix->n_worlds];
        pmix->n_worlds++;
    }
    pthread_mutex_unlock(&pmix->lock);
}

void rz_pmix_world(struct rz_gateway *gateway, uint32_t world, const uint8_t *parent, size_t bytes)
{
    const char *why = NULL;
    bool known = bytes > 0 && parent[bytes - 1] == 0;
    uint32_t number = known ? (uint32_t)strtoul((const char *)parent, NULL, 10) : UINT32_MAX;
    add_world(gateway);
    if (rz_pmix_register(gateway, world, number < gateway->n_processes ? number : UINT32_MAX,
                         &why) != RZ_OK ||
        rz_pmix_tell_ready(gateway, world, &why) != RZ_OK) {
        rz_gateway_give_up(gateway, "%s", why);
    }
}

uint32_t *rz_pmix_numbers(const pmix_proc_t *processes, size_t n, uint32_t *n_numbers)
{
    bool good = true;
    pthread_mutex_lock(&rz_pmix->lock);
    const struct rz_gateway_world *last = &rz_pmix->worlds[rz_pmix->n_worlds - 1];
    uint32_t all = last->first + last->n;
    bool *named = calloc(all, sizeof(*named));
    uint32_t *numbers = calloc(all, sizeof(*numbers));
    rz_need_memory(named && numbers, "for a list of processes");
    for (size_t i = 0; i < n && good; i++) {
        good = name_processes(&processes[i], named);
    }
    pthread_mutex_unlock(&rz_pmix->lock);
    *n_numbers = 0;
    for (uint32_t number = 0; number < all; number++) {
        if (named[number]) {
            numbers[(*n_numbers)++] = number;
        }
    }
    free(named);
    if (good && *n_numbers > 0) {
        return numbers;
    }
    free(numbers);
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

/* Open MPI looks for PMIx only if it believes to be started by a launcher it knows. Files that its
 * processes share lie in a folder that ends with the node, whatever ends them. */
static void add_for_open_mpi(const struct rz_gateway *gateway, struct rz_gateway_texts *texts)
{
    static const char *const folders[] = {"OMPI_MCA_btl_vader_backing_directory",
                                          "OMPI_MCA_btl_sm_backing_directory"};
    rz_gateway_add_text(texts, "JSM_JSRUN_PORT=1");
    if (gateway->job.tolerant) { /* as its own parameter set ft-mpi, and what 5.0.7 needs */
        rz_gateway_add_text(texts, "OMPI_MCA_mpi_ft_enable=1");
        rz_gateway_add_text(texts, "OMPI_MCA_pml=ob1");
        /* Collectives of HAN wait in communicators of their own, which no revocation reaches. */
        rz_gateway_add_text(texts, "OMPI_MCA_coll=^han,hcoll,portals4");
        /* Connections that are needed first after a failure do not always come up. */
        rz_gateway_add_text(texts, "OMPI_MCA_mpi_preconnect_all=1");
    }
    if (gateway->job.oversubscribed) { /* as its own launcher does */
        rz_gateway_add_text(texts, "OMPI_MCA_mpi_yield_when_idle=1");
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        rz_gateway_add_text(texts, "%s=%s", folders[i], gateway->job.folder);
    }
}

/* The same for all processes of the world, but for the variable of the rank. */
rz_status_t rz_pmix_tell_ready(struct rz_gateway *gateway, uint32_t world, const char **why)
{
    static const char rank_variable[] = "PMIX_RANK";
    pmix_proc_t first;
    char **environment = NULL;
    struct rz_gateway_texts texts = {NULL, 0}, defaults = {NULL, 0};
    rz_pmix_process(&first, gateway->worlds[world].first);
    if (PMIx_server_setup_fork(&first, &environment) != PMIX_SUCCESS) {
        *why = "libpmix made no environment for processes";
        return RZ_ERR_SYSTEM;
    }
    for (char **text = environment; text && *text; text++) {
        if (strncmp(*text, rank_variable, strlen(rank_variable)) != 0) {
            rz_gateway_add_text(&texts, "%s", *text);
        }
    }
    add_for_open_mpi(gateway, &defaults);
    rz_gateway_ready(gateway, world, &texts, &defaults, rank_variable);
    PMIX_ARGV_FREE(environment);
    free(texts.at);
    free(defaults.at);
    return RZ_OK;
}

static rz_status_t open_pmix(struct rz_gateway *gateway, const char **why)
{
    struct rz_pmix *pmix = calloc(1, sizeof(*pmix));
    rz_need_memory(pmix, "for PMIx");
    pmix->gateway = gateway;
    pmix->last = &pmix->first;
    pthread_mutex_init(&pmix->lock, NULL);
    /* Whoever connects states a user number that libpmix believes. He must also name a process of
     * the job, and its namespace is no more public than its environment. */
    snprintf(pmix->nspace, sizeof(pmix->nspace), "rz%016llx-%s",
             (unsigned long long)gateway->job.id, gateway->job.secret);
    rz_need_memory(rz_event_fd_make(&pmix->event_fd) == RZ_OK, "for PMIx");
    pmix->posted =
        event_new(gateway->base, pmix->event_fd, EV_READ | EV_PERSIST, run_upcalls, gateway);
    rz_need_memory(pmix->posted && event_add(pmix->posted, NULL) == 0, "for PMIx");
    rz_pmix = pmix;
    gateway->state = pmix;
    rz_status_t status = start_server(gateway, why);
    if (status == RZ_OK) {
        add_world(gateway);
        status = rz_pmix_register(gateway, 0, UINT32_MAX, why);
    }
    return status == RZ_OK ? rz_pmix_tell_ready(gateway, 0, why) : status;
}

/* After the loss of processes PMIx_server_finalize may wait for them for ever. The gateway is about
 * to exit, and all its files lie in the node's folder. */
static void close_pmix(struct rz_gateway *gateway)
{
    (void)gateway;
    _exit(gateway->exit_status);
}

static void pmix_process_ended(struct rz_gateway *gateway, uint32_t process, bool failed)
{
    rz_pmix_lookups_end(gateway, process);
    rz_pmix_spawns_end(process);
    if (failed) {
        rz_pmix_data_of_failed(gateway, process);
        rz_pmix_process_failed(gateway, process);
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
                                                   .added = rz_pmix_added,
                                                   .world = rz_pmix_world,
                                                   .spawned = rz_pmix_spawned};
