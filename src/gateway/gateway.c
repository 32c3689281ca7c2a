/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the daemon's messages, keeps what is known of processes and nodes, and passes each message
 * to the part that it is for. */
#include "gateway/gateway.h"

#include "base/no_memory.h"
#include "port/channel.h"
#include "port/descriptor.h"
#include "wire/spawn_order.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest message between gateways: the data of a fence of many thousand processes. */
#define PEER_MAX ((size_t)256 << 20)
/* How long a message that must precede another way to the daemon waits for it: it always reads. */
enum { FLUSH_ROUNDS = 1000, FLUSH_MS = 1000 };
/* What is queued for a daemon that does not read: it is about to end. */
#define QUEUE_MAX ((size_t)1 << 30)

/* What has arrived of a message of another gateway. */
struct rz_gateway_parts {
    uint8_t *data;
    size_t bytes;
};

/* A message of a gateway that knows more worlds, in a list. */
struct rz_gateway_early {
    struct rz_gateway_early *next;
    uint32_t node;
    size_t bytes;
    uint8_t data[];
};

/* A message between gateways begins with the number of worlds that its sender knows (u32). */
#define PEER_HEADER 4

/* ---- to the daemon ---- */

static void leave(struct rz_gateway *gateway, int status)
{
    gateway->exit_status = status;
    event_base_loopbreak(gateway->base);
}

/* Room for a message of so many bytes. */
static uint8_t *room(struct rz_gateway *gateway, size_t bytes)
{
    if (bytes > gateway->buffer_bytes) {
        free(gateway->buffer);
        gateway->buffer = malloc(bytes);
        rz_need_memory(gateway->buffer, "for a message");
        gateway->buffer_bytes = bytes;
    }
    return gateway->buffer;
}

void rz_gateway_send(struct rz_gateway *gateway, const struct rz_gateway_message *message)
{
    static uint8_t frame[RZ_GATEWAY_FRAME_MAX]; /* one thread sends */
    size_t n = rz_gateway_encode(message, frame, sizeof(frame));
    if (n == 0 || rz_frames_queued(gateway->stream) > QUEUE_MAX ||
        rz_frames_send(gateway->stream, frame, n) != RZ_OK) {
        leave(gateway, EXIT_FAILURE);
        return;
    }
    if (rz_frames_want_write(gateway->stream)) {
        event_add(gateway->writable, NULL);
    }
}

void rz_gateway_log(struct rz_gateway *gateway, uint32_t level, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (level <= gateway->job.verbosity) {
        rz_gateway_send(gateway,
                        &(struct rz_gateway_message){.type = RZ_GATEWAY_LOG,
                                                     .log = {.level = level, .line = line}});
    }
}

void rz_gateway_flush(struct rz_gateway *gateway)
{
    int rounds = 0;
    while (rz_frames_want_write(gateway->stream) && rounds++ < FLUSH_ROUNDS &&
           rz_descriptor_await_room(rz_frames_fd(gateway->stream), FLUSH_MS)) {
        rz_frames_flush(gateway->stream);
    }
}

void rz_gateway_give_up(struct rz_gateway *gateway, const char *format, ...)
{
    char reason[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    rz_gateway_send(gateway, &(struct rz_gateway_message){.type = RZ_GATEWAY_GIVES_UP,
                                                          .gives_up = {.reason = reason}});
    leave(gateway, EXIT_FAILURE);
}

void rz_gateway_client(struct rz_gateway *gateway, uint32_t process, enum rz_client_state state)
{
    rz_gateway_send(gateway, &(struct rz_gateway_message){
                                 .type = RZ_GATEWAY_CLIENT,
                                 .client = {.rank = gateway->processes[process].slot,
                                            .incarnation = gateway->processes[process].incarnation,
                                            .state = state}});
}

void rz_gateway_ready(struct rz_gateway *gateway, uint32_t world,
                      const struct rz_gateway_texts *texts, const struct rz_gateway_texts *defaults,
                      const char *rank_variable)
{
    rz_gateway_send(gateway, &(struct rz_gateway_message){
                                 .type = RZ_GATEWAY_READY,
                                 .ready = {.world = world,
                                           .environment = texts->at,
                                           .environment_length = (uint32_t)texts->bytes,
                                           .defaults = defaults->at,
                                           .defaults_length = (uint32_t)defaults->bytes,
                                           .rank_variable = rank_variable}});
}

/* ---- to other gateways ---- */

void rz_gateway_peer(struct rz_gateway *gateway, uint32_t node,
                     const struct rz_peer_message *message)
{
    size_t max = gateway->buffer_bytes ? gateway->buffer_bytes : 4096, n;
    while ((n = rz_peer_encode(message, room(gateway, max) + PEER_HEADER, max - PEER_HEADER)) ==
               0 &&
           max < PEER_MAX) {
        max *= 2;
    }
    if (n == 0) {
        rz_gateway_give_up(gateway, "a message to another gateway is longer than %zu bytes",
                           PEER_MAX);
        return;
    }
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, gateway->buffer, PEER_HEADER);
    rz_wire_put_u32(&w, gateway->n_worlds);
    n += PEER_HEADER;
    for (size_t at = 0; at < n; at += RZ_GATEWAY_PART_MAX) {
        size_t part = n - at < RZ_GATEWAY_PART_MAX ? n - at : RZ_GATEWAY_PART_MAX;
        rz_gateway_send(gateway,
                        &(struct rz_gateway_message){.type = RZ_GATEWAY_PEER,
                                                     .peer = {.node = node,
                                                              .more = at + part < n,
                                                              .data = gateway->buffer + at,
                                                              .data_length = (uint32_t)part}});
    }
}

/* ---- fences and changes ---- */

static void send_fence(void *arg, uint32_t node, const struct rz_collective_message *m)
{
    uint8_t *slots = malloc(m->n_slots * sizeof(uint32_t) + 1);
    rz_need_memory(slots, "for a fence");
    struct rz_wire_writer w;
    rz_wire_writer_init(&w, slots, m->n_slots * sizeof(uint32_t));
    for (uint32_t i = 0; i < m->n_slots; i++) {
        rz_wire_put_u32(&w, m->slots[i]);
    }
    rz_gateway_peer(arg, node,
                    &(struct rz_peer_message){.type = RZ_PEER_FENCE,
                                              .fence = {.result = m->result,
                                                        .kind = m->kind,
                                                        .number = m->number,
                                                        .whole = m->whole,
                                                        .slots = slots,
                                                        .slots_length = m->n_slots * 4,
                                                        .data = m->data,
                                                        .data_length = (uint32_t)m->bytes}});
    free(slots);
}

static void fence_done(void *arg, void *waiter, bool whole, const uint8_t *data, size_t bytes)
{
    struct rz_gateway_waiter *w = waiter;
    (void)arg;
    w->done(w, whole ? RZ_OK : RZ_ERR_PROC_FAILED, data, bytes);
}

static uint32_t node_of(void *arg, uint32_t slot)
{
    const struct rz_gateway *gateway = arg;
    return gateway->processes[slot].node;
}

static bool live(void *arg, uint32_t slot)
{
    const struct rz_gateway *gateway = arg;
    return slot < gateway->n_processes && !gateway->processes[slot].ended &&
           !gateway->node_failed[gateway->processes[slot].node];
}

static bool not_failed(void *arg, uint32_t slot)
{
    const struct rz_gateway *gateway = arg;
    return slot < gateway->n_processes && !gateway->processes[slot].failed;
}

static bool node_is_live(void *arg, uint32_t node)
{
    const struct rz_gateway *gateway = arg;
    return !gateway->node_failed[node];
}

static void send_change(void *arg, uint32_t node, const struct rz_registry_message *m)
{
    rz_gateway_peer(arg, node,
                    &(struct rz_peer_message){.type = RZ_PEER_CHANGE,
                                              .change = {.step = m->step,
                                                         .asker = m->asker,
                                                         .serial = m->serial,
                                                         .home = m->home,
                                                         .status = m->status,
                                                         .again = m->again,
                                                         .drop = m->drop,
                                                         .key = m->key,
                                                         .owner = m->owner,
                                                         .once = m->once,
                                                         .value = m->value,
                                                         .value_length = (uint32_t)m->bytes}});
}

static void change_done(void *arg, void *waiter, rz_status_t status)
{
    struct rz_gateway_waiter *w = waiter;
    (void)arg;
    w->done(w, status, NULL, 0);
}

static void added(void *arg)
{
    struct rz_gateway *gateway = arg;
    if (gateway->service->added) {
        gateway->service->added(gateway);
    }
}

/* An array of n numbers below `below`; NULL: it is malformed. */
static uint32_t *numbers(const uint8_t *bytes, uint32_t length, uint32_t n, uint32_t below)
{
    uint32_t *made = calloc(n + 1, sizeof(*made));
    rz_need_memory(made, "for an array of numbers");
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    bool good = length == 4 * (uint64_t)n;
    for (uint32_t i = 0; good && i < n; i++) {
        made[i] = rz_wire_get_u32(&r);
        good = made[i] < below;
    }
    if (!good) {
        free(made);
        return NULL;
    }
    return made;
}

static bool on_fence(struct rz_gateway *gateway, uint32_t from, const struct rz_peer_fence *m)
{
    uint32_t n = m->slots_length / 4;
    uint32_t *slots = numbers(m->slots, m->slots_length, n, gateway->n_processes);
    bool good = slots && n > 0;
    if (good) {
        rz_collectives_message(gateway->collectives, from,
                               &(struct rz_collective_message){.result = m->result,
                                                               .kind = m->kind,
                                                               .number = m->number,
                                                               .whole = m->whole,
                                                               .slots = slots,
                                                               .n_slots = n,
                                                               .data = m->data,
                                                               .bytes = m->data_length});
    }
    free(slots);
    return good;
}

static bool on_change(struct rz_gateway *gateway, uint32_t from, const struct rz_peer_change *m)
{
    if (m->step >= RZ_REGISTRY_STEP_COUNT || m->asker >= gateway->job.n_nodes ||
        m->status >= RZ_STATUS_COUNT) {
        return false;
    }
    rz_registry_message(gateway->registry, from,
                        &(struct rz_registry_message){.step = m->step,
                                                      .asker = m->asker,
                                                      .serial = m->serial,
                                                      .home = m->home,
                                                      .status = m->status,
                                                      .again = m->again,
                                                      .drop = m->drop,
                                                      .key = m->key,
                                                      .owner = m->owner,
                                                      .once = m->once,
                                                      .value = m->value,
                                                      .bytes = m->value_length});
    return true;
}

static void end_process(struct rz_gateway *gateway, uint32_t number, bool failed)
{
    struct rz_gateway_process *process = &gateway->processes[number];
    if (process->ended) {
        return;
    }
    process->ended = true;
    process->failed = failed;
    if (failed) { /* what others have published stays until the job ends */
        rz_registry_process_ended(gateway->registry, number);
    }
    rz_collectives_failure(gateway->collectives);
    if (gateway->service->process_ended) {
        gateway->service->process_ended(gateway, number, failed);
    }
}

/* ---- spawned worlds ---- */

/* Answers the request when all live gateways serve its world: a process of any node may then name
 * its processes. */
static void look_at_answer(struct rz_gateway *gateway, uint32_t number)
{
    struct rz_gateway_world *world = &gateway->worlds[number];
    bool all = world->answered;
    for (uint32_t node = 0; all && node < gateway->job.n_nodes; node++) {
        all = world->served_at[node] || gateway->node_failed[node];
    }
    if (all) {
        world->answered = false;
        gateway->service->spawned(gateway, world->question, RZ_OK, number);
    }
}

static void served_at(struct rz_gateway *gateway, uint32_t number, uint32_t node)
{
    if (gateway->worlds[number].served_at) {
        gateway->worlds[number].served_at[node] = true;
        look_at_answer(gateway, number);
    }
}

static void tell_served(struct rz_gateway *gateway, uint32_t number)
{
    uint32_t home = gateway->worlds[number].home;
    if (home == gateway->job.node) {
        served_at(gateway, number, home);
    } else if (!gateway->node_failed[home]) {
        rz_gateway_peer(
            gateway, home,
            &(struct rz_peer_message){.type = RZ_PEER_SERVED, .served = {.world = number}});
    }
}

static bool handle_peer(struct rz_gateway *gateway, uint32_t from, const uint8_t *data,
                        size_t bytes)
{
    struct rz_peer_message message;
    if (rz_peer_decode(&message, data, bytes) != RZ_OK) {
        return false;
    }
    switch (message.type) {
    case RZ_PEER_FENCE:
        return on_fence(gateway, from, &message.fence);
    case RZ_PEER_CHANGE:
        return on_change(gateway, from, &message.change);
    case RZ_PEER_SERVED:
        if (message.served.world >= gateway->n_worlds) {
            return false;
        }
        served_at(gateway, message.served.world, from);
        return true;
    case RZ_PEER_ENDED:
        if (message.ended.process >= gateway->n_processes) {
            return false;
        }
        end_process(gateway, message.ended.process, false);
        return true;
    default:
        if (gateway->service->peer) {
            gateway->service->peer(gateway, from, &message);
        }
        return true;
    }
}

/* Whether a message may be about worlds that are not known here yet: the daemons carry out the
 * decision about a spawn at different times. */
static bool is_early(const struct rz_gateway *gateway, const uint8_t *data)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, data, PEER_HEADER);
    return rz_wire_get_u32(&r) > rz_gateway_n_served(gateway);
}

static void keep_early(struct rz_gateway *gateway, uint32_t from, const uint8_t *data, size_t bytes)
{
    struct rz_gateway_early **at = &gateway->early, *early = malloc(sizeof(*early) + bytes);
    rz_need_memory(early, "for a message of another gateway");
    *early = (struct rz_gateway_early){.node = from, .bytes = bytes};
    memcpy(early->data, data, bytes);
    while (*at) {
        at = &(*at)->next;
    }
    *at = early;
}

static bool on_peer_message(struct rz_gateway *gateway, uint32_t from, const uint8_t *data,
                            size_t bytes)
{
    if (bytes < PEER_HEADER) {
        return false;
    }
    if (is_early(gateway, data)) { /* those that follow it know as many worlds */
        keep_early(gateway, from, data, bytes);
        return true;
    }
    return handle_peer(gateway, from, data + PEER_HEADER, bytes - PEER_HEADER);
}

/* Another world is served. */
static bool handle_early(struct rz_gateway *gateway)
{
    bool good = true;
    for (struct rz_gateway_early **at = &gateway->early; *at && good;) {
        struct rz_gateway_early *early = *at;
        if (is_early(gateway, early->data)) {
            at = &early->next;
            continue;
        }
        *at = early->next;
        good = gateway->node_failed[early->node] ||
               handle_peer(gateway, early->node, early->data + PEER_HEADER,
                           early->bytes - PEER_HEADER);
        free(early);
    }
    return good;
}

/* ---- the daemon's messages; false: malformed ---- */

static bool on_peer(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_peer *m = &told->peer;
    if (m->node >= gateway->job.n_nodes || gateway->node_failed[m->node]) {
        return m->node < gateway->job.n_nodes;
    }
    struct rz_gateway_parts *parts = &gateway->parts[m->node];
    if (parts->bytes == 0 && !m->more) {
        return on_peer_message(gateway, m->node, m->data, m->data_length);
    }
    if (parts->bytes + m->data_length > PEER_MAX) {
        return false;
    }
    uint8_t *data = realloc(parts->data, parts->bytes + m->data_length);
    rz_need_memory(data, "for a message of another gateway");
    memcpy(data + parts->bytes, m->data, m->data_length);
    *parts = (struct rz_gateway_parts){data, parts->bytes + m->data_length};
    if (m->more) {
        return true;
    }
    bool good = on_peer_message(gateway, m->node, parts->data, parts->bytes);
    free(parts->data);
    *parts = (struct rz_gateway_parts){NULL, 0};
    return good;
}

static bool on_process_ended(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_process_ended *m = &told->process_ended;
    uint32_t process = rz_gateway_find(gateway, m->rank, m->incarnation);
    if (process == UINT32_MAX) {
        return true;
    }
    end_process(gateway, process, m->failed);
    if (!m->failed) { /* the other daemons are not told of an end in order */
        rz_gateway_peer(
            gateway, RZ_GATEWAY_ALL,
            &(struct rz_peer_message){.type = RZ_PEER_ENDED, .ended = {.process = process}});
    }
    return true;
}

static bool on_process_started(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_process_started *m = &told->process_started;
    uint32_t process = rz_gateway_find(gateway, m->rank, m->incarnation);
    if (process != UINT32_MAX) {
        gateway->processes[process].incarnation = m->incarnation;
        gateway->processes[process].pid = m->pid;
    }
    return true;
}

static bool on_node_failed(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    uint32_t node = told->node_failed.node;
    bool alone = told->node_failed.gateway_alone; /* its processes are about to end */
    if (node >= gateway->job.n_nodes) {
        return false;
    }
    if (!gateway->node_failed[node]) {
        gateway->node_failed[node] = true;
        free(gateway->parts[node].data);
        gateway->parts[node] = (struct rz_gateway_parts){NULL, 0};
        rz_registry_node_failed(gateway->registry, node);
        rz_collectives_failure(gateway->collectives);
        for (uint32_t world = 1; world < gateway->n_worlds; world++) {
            look_at_answer(gateway, world);
        }
    }
    if (!alone && !gateway->node_told[node]) {
        gateway->node_told[node] = true;
        for (uint32_t i = 0; i < gateway->n_processes; i++) {
            if (gateway->processes[i].node == node) {
                end_process(gateway, i, true);
            }
        }
        if (gateway->service->node_failed) {
            gateway->service->node_failed(gateway, node);
        }
    }
    return true;
}

static bool on_lines(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_lines *m = &told->lines;
    uint32_t process = rz_gateway_find(gateway, m->rank, m->incarnation);
    if (rz_gateway_is_here(gateway, process) && gateway->service->lines) {
        gateway->service->lines(gateway, process, m->data, m->data_length);
    }
    rz_gateway_send(gateway, &(struct rz_gateway_message){.type = RZ_GATEWAY_TAKEN,
                                                          .taken = {.rank = m->rank,
                                                                    .incarnation = m->incarnation,
                                                                    .bytes = m->data_length}});
    return true;
}

static bool on_new_world(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_new_world *m = &told->new_world;
    uint32_t n = m->processes_length / 12;
    struct rz_gateway_process *processes = calloc(n + 1, sizeof(*processes));
    struct rz_wire_reader r;
    bool good = n > 0 && m->home < gateway->job.n_nodes;
    rz_need_memory(processes, "for spawned processes");
    rz_wire_reader_init(&r, m->processes, m->processes_length);
    for (uint32_t i = 0; good && i < n; i++) {
        processes[i].slot = rz_wire_get_u32(&r);
        processes[i].incarnation = rz_wire_get_u32(&r);
        processes[i].node = rz_wire_get_u32(&r);
        good = processes[i].slot < gateway->job.n_slots && processes[i].node < gateway->job.n_nodes;
    }
    if (good) {
        rz_gateway_add_world(gateway, m->home, processes, n);
    }
    free(processes);
    for (uint32_t i = 0; good && i < n; i++) {
        uint32_t process = gateway->n_processes - n + i;
        if (gateway->node_told[gateway->processes[process].node]) {
            end_process(gateway, process, true);
        }
    }
    return good;
}

static bool on_programs(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_programs *m = &told->programs;
    if (m->world == 0 || m->world >= gateway->n_worlds) {
        return false;
    }
    struct rz_gateway_world *world = &gateway->worlds[m->world];
    uint32_t n = m->programs_length / 4;
    uint32_t *programs = numbers(m->programs, m->programs_length, n, RZ_SPAWN_COMMANDS_MAX);
    bool good = programs && (n == 0 || n == world->n);
    for (uint32_t i = 0; good && i < n; i++) {
        gateway->processes[world->first + i].program = programs[i];
    }
    free(programs);
    if (good && gateway->service->world) {
        gateway->service->world(gateway, m->world, m->parent, m->parent_length);
    }
    if (good) {
        world->served = true;
        tell_served(gateway, m->world);
    }
    return good && handle_early(gateway);
}

static bool on_spawned(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const struct rz_gateway_spawned *m = &told->spawned;
    if (m->status >= RZ_STATUS_COUNT || m->world >= gateway->n_worlds) {
        return false;
    }
    if (m->status != RZ_OK || m->world == 0) {
        gateway->service->spawned(gateway, m->question, (rz_status_t)m->status, 0);
        return true;
    }
    struct rz_gateway_world *world = &gateway->worlds[m->world];
    world->answered = world->served_at != NULL;
    world->question = m->question;
    look_at_answer(gateway, m->world);
    return world->served_at != NULL;
}

static bool read_job(struct rz_gateway *gateway, const struct rz_gateway_job *m)
{
    struct rz_served_job *job = &gateway->job;
    *job = (struct rz_served_job){.protocol = m->protocol,
                                  .id = m->job,
                                  .node = m->node,
                                  .n_nodes = m->n_nodes,
                                  .n_ranks = m->n_ranks,
                                  .n_slots = m->n_slots,
                                  .verbosity = m->verbosity,
                                  .tolerant = m->tolerant,
                                  .oversubscribed = m->oversubscribed,
                                  .folder = strdup(m->folder)};
    rz_need_memory(job->folder, "for the job");
    for (uint32_t i = 0; i < RZ_GATEWAY_SECRET_BYTES && i < m->secret_length; i++) {
        snprintf(job->secret + 2 * (size_t)i, 3, "%02x", m->secret[i]);
    }
    uint32_t *nodes = numbers(m->placement, m->placement_length, m->n_ranks, m->n_nodes);
    uint32_t *programs = numbers(m->programs, m->programs_length, m->n_ranks, m->n_ranks);
    struct rz_gateway_process *processes = calloc(m->n_ranks, sizeof(*processes));
    gateway->process_of = malloc((m->n_slots + 1) * sizeof(uint32_t));
    rz_need_memory(processes && gateway->process_of, "for the job");
    memset(gateway->process_of, 0xff, m->n_slots * sizeof(uint32_t));
    bool good = m->node < m->n_nodes && m->protocol < RZ_GATEWAY_PROTOCOL_COUNT && nodes &&
                programs && m->n_slots >= m->n_ranks && m->secret_length >= RZ_GATEWAY_SECRET_BYTES;
    for (uint32_t rank = 0; good && rank < m->n_ranks; rank++) {
        processes[rank] = (struct rz_gateway_process){
            .slot = rank, .node = nodes[rank], .program = programs[rank]};
    }
    if (good) {
        rz_gateway_add_world(gateway, 0, processes, m->n_ranks);
        gateway->worlds[0].served = true;
    }
    free(nodes);
    free(programs);
    free(processes);
    return good;
}

static bool on_job(struct rz_gateway *gateway, const struct rz_gateway_message *told)
{
    const char *why = "it comes from another release than rzd";
    if (gateway->service || told->job.version != RZ_GATEWAY_VERSION ||
        !read_job(gateway, &told->job)) {
        rz_gateway_give_up(gateway, "the gateway cannot read the job: %s", why);
        return true;
    }
    const struct rz_gateway_service *service = gateway->services[gateway->job.protocol];
    if (!service) {
        rz_gateway_give_up(gateway, "this build has no PMIx: libpmix-dev was missing when it was "
                                    "configured");
        return true;
    }
    uint32_t n_nodes = gateway->job.n_nodes;
    gateway->node_failed = calloc(n_nodes, sizeof(*gateway->node_failed));
    gateway->node_told = calloc(n_nodes, sizeof(*gateway->node_told));
    gateway->parts = calloc(n_nodes, sizeof(*gateway->parts));
    gateway->collectives =
        rz_collectives_open(&(struct rz_collectives_config){.n_nodes = n_nodes,
                                                            .self = gateway->job.node,
                                                            .arg = gateway,
                                                            .send = send_fence,
                                                            .done = fence_done,
                                                            .node_of = node_of,
                                                            .live = live,
                                                            .node_is_live = node_is_live});
    gateway->registry = rz_registry_open(&(struct rz_registry_config){.n_nodes = n_nodes,
                                                                      .self = gateway->job.node,
                                                                      .arg = gateway,
                                                                      .send = send_change,
                                                                      .answered = change_done,
                                                                      .added = added,
                                                                      .node_is_live = node_is_live,
                                                                      .live = not_failed});
    rz_need_memory(gateway->node_failed && gateway->node_told && gateway->parts &&
                       gateway->collectives && gateway->registry,
                   "for the job");
    gateway->service = service;
    if (service->open(gateway, &why) != RZ_OK) {
        rz_gateway_give_up(gateway, "%s", why);
    }
    return true;
}

static bool on_message(struct rz_gateway *gateway, const void *bytes, size_t n)
{
    static bool (*const handlers[RZ_GATEWAY_TYPE_COUNT])(struct rz_gateway *,
                                                         const struct rz_gateway_message *) = {
        [RZ_GATEWAY_JOB] = on_job,
        [RZ_GATEWAY_PEER] = on_peer,
        [RZ_GATEWAY_PROCESS_STARTED] = on_process_started,
        [RZ_GATEWAY_PROCESS_ENDED] = on_process_ended,
        [RZ_GATEWAY_NODE_FAILED] = on_node_failed,
        [RZ_GATEWAY_NEW_WORLD] = on_new_world,
        [RZ_GATEWAY_PROGRAMS] = on_programs,
        [RZ_GATEWAY_SPAWNED] = on_spawned,
        [RZ_GATEWAY_LINES] = on_lines};
    struct rz_gateway_message message;
    return rz_gateway_decode(&message, bytes, n) == RZ_OK && handlers[message.type] &&
           (gateway->service || message.type == RZ_GATEWAY_JOB) &&
           handlers[message.type](gateway, &message);
}

static void stream_readable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_gateway *gateway = arg;
    const void *bytes;
    size_t n;
    (void)fd, (void)what;
    rz_status_t status = rz_frames_read(gateway->stream);
    while (rz_frames_next(gateway->stream, &bytes, &n)) {
        if (!on_message(gateway, bytes, n)) {
            rz_gateway_give_up(gateway, "the gateway got a malformed message");
            return;
        }
    }
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        leave(gateway, EXIT_SUCCESS); /* the daemon ends the gateway so */
    }
}

static void stream_writable(evutil_socket_t fd, short what, void *arg)
{
    struct rz_gateway *gateway = arg;
    (void)fd, (void)what;
    rz_frames_flush(gateway->stream);
    if (rz_frames_want_write(gateway->stream)) {
        event_add(gateway->writable, NULL);
    }
}

/* ---- the whole ---- */

static void clear(struct rz_gateway *gateway)
{
    if (gateway->service && gateway->service->close) {
        gateway->service->close(gateway);
    }
    rz_collectives_close(gateway->collectives);
    rz_registry_close(gateway->registry);
    for (uint32_t node = 0; gateway->parts && node < gateway->job.n_nodes; node++) {
        free(gateway->parts[node].data);
    }
    while (gateway->early) {
        struct rz_gateway_early *early = gateway->early;
        gateway->early = early->next;
        free(early);
    }
    event_free(gateway->readable);
    event_free(gateway->writable);
    rz_frames_close(gateway->stream);
    event_base_free(gateway->base);
    free(gateway->parts);
    free(gateway->buffer);
    free(gateway->processes);
    free(gateway->node_failed);
    free(gateway->node_told);
    free(gateway->job.folder);
    for (uint32_t world = 0; world < gateway->n_worlds; world++) {
        free(gateway->worlds[world].served_at);
    }
    free(gateway->worlds);
    free(gateway->process_of);
}

int rz_gateway_run(int fd,
                   const struct rz_gateway_service *const services[RZ_GATEWAY_PROTOCOL_COUNT])
{
    struct rz_gateway gateway = {
        .base = event_base_new(), .services = services, .exit_status = EXIT_SUCCESS};
    rz_need_memory(gateway.base &&
                       rz_frames_open(&gateway.stream, fd, RZ_GATEWAY_FRAME_MAX) == RZ_OK,
                   "for the stream to rzd");
    gateway.readable = event_new(gateway.base, fd, EV_READ | EV_PERSIST, stream_readable, &gateway);
    gateway.writable = event_new(gateway.base, fd, EV_WRITE, stream_writable, &gateway);
    rz_need_memory(gateway.readable && gateway.writable && event_add(gateway.readable, NULL) == 0,
                   "for the stream to rzd");
    event_base_dispatch(gateway.base);
    clear(&gateway);
    return gateway.exit_status;
}
