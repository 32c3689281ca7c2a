/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts proto/view_change: passes it the arrivals and the ends of this node's processes, and sends
 * them the core's decisions by their links or their lines. */
#include "daemon/service/groups.h"

#include "base/no_memory.h"
#include "base/trace.h"
#include "daemon/state/core.h"
#include "port/channel.h"
#include "port/clock.h"
#include "port/kill_point.h"
#include "port/prompt.h"
#include "port/socket.h"
#include "proto/diagnose/diagnose.h"
#include "wire/cursor.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

RZ_PROTOCOL(view_change, RZ_PROTOCOL_VIEW_CHANGE);

#define VIEW_BYTES_MAX ((RZ_VIEW_CHANGE_PROCESSES_MAX + 63) / 64 * 8)

/* A message must hold the processes, the counters, the name, and all other fields of
 * GROUP_ARRIVE. */
_Static_assert(RZ_VIEW_CHANGE_PROCESSES_MAX *(RZ_LINK_PAIR_BYTES + 8) + RZ_GROUP_NAME_MAX + 64 <=
                   RZ_LINK_MESSAGE_MAX,
               "the largest group can arrive");

/*
 * A line: a socket to the testing thread of a monitor, for its group of voters
 * (mpi/tester/tester_voters.c). The process may compute for hours without reading its link.
 */
struct line {
    struct line *next;
    struct rz_groups *groups;
    uint32_t slot, incarnation;
    struct rz_link_peer peer;
};

/* A process of this node in a group. */
struct member {
    struct member *next;
    struct line *line; /* the line on which it sends; NULL: its link */
    uint32_t rank;     /* in the group */
    uint32_t slot, incarnation;
    uint32_t round; /* the round that it ends */
    bool waits;
};

/* A group with processes of this node. */
struct group {
    struct group *next;
    uint64_t number;
    struct member *members;
    char name[RZ_GROUP_NAME_MAX + 1];
    bool votes; /* a group of voters, which status pages do not show */
    uint32_t n;
    uint32_t events[];
};

struct rz_groups {
    struct rz_groups_config config;
    const struct rz_own_node *own; /* copied from config */
    uint32_t epoch;                /* the epoch of these groups, which is the core's view */
    struct rz_core view_change;
    struct rz_core_host host;
    struct rz_core_notices notices;
    struct event *noticing;
    struct group *groups;
    struct line *lines;
    uint8_t buffer[RZ_LINK_MESSAGE_MAX];
};

/* ---- groups and members ---- */

static struct group *group_of(const struct rz_groups *groups, uint64_t number)
{
    struct group *group = groups->groups;
    while (group && group->number != number) {
        group = group->next;
    }
    return group;
}

static void group_free(struct group *group)
{
    while (group->members) {
        struct member *member = group->members;
        group->members = member->next;
        free(member);
    }
    free(group);
}

/* Drops groups without processes of this node: only the core keeps those. */
static void drop_empty(struct rz_groups *groups)
{
    for (struct group **at = &groups->groups; *at;) {
        struct group *group = *at;
        if (group->members) {
            at = &group->next;
            continue;
        }
        *at = group->next;
        group_free(group);
    }
}

static void drop_all(struct rz_groups *groups)
{
    while (groups->groups) {
        struct group *group = groups->groups;
        groups->groups = group->next;
        group_free(group);
    }
}

static struct member **member_at(struct group *group, uint32_t slot, uint32_t incarnation)
{
    struct member **at = &group->members;
    while (*at && ((*at)->slot != slot || (*at)->incarnation != incarnation)) {
        at = &(*at)->next;
    }
    return at;
}

static void member_remove(struct member **at)
{
    struct member *member = *at;
    *at = member->next;
    free(member);
}

/* What the core knows of this number may be nothing, or another group: it has refused the processes
 * of this node, which are not told yet, or it has forgotten theirs. NULL: there is none here. */
static bool has_size(const struct group *group, uint32_t n)
{
    return !group || group->n == n;
}

static struct group *enter(struct rz_groups *groups, const struct rz_link_group_arrive *arrive,
                           uint32_t n, bool votes)
{
    struct group *group = group_of(groups, arrive->group);
    if (group) {
        return group;
    }
    group = calloc(1, sizeof(*group) + n * sizeof(*group->events));
    rz_need_memory(group, "for a dynamic group");
    group->number = arrive->group;
    group->n = n;
    group->votes = votes;
    strcpy(group->name, arrive->name); /* its length was checked */
    group->next = groups->groups;
    groups->groups = group;
    return group;
}

static void note_arrival(struct group *group, const struct rz_child *p, struct line *line,
                         const struct rz_link_group_arrive *arrive, const uint64_t *counters,
                         uint32_t n_counters)
{
    struct member **at = member_at(group, p->rank, p->incarnation);
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        rz_need_memory(*at, "for a member of a dynamic group");
    }
    (*at)->line = line;
    (*at)->rank = arrive->rank;
    (*at)->slot = p->rank;
    (*at)->incarnation = p->incarnation;
    (*at)->round = arrive->round;
    (*at)->waits = true;
    for (uint32_t i = 0; i < n_counters; i++) {
        uint32_t *events = &group->events[counters[i] >> 32];
        if (*events < (uint32_t)counters[i]) {
            *events = (uint32_t)counters[i];
        }
    }
}

/* ---- messages to processes ---- */

static void tell(const struct rz_groups *groups, struct member *member,
                 const struct rz_link_group_round *round)
{
    const struct rz_link_message message = {.type = RZ_LINK_GROUP_ROUND, .group_round = *round};
    struct rz_child *p = rz_child_of(groups->config.children, member->slot);
    member->waits = false;
    RZ_TRACE(GROUP_ROUND, round->group, round->round, member->slot);
    if (member->line) {
        /* If sending fails, the thread asks again. */
        rz_link_peer_send(&member->line->peer, &message, NULL, 0);
    } else if (p && p->incarnation == member->incarnation && p->state == RZ_CHILD_JOINED) {
        rz_link_router_send(p, &message);
    }
    rz_kill_here(RZ_KILL_ROUND_TOLD);
}

static void on_round(struct rz_groups *groups, const struct rz_core_notice *notice)
{
    uint8_t view[VIEW_BYTES_MAX];
    struct rz_wire_writer w;
    uint32_t n = (uint32_t)notice->arg[3];
    const struct group *group = group_of(groups, notice->arg[0]);
    rz_wire_writer_init(&w, view, sizeof(view));
    for (uint32_t i = n; i < notice->n_items; i++) {
        rz_wire_put_u64(&w, notice->items[i]);
    }
    const struct rz_link_group_round round = {.group = notice->arg[0],
                                              .round = (uint32_t)notice->arg[1],
                                              .status = RZ_OK,
                                              .progress = notice->arg[2],
                                              .view = view,
                                              .view_length = (uint32_t)(w.at - w.start)};
    rz_kill_here(RZ_KILL_ROUND);
    for (struct member *member = group ? group->members : NULL; member; member = member->next) {
        if (member->waits && member->round < round.round) {
            tell(groups, member, &round);
        }
    }
}

static void on_refused(struct rz_groups *groups, const struct rz_core_notice *notice)
{
    const struct rz_link_group_round round = {
        .group = notice->arg[0], .status = (uint32_t)notice->arg[2], .view = (const uint8_t *)""};
    struct group *group = group_of(groups, notice->arg[0]);
    for (struct member **at = group ? &group->members : NULL; at && *at;) {
        if ((*at)->rank != notice->arg[1] || !(*at)->waits) {
            at = &(*at)->next;
            continue;
        }
        tell(groups, *at, &round);
        member_remove(at);
    }
    drop_empty(groups);
}

static void groups_run_notices(evutil_socket_t fd, short what, void *arg)
{
    struct rz_groups *groups = arg;
    struct rz_core_notice *notice;
    (void)fd, (void)what;
    while ((notice = rz_core_notices_take(&groups->notices))) {
        if (notice->what == RZ_VIEW_CHANGE_ROUND) {
            on_round(groups, notice);
        } else {
            on_refused(groups, notice);
        }
        free(notice);
    }
}

/* ---- messages of processes ---- */

/* Makes the items for the core from the processes and counters of a message, in allocated memory.
 * NULL: they are no group that this process belongs to. */
static uint64_t *items_of(const struct rz_child *p, const struct rz_link_group_arrive *arrive,
                          uint32_t *n_items)
{
    uint32_t n = arrive->processes_length / RZ_LINK_PAIR_BYTES;
    uint32_t n_counters = arrive->counters_length / 8;
    if (arrive->processes_length % RZ_LINK_PAIR_BYTES != 0 || arrive->counters_length % 8 != 0 ||
        n > RZ_VIEW_CHANGE_PROCESSES_MAX || n_counters > n || arrive->rank >= n ||
        strlen(arrive->name) > RZ_GROUP_NAME_MAX) {
        return NULL;
    }
    *n_items = n + n_counters;
    uint64_t *items = calloc(*n_items, sizeof(*items));
    rz_need_memory(items, "for a round of a dynamic group");
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, arrive->processes, arrive->processes_length);
    for (uint32_t i = 0; i < n; i++) {
        /* Each is slot and incarnation, a RZ_VIEW_CHANGE_PROCESS byte by byte. */
        uint32_t slot = rz_wire_get_u32(&r);
        items[i] = RZ_VIEW_CHANGE_PROCESS(slot, rz_wire_get_u32(&r));
    }
    rz_wire_reader_init(&r, arrive->counters, arrive->counters_length);
    for (uint32_t i = 0; i < n_counters; i++) {
        items[n + i] = rz_wire_get_u64(&r);
    }
    if (items[arrive->rank] == RZ_VIEW_CHANGE_PROCESS(p->rank, p->incarnation) &&
        rz_diagnose_are_counters(n, items + n, n_counters)) {
        return items;
    }
    free(items);
    return NULL;
}

/* Whether the process sent it before it learned of the roll-back. */
static bool of_an_old_epoch(const struct rz_child *p)
{
    return p->all->own->membership.epoch > 1 && p->reached_epoch != p->all->own->membership.epoch;
}

static void refuse_others(struct rz_child *p, struct line *line, uint64_t group)
{
    const struct rz_link_message refused = {
        .type = RZ_LINK_GROUP_ROUND,
        .group_round = {.group = group, .status = RZ_ERR_INVALID, .view = (const uint8_t *)""}};
    if (line) {
        rz_link_peer_send(&line->peer, &refused, NULL, 0);
    } else {
        rz_link_router_send(p, &refused);
    }
}

static bool arrives(struct rz_groups *groups, struct rz_child *p, struct line *line,
                    const struct rz_link_group_arrive *arrive)
{
    struct rz_view_change_look look;
    uint32_t n_items, n = arrive->processes_length / RZ_LINK_PAIR_BYTES;
    if (of_an_old_epoch(p)) {
        return true;
    }
    uint64_t *items = items_of(p, arrive, &n_items);
    if (!items) {
        return false;
    }
    bool known = rz_view_change_look_for(groups->view_change.embedded.state, arrive->group, &look);
    if (!has_size(group_of(groups, arrive->group), n) ||
        (known && (look.n != n || memcmp(look.processes, items, n * sizeof(*items)) != 0))) {
        refuse_others(p, line, arrive->group);
        free(items);
        return true;
    }
    struct group *group = enter(groups, arrive, n, line != NULL);
    note_arrival(group, p, line, arrive, items + n, n_items - n);
    rz_core_step(&groups->view_change,
                 &(struct rz_event){.kind = RZ_EVENT_CALL,
                                    .call = RZ_VIEW_CHANGE_ARRIVE,
                                    .arg = {arrive->group, arrive->round,
                                            (uint64_t)arrive->rank << 32 | n, arrive->progress},
                                    .items = items,
                                    .n_items = n_items});
    free(items);
    return true;
}

static bool on_arrive(void *groups, struct rz_child *p, const struct rz_link_message *message,
                      int *fd)
{
    (void)fd;
    return arrives(groups, p, NULL, &message->group_arrive);
}

static void leave_group(struct rz_groups *groups, struct group *group, struct member **at)
{
    rz_core_call(&groups->view_change, RZ_VIEW_CHANGE_LEAVE, group->number, (*at)->rank, 0);
    member_remove(at);
}

static bool on_group_leave(void *arg, struct rz_child *p, const struct rz_link_message *message,
                           int *fd)
{
    struct rz_groups *groups = arg;
    const struct rz_link_group_leave *told = &message->group_leave;
    (void)fd;
    struct group *group = group_of(groups, told->group);
    struct member **at = group ? member_at(group, p->rank, p->incarnation) : NULL;
    if (!at || !*at) {
        return true; /* of an old epoch, or before the first arrival */
    }
    if ((*at)->rank != told->rank) {
        return false;
    }
    leave_group(groups, group, at);
    drop_empty(groups);
    return true;
}

/* ---- the lines of monitors' threads ---- */

/* Closes a line; members that sent on it have none. */
static void line_close(struct line *line)
{
    struct rz_groups *groups = line->groups;
    struct line **place = &groups->lines;
    while (*place != line) {
        place = &(*place)->next;
    }
    *place = line->next;
    for (struct group *group = groups->groups; group; group = group->next) {
        for (struct member **at = &group->members; *at;) {
            if ((*at)->line == line) {
                leave_group(groups, group, at);
            } else {
                at = &(*at)->next;
            }
        }
    }
    drop_empty(groups);
    rz_link_peer_close(&line->peer);
    free(line);
}

/* Closes the lines of this process, or with slot RZ_ID_NONE all lines. */
static void lines_close(struct rz_groups *groups, uint32_t slot, uint32_t incarnation)
{
    struct line *next;
    for (struct line *line = groups->lines; line; line = next) {
        next = line->next;
        if (slot == RZ_ID_NONE || (line->slot == slot && line->incarnation <= incarnation)) {
            line_close(line);
        }
    }
}

/* Handles one message of a line. False: the thread has broken the protocol. */
static bool line_message(struct line *line, size_t bytes)
{
    struct rz_link_message message;
    struct rz_child *p = rz_child_of(line->groups->config.children, line->slot);
    if (rz_link_decode(&message, line->groups->buffer, bytes) != RZ_OK ||
        message.type != RZ_LINK_GROUP_ARRIVE) {
        return false;
    }
    if (!p || p->incarnation != line->incarnation || p->state != RZ_CHILD_JOINED) {
        return true;
    }
    return arrives(line->groups, p, line, &message.group_arrive);
}

static void line_readable(evutil_socket_t fd, short what, void *arg)
{
    struct line *line = arg;
    struct rz_groups *groups = line->groups;
    int fds[RZ_CHANNEL_FDS_MAX];
    unsigned n_fds = 0;
    size_t n = 0;
    (void)what;
    rz_status_t status =
        rz_channel_receive(fd, groups->buffer, sizeof(groups->buffer), &n, fds, &n_fds);
    while (n_fds > 0) {
        rz_prompt_close(fds[--n_fds]);
    }
    if (status == RZ_IN_PROGRESS) {
        return;
    }
    if (status != RZ_OK || !line_message(line, n)) {
        line_close(line);
    }
}

static void line_sent(void *arg)
{
    (void)arg;
}

static uint32_t lines_of(const struct rz_groups *groups, const struct rz_child *p)
{
    uint32_t n = 0;
    for (const struct line *line = groups->lines; line; line = line->next) {
        n += line->slot == p->rank && line->incarnation == p->incarnation;
    }
    return n;
}

/* Opens a line; *fd is the thread's end. */
static rz_status_t line_open(struct rz_groups *groups, struct rz_child *p, int *fd)
{
    int fds[2];
    if (lines_of(groups, p) >= RZ_GROUP_LINES_EACH) {
        return RZ_ERR_TOO_MANY;
    }
    rz_status_t status = rz_channel_pair(fds);
    if (status != RZ_OK) {
        return status;
    }
    struct line *line = calloc(1, sizeof(*line));
    rz_need_memory(line, "for a group monitor");
    *line = (struct line){.groups = groups, .slot = p->rank, .incarnation = p->incarnation};
    evutil_make_socket_nonblocking(fds[0]);
    evutil_make_socket_nonblocking(fds[1]);
    status =
        rz_link_peer_open(&line->peer, p->all->own->base, fds[0], line_readable, line_sent, line);
    if (status != RZ_OK) {
        close(fds[1]);
        free(line);
        return status;
    }
    line->next = groups->lines;
    groups->lines = line;
    *fd = fds[1];
    return RZ_OK;
}

/* Opens what the thread of a monitor gets: a socket, and a line to this daemon. After a failure
 * each of fds is -1. */
static rz_status_t open_ends(struct rz_groups *groups, struct rz_child *p,
                             struct rz_address *address, int fds[2])
{
    const struct rz_own_node *own = p->all->own;
    fds[0] = fds[1] = -1;
    *address = own->job.peers[own->job.node].address;
    rz_status_t status = rz_socket_datagram(address, &fds[0]);
    if (status == RZ_OK) {
        status = line_open(groups, p, &fds[1]);
    }
    rz_status_t why = errno == EMFILE ? RZ_ERR_NO_DESCRIPTORS : status;
    if (status != RZ_OK && fds[0] >= 0) {
        close(fds[0]);
        fds[0] = -1;
    }
    return status == RZ_ERR_SYSTEM ? why : status;
}

static bool on_join(void *arg, struct rz_child *p, const struct rz_link_message *told, int *fd)
{
    struct rz_groups *groups = arg;
    (void)fd;
    const struct rz_own_node *own = groups->own;
    struct rz_address address;
    uint8_t key[RZ_JOB_KEY_BYTES];
    int fds[2];
    rz_status_t status = open_ends(groups, p, &address, fds);
    rz_job_group_key(&own->job, key);
    const struct rz_link_message message = {
        .type = RZ_LINK_GROUP_SOCKET,
        .group_socket = {.question = told->group_join.question,
                         .status = (uint32_t)status,
                         .ip = address.ip,
                         .ip_length = status == RZ_OK ? sizeof(address.ip) : 0,
                         .port = status == RZ_OK ? address.port : 0,
                         .key = key,
                         .key_length = status == RZ_OK ? sizeof(key) : 0}};
    if (p->state == RZ_CHILD_JOINED) {
        rz_link_router_send_with(p, &message, fds, status == RZ_OK ? 2 : 0);
    }
    sodium_memzero(key, sizeof(key));
    if (status == RZ_OK) {
        close(fds[0]);
        close(fds[1]);
    }
    return true;
}

void rz_groups_process_left(struct rz_groups *groups, const struct rz_child *p)
{
    for (struct group *group = groups->groups; group; group = group->next) {
        struct member **at = member_at(group, p->rank, p->incarnation);
        if (*at) {
            leave_group(groups, group, at);
        }
    }
    drop_empty(groups);
    lines_close(groups, p->rank, p->incarnation);
}

/* ---- messages of the daemons ---- */

static void groups_send(void *arg, rz_id to, const struct rz_message *message,
                        const uint64_t *items)
{
    const struct rz_groups *groups = arg;
    rz_kill_here(RZ_KILL_TURN);
    rz_overlay_send_protocol(groups->config.overlay, to, message, items, false);
}

static void groups_message(void *arg, const struct rz_message *message, const uint64_t *items)
{
    struct rz_groups *groups = arg;
    rz_kill_here(RZ_KILL_TURN_READ);
    rz_core_step(&groups->view_change,
                 &(struct rz_event){.kind = RZ_EVENT_RECEIVE, .message = message, .items = items});
}

/* ---- failures and epochs ---- */

static void tell_failed(struct rz_groups *groups, uint32_t slot, uint32_t incarnation)
{
    const uint64_t process = RZ_VIEW_CHANGE_PROCESS(slot, incarnation);
    rz_core_call_items(&groups->view_change, RZ_VIEW_CHANGE_PROCESS_FAILED, &process, 1);
}

static void node_failed(struct rz_groups *groups, rz_id node, bool proof)
{
    const struct rz_own_node *own = groups->own;
    rz_core_failure(&groups->view_change, node, proof);
    for (uint32_t slot = 0; slot < own->job.n_slots; slot++) {
        if (own->membership.slots[slot].node == node &&
            own->membership.slots[slot].incarnation > 0) {
            tell_failed(groups, slot, own->membership.slots[slot].incarnation);
        }
    }
}

void rz_groups_node_failed(void *groups, rz_id node, bool proof, bool first)
{
    (void)first;
    node_failed(groups, node, proof);
}

void rz_groups_process_failed(void *arg, uint32_t slot, uint32_t incarnation, enum rz_end end)
{
    struct rz_groups *groups = arg;
    (void)end;
    tell_failed(groups, slot, incarnation);
    for (struct group *group = groups->groups; group; group = group->next) {
        for (struct member **at = &group->members; *at;) {
            if ((*at)->slot == slot && (*at)->incarnation <= incarnation) {
                member_remove(at);
            } else {
                at = &(*at)->next;
            }
        }
    }
    drop_empty(groups);
    lines_close(groups, slot, incarnation);
}

/* Each of a process's monitors has rounds and voters. */
enum { GROUPS_MAX = 2 * RZ_GROUP_LINES_EACH };

static void open_core(struct rz_groups *groups)
{
    const struct rz_own_node *own = groups->own;
    const struct rz_view_change_config config = {.n_members = own->job.n_nodes,
                                                 .view = groups->epoch,
                                                 .n_slots = own->job.n_slots,
                                                 .groups_max = GROUPS_MAX};
    rz_core_open(&groups->view_change, &(struct rz_core_setup){.protocol = &rz_protocol_view_change,
                                                               .config = &config,
                                                               .self = own->job.node,
                                                               .now = rz_clock_now(),
                                                               .host = &groups->host,
                                                               .notices = &groups->notices,
                                                               .base = own->base});
}

/* Begins again without groups. No message of the new epoch can have arrived before: its processes
 * run only when all daemons are in the epoch (proto/recover), and the first epoch begins with this
 * module. */
void rz_groups_epoch(struct rz_groups *groups)
{
    const struct rz_own_node *own = groups->own;
    if (own->membership.epoch == groups->epoch) {
        return;
    }
    groups->epoch = own->membership.epoch;
    drop_all(groups);
    lines_close(groups, RZ_ID_NONE, 0);
    rz_core_close(&groups->view_change);
    rz_core_notices_clear(&groups->notices);
    open_core(groups);
    for (rz_id node = 0; node < own->job.n_nodes; node++) {
        if (node != own->job.node && rz_membership_node_has_failed(&own->membership, node)) {
            node_failed(groups, node, true);
        }
    }
    for (uint32_t slot = 0; slot < own->job.n_slots; slot++) {
        if (own->membership.slots[slot].failed > 0) {
            tell_failed(groups, slot, own->membership.slots[slot].failed);
        }
    }
}

/* ---- open and close ---- */

rz_status_t rz_groups_open(struct rz_groups **result, const struct rz_groups_config *config)
{
    struct rz_groups *groups = calloc(1, sizeof(*groups));
    if (!groups) {
        return RZ_ERR_NO_MEMORY;
    }
    groups->config = *config;
    groups->own = config->own;
    groups->epoch = 1;
    groups->host = (struct rz_core_host){.arg = groups, .send = groups_send};
    groups->noticing = event_new(config->own->base, -1, 0, groups_run_notices, groups);
    if (!groups->noticing) {
        free(groups);
        return RZ_ERR_NO_MEMORY;
    }
    rz_core_notices_init(&groups->notices, groups->noticing);
    open_core(groups);
    rz_link_router_handle(config->router, RZ_LINK_GROUP_JOIN, on_join, groups);
    rz_link_router_handle(config->router, RZ_LINK_GROUP_ARRIVE, on_arrive, groups);
    rz_link_router_handle(config->router, RZ_LINK_GROUP_LEAVE, on_group_leave, groups);
    rz_overlay_router_protocol(config->overlay_router, RZ_PROTOCOL_VIEW_CHANGE, RZ_OVERLAY_ANY_VIEW,
                               groups_message, groups);
    *result = groups;
    return RZ_OK;
}

void rz_groups_close(struct rz_groups *groups)
{
    if (!groups) {
        return;
    }
    drop_all(groups);
    lines_close(groups, RZ_ID_NONE, 0);
    rz_core_close(&groups->view_change);
    rz_core_notices_clear(&groups->notices);
    event_free(groups->noticing);
    free(groups);
}

bool rz_groups_at(const struct rz_groups *groups, uint32_t i, struct rz_groups_look *look)
{
    for (const struct group *group = groups->groups; group; group = group->next) {
        if (group->votes ||
            !rz_view_change_look_for(groups->view_change.embedded.state, group->number,
                                     &look->view_change) ||
            !has_size(group, look->view_change.n) || i-- > 0) {
            continue;
        }
        look->name = group->name;
        look->events = group->events;
        return true;
    }
    return false;
}
