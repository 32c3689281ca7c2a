/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process joins its job: HELLO, WELCOME, the descriptors passed with it; over the inherited
 * link or, where that was closed, a connection to the daemon's socket. */
#include "link/link_state.h"

#include "base/trace.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/local_socket.h"
#include "port/memory.h"
#include "port/process.h"
#include "port/trace_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The order of the descriptors beside WELCOME; behind FD_COUNT those that it announces. */
enum { FD_BOARD, FD_INBOX, FD_DOORBELL, FD_WATCH, FD_WAITS, FD_COUNT, FD_MAX = FD_COUNT + 2 };

enum { KEY_BYTES_MAX = 64 };

/* During a wait for an answer, the interval of checks whether the daemon can still give one. */
#define JOIN_LOOK_MS 1000

/* What the daemon has set in the environment. */
struct join_environment {
    struct rz_identity self;
    uint32_t appnum;
    uint8_t key[KEY_BYTES_MAX];
    uint32_t key_bytes;
};

static bool join_number(const char *text, uint64_t max, uint64_t *value)
{
    if (!text || *text == '\0' || *text == '-') {
        return false;
    }
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 0);
    if (errno != 0 || *end != '\0' || number > max) {
        return false;
    }
    *value = number;
    return true;
}

static bool join_key(const char *hex, struct join_environment *environment)
{
    size_t digits = hex ? strlen(hex) : 0;
    if (digits == 0 || digits % 2 != 0 || digits / 2 > KEY_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < digits / 2; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        char *end;
        environment->key[i] = (uint8_t)strtoul(pair, &end, 16);
        if (*end != '\0') {
            return false;
        }
    }
    environment->key_bytes = (uint32_t)(digits / 2);
    return true;
}

static rz_status_t join_environment(struct join_environment *environment)
{
    uint64_t job, rank, incarnation, appnum;
    if (!join_number(getenv("RZ_JOB_ID"), UINT64_MAX, &job) ||
        !join_number(getenv("RZ_RANK"), UINT32_MAX, &rank) ||
        !join_number(getenv("RZ_INCARNATION"), UINT32_MAX, &incarnation) || incarnation == 0 ||
        !join_key(getenv("RZ_JOB_KEY"), environment)) {
        fprintf(stderr, "rhizome: RZ_LINK_FD is set, but RZ_JOB_ID, RZ_JOB_KEY, RZ_RANK and "
                        "RZ_INCARNATION do not name a process of a job\n");
        return RZ_ERR_INVALID;
    }
    environment->self = (struct rz_identity){
        .job = job, .rank = (uint32_t)rank, .incarnation = (uint32_t)incarnation};
    if (!join_number(getenv("RZ_APPNUM"), INT32_MAX, &appnum)) {
        appnum = 0;
    }
    environment->appnum = (uint32_t)appnum;
    return RZ_OK;
}

/* Receives the next datagram. */
static rz_status_t join_receive(struct rz_link *link, size_t *n, int *fds, unsigned *n_fds)
{
    rz_time begun = rz_clock_now();
    for (;;) {
        rz_status_t status =
            rz_channel_receive(link->info.fd, link->buffer, sizeof(link->buffer), n, fds, n_fds);
        if (status != RZ_IN_PROGRESS) {
            return status;
        }
        if (rz_link_overdue(link, begun)) {
            return RZ_ERR_TIMEOUT;
        }
        struct pollfd polled = {.fd = link->info.fd, .events = POLLIN};
        poll(&polled, 1, JOIN_LOOK_MS);
    }
}

rz_status_t rz_link_map_doorbell(struct rz_link *link)
{
    void *at;
    rz_status_t status = rz_memory_reserve(link->info.inbox_fd, 0, sizeof(struct rz_doorbell));
    if (status != RZ_OK) {
        return status;
    }
    status = rz_memory_map(link->info.inbox_fd, sizeof(struct rz_doorbell), true, &at, NULL);
    if (status == RZ_OK) {
        link->info.doorbell = at;
    }
    return status;
}

static rz_status_t join_map_waits(struct rz_link *link, int fd)
{
    void *at;
    rz_status_t status = rz_memory_map(fd, rz_waits_bytes(link->info.n_slots), true, &at, NULL);
    if (status == RZ_OK) {
        link->info.waits = at;
    }
    return status;
}

static rz_status_t join_map_board(struct rz_link *link, int fd)
{
    void *at;
    rz_status_t status = rz_memory_map(fd, 0, false, &at, &link->board_bytes);
    if (status != RZ_OK) {
        return status;
    }
    link->board = at;
    link->info.board = at;
    if (link->board_bytes < sizeof(*link->board) || link->board->magic != RZ_BOARD_MAGIC ||
        link->board->layout != RZ_BOARD_LAYOUT || link->board->n_ranks != link->info.n_ranks ||
        link->board->n_slots != link->info.n_slots || link->info.n_slots < link->info.n_ranks ||
        link->board_bytes < rz_board_bytes(link->info.n_slots)) {
        return RZ_ERR_VERSION;
    }
    return RZ_OK;
}

/* With the ring of processes key, socket and the words for addresses are passed together. */
static rz_status_t join_ring(struct rz_link *link, const struct rz_link_welcome *welcome, int *fd)
{
    struct rz_link_info *info = &link->info;
    if (welcome->ring_key_length == 0) {
        return RZ_OK;
    }
    if (!(link->board->flags & RZ_BOARD_RING) ||
        link->board_bytes < rz_board_bytes_ring(info->n_slots, info->n_nodes) ||
        welcome->ring_key_length != sizeof(info->ring_key) ||
        welcome->hb_timeout_ns <= link->board->hb_period_ns) {
        return RZ_ERR_MALFORMED;
    }
    memcpy(info->ring_key, welcome->ring_key, sizeof(info->ring_key));
    info->hb_timeout = welcome->hb_timeout_ns;
    info->ring_fd = *fd;
    *fd = -1;
    return RZ_OK;
}

static unsigned join_count(const struct rz_link_welcome *welcome)
{
    return FD_COUNT + (welcome->trace_ring > 0) + (welcome->ring_key_length > 0);
}

/* From now on this process is traced. Its ring stays mapped until it ends: any thread may write. */
static void join_trace(struct rz_link *link, const struct rz_link_welcome *welcome, int fd)
{
    struct rz_trace_ring *ring;
    if (welcome->trace_ring > 0 &&
        rz_trace_memory_map(fd, welcome->trace_ring, true, &ring) == RZ_OK &&
        rz_trace_begin(ring, rz_clock_now)) {
        link->trace_ring = ring;
        RZ_TRACE(JOINED, link->info.self.rank, link->info.self.incarnation, welcome->node);
    }
}

/* Takes the content of WELCOME. The descriptors of board, watch page and waits are closed once
 * mapped; inbox and doorbell belong to the link. */
static rz_status_t join_welcome(struct rz_link *link, const struct rz_link_welcome *welcome,
                                int fds[FD_MAX])
{
    struct rz_link_info *info = &link->info;
    info->inbox_fd = fds[FD_INBOX];
    info->doorbell_fd = fds[FD_DOORBELL];
    fds[FD_INBOX] = fds[FD_DOORBELL] = -1;
    info->n_ranks = welcome->n_ranks;
    info->n_slots = welcome->n_slots;
    info->n_nodes = welcome->n_nodes;
    info->node = welcome->node;
    info->lane = welcome->lane;
    info->lanes_max = welcome->lanes_max;
    info->job_token = welcome->job_token;
    info->restarted = welcome->restarted != 0;
    if (welcome->version != RZ_LINK_VERSION || welcome->job != info->self.job) {
        return RZ_ERR_VERSION;
    }
    if (info->self.rank >= info->n_slots || info->lane >= info->lanes_max ||
        welcome->net_key_length != sizeof(info->net_key) ||
        !rz_address_take(&info->node_address, welcome->node_ip, welcome->node_ip_length, 0)) {
        return RZ_ERR_MALFORMED;
    }
    join_trace(link, welcome, fds[FD_COUNT]);
    memcpy(info->net_key, welcome->net_key, sizeof(info->net_key));
    rz_status_t status = join_map_board(link, fds[FD_BOARD]);
    if (status == RZ_OK) {
        status = join_ring(link, welcome, &fds[join_count(welcome) - 1]);
    }
    if (status == RZ_OK) {
        status = rz_link_map_doorbell(link);
    }
    if (status == RZ_OK) {
        status = join_map_waits(link, fds[FD_WAITS]);
    }
    if (status == RZ_OK) {
        link->lease.looked_at = rz_clock_now();
    }
    link->watch_slot = welcome->watch_slot;
    link->watch_fd = fds[FD_WATCH];
    fds[FD_WATCH] = -1;
    return status;
}

static rz_status_t join_answer(struct rz_link *link)
{
    size_t n;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    _Static_assert(FD_MAX <= RZ_CHANNEL_FDS_MAX, "all descriptors fit into one message");
    rz_status_t status = join_receive(link, &n, fds, &n_fds);
    if (status != RZ_OK) {
        return status;
    }
    struct rz_link_message message;
    status = rz_link_decode(&message, link->buffer, n);
    if (status == RZ_OK && message.type == RZ_LINK_REFUSED) {
        fprintf(stderr, "rhizome: the daemon refused this process: %s\n", message.refused.reason);
        status = RZ_ERR_REFUSED;
    } else if (status == RZ_OK &&
               (message.type != RZ_LINK_WELCOME || n_fds != join_count(&message.welcome))) {
        status = RZ_ERR_MALFORMED;
    } else if (status == RZ_OK) {
        status = join_welcome(link, &message.welcome, fds);
    }
    for (unsigned i = 0; i < n_fds; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    return status;
}

/* What a spawned process receives after WELCOME. */
static rz_status_t join_cohort(struct rz_link *link, const struct rz_link_cohort *told)
{
    struct rz_link_cohort_info *cohort = &link->info.cohort;
    uint32_t n = told->processes_length / RZ_LINK_PAIR_BYTES;
    if (told->processes_length % RZ_LINK_PAIR_BYTES != 0 || told->index >= n) {
        return RZ_ERR_MALFORMED;
    }
    cohort->processes = calloc(n, sizeof(*cohort->processes));
    cohort->parent = malloc(told->parent_length + 1);
    if (!cohort->processes || !cohort->parent) {
        return RZ_ERR_NO_MEMORY;
    }
    cohort->n = n;
    cohort->index = told->index;
    cohort->command = told->command;
    cohort->parent_bytes = told->parent_length;
    memcpy(cohort->parent, told->parent, told->parent_length);
    rz_link_get_pairs(told->processes, told->processes_length, cohort->processes, n);
    const struct rz_identity *self = &link->info.self;
    const struct rz_link_process *own = &cohort->processes[cohort->index];
    return own->slot == self->rank && own->incarnation == self->incarnation ? RZ_OK
                                                                            : RZ_ERR_MALFORMED;
}

/* COHORT follows directly after WELCOME. */
static rz_status_t join_receive_cohort(struct rz_link *link)
{
    size_t n;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    struct rz_link_message message;
    rz_status_t status = join_receive(link, &n, fds, &n_fds);
    while (n_fds > 0) {
        close(fds[--n_fds]);
    }
    if (status == RZ_OK) {
        status = rz_link_decode(&message, link->buffer, n);
    }
    if (status == RZ_OK && message.type != RZ_LINK_COHORT) {
        status = RZ_ERR_MALFORMED;
    }
    return status == RZ_OK ? join_cohort(link, &message.cohort) : status;
}

/* RZ_LINK_SOCKET=UID/TOKEN/NODE: where the daemon listens for a process whose inherited descriptor
 * was closed on the way, as sudo and Python's subprocess do. */
static rz_status_t join_by_socket(const char *fd_text, int *fd)
{
    const char *text = getenv("RZ_LINK_SOCKET");
    unsigned uid, node;
    unsigned long long token;
    char more;
    if (text && sscanf(text, "%u/%llx/%u%c", &uid, &token, &node, &more) == 3 &&
        rz_link_socket_connect((uid_t)uid, token, node, RZ_LINK_ANSWER_NS / RZ_MILLISECOND, fd) ==
            RZ_OK) {
        return RZ_OK;
    }
    fprintf(stderr,
            "rhizome: RZ_LINK_FD=%s is not the open descriptor of a link: what started the program "
            "has closed it, and %s\n",
            fd_text,
            text ? "the daemon's socket (RZ_LINK_SOCKET) cannot be reached: start the program on "
                   "the same host, in the same network namespace, by the same user or root"
                 : "RZ_LINK_SOCKET, which names the daemon's socket, is not set: pass the "
                   "environment on");
    return RZ_ERR_INVALID;
}

static void join_hide(void)
{
    unsetenv("RZ_LINK_FD");
    unsetenv("RZ_LINK_SOCKET");
    unsetenv("RZ_JOB_KEY");
}

rz_status_t rz_link_join_daemon(struct rz_link *link, const char *fd_text)
{
    uint64_t number;
    int fd = -1;
    struct join_environment environment;
    rz_status_t status = join_environment(&environment);
    if (status != RZ_OK) {
        return status;
    }
    if (strcmp(fd_text, RZ_LINK_FD_NONE) == 0) {
        fprintf(stderr, "rhizome: cannot join the job: %s\n", RZ_LINK_OTHER_MPI);
        return RZ_ERR_REFUSED;
    }
    if (join_number(fd_text, INT32_MAX, &number) && rz_channel_is_one((int)number)) {
        fd = (int)number;
    } else {
        status = join_by_socket(fd_text, &fd);
    }
    if (status != RZ_OK) {
        return status;
    }
    link->info.fd = fd;
    link->daemon = rz_channel_peer(link->info.fd);
    link->info.self = environment.self;
    link->info.appnum = environment.appnum;
    rz_process_keep_on_exec(link->info.fd, false);
    int flags = fcntl(link->info.fd, F_GETFL);
    fcntl(link->info.fd, F_SETFL, flags | O_NONBLOCK);
    struct rz_link_message hello = {.type = RZ_LINK_HELLO,
                                    .hello = {.version = RZ_LINK_VERSION,
                                              .job = environment.self.job,
                                              .rank = environment.self.rank,
                                              .incarnation = environment.self.incarnation,
                                              .pid = (uint32_t)getpid(),
                                              .key = environment.key,
                                              .key_length = environment.key_bytes}};
    status = rz_link_send(link, &hello, -1);
    explicit_bzero(&environment, sizeof(environment));
    if (status == RZ_OK || status == RZ_ERR_CLOSED) { /* a refusal may wait at a closed link */
        status = join_answer(link);
    }
    if (status == RZ_OK && link->info.self.rank >= link->info.n_ranks) {
        status = join_receive_cohort(link);
    }
    if (status == RZ_OK) {
        join_hide();
    } else {
        fprintf(stderr, "rhizome: cannot join the job: %s\n", rz_status_text(status));
    }
    return status;
}
