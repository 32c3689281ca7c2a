#include "mpi/p2p/paths.h"

#include "mpi/p2p/lane_ends.h"
#include "mpi/p2p/p2p.h"
#include "mpi/p2p/peer.h"
#include "mpi/p2p/unstarted.h"
#include "net/shm/shm.h"
#include "net/tcp/tcp.h"
#include "net/ucx/ucx.h"
#include "port/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long transports may take to let go of memory before they are destroyed. */
#define QUIET_MAX (2 * RZ_SECOND)

/* How long a process waits for a network that its node had before, and between two tries. */
#define CUT_OFF_MAX (30 * RZ_SECOND)
#define CUT_OFF_AGAIN (20 * RZ_MILLISECOND)

static uint32_t
    net_wanted; /* the newest epoch in which somebody off this node wants our endpoint address */
static uint32_t
    ep_address_epoch; /* the newest epoch in which the open transport's endpoint address was put */

/* ---- What comes out of a transport ---- */

static void arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token)
{
    rz_p2p_arrived(arg, header, header_bytes, data, bytes, token);
}

static void broken(void *arg, rz_peer_t number)
{
    rz_peer_broken(arg, number);
}

static struct rz_net_host host_of(struct rz_path *path)
{
    return (struct rz_net_host){.arg = path, .arrived = arrived, .broken = broken};
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

static void close_all(const int *fds, unsigned n_fds)
{
    for (unsigned i = 0; i < n_fds; i++) {
        close(fds[i]);
    }
}

static void on_opened(void *arg, const struct rz_link_message *message, const int *fds,
                      unsigned n_fds)
{
    (void)arg;
    const struct rz_link_opened *opened = &message->opened;
    struct rz_peer *peer = rz_peer_asked(opened->rank, opened->incarnation, RZ_PATH_SHM);
    if (peer != NULL && n_fds == 2) {
        struct rz_shm_ep_address ep_address = {
            .peer = {.job = rz_engine.info->self.job,
                     .rank = opened->rank,
                     .incarnation = opened->incarnation},
            .pid = opened->pid,
            .lane = opened->lane,
            .inbox_fd = fds[0],
            .event_fd = fds[1],
        };
        rz_peer_introduce(peer, &ep_address, sizeof(ep_address));
    }
    close_all(fds, n_fds);
}

static void on_ep_address(void *arg, const struct rz_link_message *message, const int *fds,
                          unsigned n_fds)
{
    (void)arg;
    const struct rz_link_ep_address *ep_address = &message->ep_address;
    struct rz_peer *peer = rz_peer_asked(ep_address->rank, ep_address->incarnation, RZ_PATH_NET);
    if (peer != NULL && ep_address->epoch == rz_engine.epoch && peer->path->net != NULL) {
        rz_peer_introduce(peer, ep_address->ep_address, ep_address->ep_address_length);
    }
    close_all(fds, n_fds);
}

static void on_open_net(void *arg, const struct rz_link_message *message, const int *fds,
                        unsigned n_fds)
{
    (void)arg;
    close_all(fds, n_fds);
    net_wanted = message->open_net.epoch > net_wanted ? message->open_net.epoch : net_wanted;
    rz_paths_open_wanted();
}

void rz_paths_open_wanted(void)
{
    /* Without a network nobody off this node reaches us; those who try hear it from their own. */
    if (net_wanted == rz_engine.epoch && !rz_engine.rollback) {
        rz_paths_open_net();
    }
}

/* ---- Shared memory ---- */

/* Somebody sends to us whom we never sent to: fetching from it, and its flow control, need the way
 * back. */
static void stranger(void *arg, struct rz_identity who)
{
    (void)arg;
    if (who.rank >= rz_engine.info->n_slots || rz_engine.rollback) {
        return;
    }
    uint32_t present = rz_board_incarnation(rz_engine.members[who.rank].word);
    if (who.incarnation == present) {
        rz_peer_meet(rz_process(who.rank, who.incarnation));
    } else if (who.incarnation > present) {
        rz_unstarted_met(who);
    }
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
        .host = host_of(path),
        .stranger = stranger,
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

/* Strangers that are turned away: whoever runs the job should know, and nothing else follows. */
static void warn(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "rhizome: rank %u: %s\n", rz_engine.info->self.rank, text);
}

static rz_status_t open_ucx(struct rz_net **net, struct rz_path *path)
{
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
                                   .ip = rz_engine.info->node_ip,
                                   .host = host_of(path),
                                   .complain = note_reason,
                                   .warn = warn};
    return rz_tcp_open(&config, net, &path->ops);
}

static rz_status_t open_chosen(struct rz_net **net, struct rz_path *path)
{
    const char *chosen = getenv(RZ_NET_ENVIRONMENT);
    if (chosen == NULL || strcmp(chosen, "tcp") == 0) {
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
 * would end the whole job by it: the others hear nothing of them meanwhile, and either the network
 * comes back or the node is declared failed. Until then nobody waits in here: peers queue, and the
 * engine tries again (rz_paths_overdue).
 */
static struct rz_cut_off {
    bool waits;
    uint32_t epoch;
    rz_time until, again;
} cut_off;

/* The try failed: whether there will be another. */
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

/* RZ_IN_PROGRESS: not now, but perhaps later. */
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

void rz_paths_overdue(void)
{
    if (!cut_off.waits || rz_engine.rollback) {
        return;
    }
    rz_status_t status = rz_paths_open_net();
    if (status != RZ_IN_PROGRESS) {
        rz_peers_network(status);
    }
}

/* Once in each epoch: it says that this process reached it, and by which transport. */
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
    if (path->net != NULL) {
        return put_ep_address(path);
    }
    struct rz_net *net = NULL;
    rz_status_t status = open_once(&net, path);
    if (status == RZ_OK) {
        path->net = net;
        ep_address_epoch = 0;
        status = put_ep_address(path);
    }
    refused = status == RZ_IN_PROGRESS ? RZ_OK : status;
    return status;
}

/* ---- Both ---- */

rz_status_t rz_paths_open(void)
{
    if (rz_engine.info->alone) {
        return RZ_OK;
    }
    rz_link_handle(rz_engine.link, RZ_LINK_OPENED, on_opened, NULL);
    rz_link_handle(rz_engine.link, RZ_LINK_EP_ADDRESS, on_ep_address, NULL);
    rz_link_handle(rz_engine.link, RZ_LINK_OPEN_NET, on_open_net, NULL);
    rz_lane_ends_open();
    return open_shm();
}

void rz_paths_forget(uint32_t slot, uint32_t incarnation)
{
    struct rz_path *path = &rz_engine.paths[RZ_PATH_SHM];
    if (path->net != NULL && path->ops == &rz_shm_ops) {
        struct rz_identity who = {
            .job = rz_engine.info->self.job, .rank = slot, .incarnation = incarnation};
        rz_shm_forget(path->net, who, RZ_ERR_PROC_FAILED);
    }
}

static void path_close(struct rz_path *path)
{
    if (path->net != NULL) {
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
        while (path->net != NULL && !path->ops->quiet(path->net) && rz_clock_now() < deadline) {
            path->ops->progress(path->net);
        }
        if (path->net != NULL && path->spoilt) {
            path_close(path);
        }
        path->spoilt = false;
    }
}

void rz_paths_close(void)
{
    rz_lane_ends_close();
    for (int i = 0; i < RZ_PATH_COUNT; i++) {
        path_close(&rz_engine.paths[i]);
    }
}
