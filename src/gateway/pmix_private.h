/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the PMIx service share. libpmix calls the functions of its server module on a
 * thread of its own: each takes what it needs out of its arguments and posts an upcall, which runs
 * on the gateway's thread. All else runs on the gateway's thread.
 */
#ifndef RZ_GATEWAY_PMIX_PRIVATE_H
#define RZ_GATEWAY_PMIX_PRIVATE_H

#include "gateway/gateway.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>

/* An upcall on its way to the gateway's thread; run frees it. */
struct rz_upcall {
    struct rz_upcall *next;
    void (*run)(struct rz_gateway *gateway, struct rz_upcall *upcall);
};

/* A query for the failed processes of the job: an array of PMIX_PROC. The standard has no key. */
#define RZ_PMIX_QUERY_FAILED "rhizome.failed.procs"

struct rz_pmix_ask;    /* pmix_fence.c: data of a process of another node that was asked for */
struct rz_pmix_lookup; /* pmix_publish.c: a look-up that waits for keys */
struct rz_pmix_spawn;  /* pmix_spawn.c: a spawn that waits for its answer */

struct rz_pmix {
    struct rz_gateway *gateway;
    pmix_nspace_t nspace;            /* of the ranks; those of spawned worlds begin with it */
    pthread_mutex_t lock;            /* of the upcalls and the worlds */
    struct rz_gateway_world *worlds; /* [n_worlds]: the gateway's, for libpmix's thread */
    uint32_t n_worlds;
    struct rz_upcall *first, **last;
    int event_fd;
    struct event *posted;
    bool tolerant; /* the daemon was told so */
    uint64_t serial;
    struct rz_pmix_ask *asks;
    struct rz_pmix_lookup *lookups;
    struct rz_pmix_spawn *spawns;
};

/* The one of this process: libpmix has no argument for it. */
extern struct rz_pmix *rz_pmix;

/* Calls run(arg) on libpmix's thread: for its functions that answer a client at once. */
void rz_pmix_on_its_thread(void (*run)(void *arg), void *arg);

/* From libpmix's thread. */
void rz_pmix_post(struct rz_upcall *upcall, void (*run)(struct rz_gateway *, struct rz_upcall *));

/* An allocated upcall of this type. */
#define RZ_UPCALL_MAKE(type, name)                                                                 \
    struct type *name = calloc(1, sizeof(*name));                                                  \
    rz_need_memory(name, "for a request")

/* The number of a process of the job (gateway.h); false: it is of another namespace, or no single
 * process. On any thread. */
bool rz_pmix_number(const pmix_proc_t *process, uint32_t *number);

/* The numbers of the processes that an array names, ascending, in allocated memory. NULL: it names
 * processes that are not of this job. On any thread. */
uint32_t *rz_pmix_numbers(const pmix_proc_t *processes, size_t n, uint32_t *n_numbers);

void rz_pmix_process(pmix_proc_t *process, uint32_t number);

/* The name of a world, which is a namespace. */
void rz_pmix_nspace_of(uint32_t world, pmix_nspace_t nspace);

/* pmix_job.c. Registers a world and its processes with libpmix. parent: the number of the process
 * that spawned it, or UINT32_MAX. *why (static text) describes an error. */
rz_status_t rz_pmix_register(struct rz_gateway *gateway, uint32_t world, uint32_t parent,
                             const char **why);
/* The name of a node, as processes see it: writes it to name. */
enum { RZ_PMIX_NODE_NAME_MAX = 32 };
void rz_pmix_node_name(uint32_t node, char name[RZ_PMIX_NODE_NAME_MAX]);

/* ---- the server module ---- */

pmix_status_t rz_pmix_on_fence(const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                               size_t n_info, char *data, size_t bytes, pmix_modex_cbfunc_t done,
                               void *arg);
pmix_status_t rz_pmix_on_connect(const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                                 size_t n_info, pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_disconnect(const pmix_proc_t processes[], size_t n,
                                    const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done,
                                    void *arg);
pmix_status_t rz_pmix_on_group(pmix_group_operation_t operation, char group[],
                               const pmix_proc_t processes[], size_t n, const pmix_info_t info[],
                               size_t n_info, pmix_info_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_modex(const pmix_proc_t *process, const pmix_info_t info[], size_t n_info,
                               pmix_modex_cbfunc_t done, void *arg);

pmix_status_t rz_pmix_on_publish(const pmix_proc_t *process, const pmix_info_t info[], size_t n,
                                 pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_lookup(const pmix_proc_t *process, char **keys, const pmix_info_t info[],
                                size_t n, pmix_lookup_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_unpublish(const pmix_proc_t *process, char **keys,
                                   const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done,
                                   void *arg);

pmix_status_t rz_pmix_on_connected(const pmix_proc_t *process, void *object, pmix_info_t info[],
                                   size_t n, pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_finalized(const pmix_proc_t *process, void *object, pmix_op_cbfunc_t done,
                                   void *arg);
pmix_status_t rz_pmix_on_abort(const pmix_proc_t *process, void *object, int code,
                               const char message[], pmix_proc_t processes[], size_t n,
                               pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_register(pmix_status_t *codes, size_t n, const pmix_info_t info[],
                                  size_t n_info, pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_deregister(pmix_status_t *codes, size_t n, pmix_op_cbfunc_t done,
                                    void *arg);
pmix_status_t rz_pmix_on_notify(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t n,
                                pmix_op_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_query(pmix_proc_t *process, pmix_query_t *queries, size_t n,
                               pmix_info_cbfunc_t done, void *arg);
pmix_status_t rz_pmix_on_spawn(const pmix_proc_t *process, const pmix_info_t info[], size_t n_info,
                               const pmix_app_t programs[], size_t n, pmix_spawn_cbfunc_t done,
                               void *arg);

/* ---- what the gateway tells ---- */

/* pmix_fence.c */
void rz_pmix_data_ask(struct rz_gateway *gateway, uint32_t node,
                      const struct rz_peer_data_ask *asked);
void rz_pmix_data(struct rz_gateway *gateway, const struct rz_peer_data *data);
void rz_pmix_data_of_failed(struct rz_gateway *gateway, uint32_t process);

/* pmix_publish.c */
void rz_pmix_added(struct rz_gateway *gateway);
/* The process that looks up has ended. */
void rz_pmix_lookups_end(struct rz_gateway *gateway, uint32_t process);

/* pmix_spawn.c */
void rz_pmix_world(struct rz_gateway *gateway, uint32_t world, const uint8_t *parent, size_t bytes);
void rz_pmix_spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                     uint32_t world);
/* The process that spawns has ended. */
void rz_pmix_spawns_end(uint32_t process);

/* pmix_service.c. Processes of a world that is registered may start. *why (static text) describes
 * an error. */
rz_status_t rz_pmix_tell_ready(struct rz_gateway *gateway, uint32_t world, const char **why);

/* pmix_events.c */
void rz_pmix_event(struct rz_gateway *gateway, const struct rz_peer_event *event);
void rz_pmix_process_failed(struct rz_gateway *gateway, uint32_t number);
void rz_pmix_node_failed(struct rz_gateway *gateway, uint32_t node);

#endif
