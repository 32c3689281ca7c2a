/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the transports (shared memory; tcp or ucx between nodes), and handles the
 * daemon's messages about inboxes and endpoint addresses. A node that is cut off from the network
 * tries again from time to time.
 */
#include "mpi/engine/paths.h"

#include "base/no_memory.h"
#include "net/shm/shm.h"
#include "net/tcp/tcp.h"
#include "net/ucx/ucx.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/descriptor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long transports may take to release memory before they are destroyed. */
#define QUIET_MAX (2 * RZ_SECOND)

/* How long a process waits for a network that its node had before, and the time between two
 * tries. */
#define CUT_OFF_MAX (30 * RZ_SECOND)
#define CUT_OFF_AGAIN (20 * RZ_MILLISECOND)

static uint32_t
    net_wanted; /* the newest epoch in which a process of another node wants our endpoint address */
static uint32_t ep_address_epoch; /* the newest epoch in which the open transport's endpoint address
                                     was given to the daemon */

/* ---- Events of a transport ---- */

static const struct rz_path_events *events;

static struct rz_net_host host_of(struct rz_path *path)
{
    return (struct rz_net_host){.arg = path, .arrived = events->arrived, .broken = events->broken};
}

/* ---- Introductions by the daemon ---- */

void rz_paths_ask(uint32_t slot, enum rz_path_kind kind)
{
    struct rz_link_message message = {.type = RZ_LINK_OPEN, .open = {.rank = slot}};
    if (kind == RZ_PATH_NET) {
        message =
            (struct rz_link_message){.type = RZ_LINK_GET_EP_ADDRESS,
                                     .get_ep_address = {.rank = slot, .epoch = rz_engine.epoch}};
    }
    rz_engine_tell_daemon(&message);
}

static void on_open_net(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    (void)arg;
    rz_engine_close_fds(fds, n_fds);
    net_wanted = message->open_net.epoch > net_wanted ? message->open_net.epoch : net_wanted;
    rz_paths_open_wanted();
}

void rz_paths_open_wanted(void)
{
    /* Without a network no process of another node reaches us; a process that tries learns that
     * from its own daemon. */
    if (net_wanted == rz_engine.epoch && !rz_engine.rollback) {
        rz_paths_open_net();
    }
}

/* ---- Shared memory ---- */

/* Whether copies by both sides (net/shm/shm_share.c) cost nothing else: each rank has a processor.
 */
static bool both_have_time(void)
{
    return !rz_engine.waiting.oversubscribed && !rz_engine.waiting.shared;
}

/* A roll-back takes memory back at once, and does not wait for a sender that writes there. */
static bool asks_for_help(void *path)
{
    (void)path;
    return !rz_engine.rewinds && !rz_engine.reinit_entered && both_have_time();
}

static bool helps(void *path)
{
    (void)path;
    return rz_engine.waits && both_have_time();
}

bool rz_paths_shared(void)
{
    const struct rz_path *path = &rz_engine.paths[RZ_PATH_SHM];
    return path->net && rz_shm_shares(path->net);
}

static rz_status_t open_shm(void)
{
    const struct rz_link_info *info = rz_engine.info;
    struct rz_path *path = &rz_engine.paths[RZ_PATH_SHM];
    struct rz_shm_config config = {
        .self = info->self,
        .job_token = info->job_token,
        .lane = info->lane,
        .lanes_max = info->lanes_max,
        .inbox_fd = info->inbox_fd,
        .event_fd = info->doorbell_fd,
        /* Processes that another launcher has started are not the daemon's descendants. */
        .copied_by = info->elsewhere ? 0 : rz_channel_peer(info->fd),
        .host = host_of(path),
        .stranger = events->stranger,
        .asks = asks_for_help,
        .helps = helps,
    };
    path->ops = &rz_shm_ops;
    return rz_shm_open(&path->net, &config);
}

/* ---- The network ---- */

static char refusal[256]; /* why the last try to open the network failed */

static void note_reason(void *arg, const char *text)
{
    (void)arg;
    snprintf(refusal, sizeof(refusal), "%s", text);
}

/* Unauthorized connections that were refused: a warning for the user, without further effect. */
static void warn(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "rhizome: rank %u: %s\n", rz_engine.info->self.rank, text);
}

static rz_status_t open_ucx(struct rz_net **net, struct rz_path *path)
{
    if (!rz_address_is_ipv4(&rz_engine.info->node_address)) {
        note_reason(NULL, "--net ucx is for nodes with IPv4 addresses alone, and this one has an "
                          "IPv6 address; use --net tcp, or name a network by --interface");
        return RZ_ERR_UNSUPPORTED;
    }
    struct rz_ucx_config config = {.job = rz_engine.info->self.job,
                                   .host = host_of(path),
                                   .peers_estimated = rz_engine.info->n_ranks - 1,
                                   .complain = note_reason};
    return rz_ucx_open(&config, net, &path->ops);
}

static rz_status_t open_tcp(struct rz_net **net, struct rz_path *path)
{
    struct rz_tcp_config config = {.self = rz_engine.info->self,
                                   .key = rz_engine.info->net_key,
                                   .address = rz_engine.info->node_address,
                                   .host = host_of(path),
                                   .complain = note_reason,
                                   .warn = warn};
    return rz_tcp_open(&config, net, &path->ops);
}

static rz_status_t open_chosen(struct rz_net **net, struct rz_path *path)
{
    const char *chosen = getenv(RZ_NET_ENVIRONMENT);
    if (!chosen || strcmp(chosen, "tcp") == 0) {
        return open_tcp(net, path);
    }
    if (strcmp(chosen, "ucx") == 0) {
        return open_ucx(net, path);
    }
    note_reason(NULL, RZ_NET_ENVIRONMENT " is neither tcp nor ucx");
    return RZ_ERR_INVALID;
}

/*
 * A node that had a network and has none now is cut off. That is no error of its processes, which
 * would end the whole job: the others hear nothing of them meanwhile, and either the network
 * returns or the node is declared failed. No call waits here until then: send descriptors queue at
 * their peers, and the engine tries again (rz_paths_retry).
 */
static struct rz_cut_off {
    bool waits;
    uint32_t epoch;
    rz_time until, again;
} cut_off;

/* The try failed: whether another one will follow. */
static bool will_try_again(rz_time now)
{
    if (!cut_off.waits || cut_off.epoch != rz_engine.epoch) {
        bool had_one = rz_engine.epoch > 1;
        cut_off = (struct rz_cut_off){.epoch = rz_engine.epoch,
                                      .until = now + (had_one ? CUT_OFF_MAX : 0)};
    }
    cut_off.waits = now < cut_off.until;
    cut_off.again = now + CUT_OFF_AGAIN;
    return cut_off.waits;
}

/* RZ_IN_PROGRESS: not now, but a later try may succeed. */
static rz_status_t open_once(struct rz_net **net, struct rz_path *path)
{
    rz_time now = rz_clock_now();
    if (cut_off.waits && cut_off.epoch == rz_engine.epoch && now < cut_off.again) {
        return RZ_IN_PROGRESS;
    }
    rz_status_t status = open_chosen(net, path);
    if (status == RZ_ERR_SYSTEM && will_try_again(now)) {
        return RZ_IN_PROGRESS;
    }
    cut_off.waits = false;
    if (status != RZ_OK) {
        fprintf(stderr, "rhizome: rank %u: no network between nodes: %s\n",
                rz_engine.info->self.rank, refusal);
    }
    return status;
}

rz_status_t rz_paths_retry(void)
{
    return cut_off.waits && !rz_engine.rollback ? rz_paths_open_net() : RZ_IN_PROGRESS;
}

/* Once in each epoch: shows that this process has reached the epoch, and by which transport. */
static rz_status_t put_ep_address(const struct rz_path *path)
{
    if (ep_address_epoch == rz_engine.epoch) {
        return RZ_OK;
    }
    ep_address_epoch = rz_engine.epoch;
    unsigned char ep_address[4096];
    size_t bytes = sizeof(ep_address);
    rz_status_t status = path->ops->ep_address(path->net, ep_address, &bytes);
    if (status == RZ_OK) {
        struct rz_link_message message = {.type = RZ_LINK_PUT_EP_ADDRESS,
                                          .put_ep_address = {.epoch = rz_engine.epoch,
                                                             .ep_address = ep_address,
                                                             .ep_address_length = (uint32_t)bytes}};
        rz_engine_tell_daemon(&message);
    }
    return status;
}

rz_status_t rz_paths_open_net(void)
{
    static rz_status_t refused = RZ_OK;
    struct rz_path *path = &rz_engine.paths[RZ_PATH_NET];
    if (refused != RZ_OK) {
        return refused;
    }
    if (path->net) {
        return put_ep_address(path);
    }
    struct rz_net *net = NULL;
    rz_status_t status = open_once(&net, path);
    if (status == RZ_OK) {
        path->net = net;
        ep_address_epoch = 0;
        status = put_ep_address(path);
    }
    rz_need_memory(status != RZ_ERR_NO_MEMORY, "for the network between nodes");
    refused = status == RZ_IN_PROGRESS ? RZ_OK : status;
    return status;
}

/* ---- Both ---- */

rz_status_t rz_paths_open(const struct rz_path_events *told)
{
    events = told;
    rz_link_handle(rz_engine.link, RZ_LINK_OPEN_NET, on_open_net, NULL);
    return open_shm();
}

bool rz_paths_hear(uint32_t slot, uint32_t incarnation)
{
    bool hears = false;
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        const struct rz_path *path = &rz_engine.paths[i];
        hears = hears ||
                (path->net && path->ops->hears && path->ops->hears(path->net, slot, incarnation));
    }
    return hears;
}

void rz_paths_forget(uint32_t slot, uint32_t incarnation)
{
    struct rz_path *path = &rz_engine.paths[RZ_PATH_SHM];
    if (path->net && path->ops == &rz_shm_ops) {
        struct rz_identity identity = {
            .job = rz_engine.info->self.job, .rank = slot, .incarnation = incarnation};
        rz_shm_forget(path->net, identity, RZ_ERR_PROC_FAILED);
    }
}

static void path_close(struct rz_path *path)
{
    if (path->net) {
        struct rz_net *net = path->net;
        path->net = NULL;
        path->ops->close(net);
    }
}

void rz_paths_quiet(void)
{
    rz_time deadline = rz_clock_now() + QUIET_MAX;
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        struct rz_path *path = &rz_engine.paths[i];
        while (path->net && !path->ops->quiet(path->net) && rz_clock_now() < deadline) {
            path->ops->progress(path->net);
        }
        if (path->net && path->incomplete) {
            path_close(path);
        }
        path->incomplete = false;
    }
}

void rz_paths_descriptors(void (*visit)(void *arg, int fd), void *arg)
{
    const struct rz_path *shm = &rz_engine.paths[RZ_PATH_SHM], *net = &rz_engine.paths[RZ_PATH_NET];
    if (shm->net) {
        rz_shm_descriptors(shm->net, visit, arg);
    }
    if (net->net) {
        int epoll = net->ops->fd(net->net);
        visit(arg, epoll);
        rz_descriptor_watched(epoll, visit, arg); /* without /proc those inside are the program's */
    }
}

/* What the image has of a transport: its sockets and shared memory were another process's, so it
 * can be neither used nor closed. A leak checker must not take it for lost. */
struct abandoned_net {
    struct rz_net *net;
    struct abandoned_net *next;
};
static struct abandoned_net *abandoned_nets;

static void keep_reachable(struct rz_net *net)
{
    struct abandoned_net *kept = net ? malloc(sizeof(*kept)) : NULL;
    if (kept) {
        *kept = (struct abandoned_net){.net = net, .next = abandoned_nets};
        abandoned_nets = kept;
    }
}

void rz_paths_abandon(void)
{
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        keep_reachable(rz_engine.paths[i].net);
        rz_engine.paths[i].net = NULL;
        rz_engine.paths[i].incomplete = false;
    }
    net_wanted = ep_address_epoch = 0;
    cut_off = (struct rz_cut_off){.waits = false};
}

void rz_paths_close(void)
{
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        path_close(&rz_engine.paths[i]);
    }
}
