/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the PMIx service share. libpmix calls the functions of its server module on a
 * thread of its own: each takes what it needs out of its arguments and posts an upcall, which runs
 * on the gateway's thread. All else runs on the gateway's thread.
 */
#ifndef RZ_GATEWAY_PMIX_PRIVATE_H
#define RZ_GATEWAY_PMIX_PRIVATE_H

#include "gateway/pmix_service.h"

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

struct rz_pmix {
    struct rz_gateway *gateway;
    pmix_nspace_t nspace;
    pthread_mutex_t lock; /* of the upcalls */
    struct rz_upcall *first, **last;
    int event_fd;
    struct event *posted;
    bool tolerant; /* the daemon was told so */
    uint64_t serial;
    struct rz_pmix_ask *asks;
    struct rz_pmix_lookup *lookups;
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

/* The rank of a process of the job; false: it is of another namespace, or no single process. */
bool rz_pmix_rank(const pmix_proc_t *process, uint32_t *rank);

/* The ranks that an array of processes names, ascending, in allocated memory. NULL: it names
 * processes that are not of this job. */
uint32_t *rz_pmix_ranks(const pmix_proc_t *processes, size_t n, uint32_t *n_ranks);

void rz_pmix_process(pmix_proc_t *process, uint32_t rank);

/* pmix_job.c. Registers the job and its processes with libpmix. *why (static text) describes an
 * error. */
rz_status_t rz_pmix_register_job(struct rz_gateway *gateway, const char **why);
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
void rz_pmix_data_of_failed(struct rz_gateway *gateway, uint32_t rank);

/* pmix_publish.c */
void rz_pmix_added(struct rz_gateway *gateway);
/* The process that looks up has ended. */
void rz_pmix_lookups_end(struct rz_gateway *gateway, uint32_t rank);

/* pmix_events.c */
void rz_pmix_event(struct rz_gateway *gateway, const struct rz_peer_event *event);
void rz_pmix_process_failed(struct rz_gateway *gateway, uint32_t rank);
void rz_pmix_node_failed(struct rz_gateway *gateway, uint32_t node);

#endif
