/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of processes that a gateway serves: ranks, and those that programs spawn. Both begin
 * when it says that their world is ready, and what their environment gets. */
#include "daemon/service/gateway_link_private.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

bool rz_gateway_is_ready(const struct rz_gateway_link *link, uint32_t world)
{
    return link->stream && world < link->n_given && link->given[world].rank_variable;
}

bool rz_gateway_link_may_start(const struct rz_gateway_link *link, uint32_t slot,
                               struct rz_environment_given *given)
{
    if (!link) {
        return true;
    }
    uint32_t world, rank = rz_spawns_world(link->config.spawns, slot, &world);
    if (!rz_gateway_is_ready(link, world)) {
        return false;
    }
    const struct rz_gateway_given *its = &link->given[world];
    *given = (struct rz_environment_given){.texts = its->texts,
                                           .defaults = its->defaults,
                                           .rank_variable = its->rank_variable,
                                           .rank = rank};
    return true;
}

/* ---- the gateway's messages ---- */

/* The texts of `bytes` as an array; one without an end is left out. */
static char **texts_of(const uint8_t *bytes, uint32_t length)
{
    size_t n = 0;
    for (uint32_t i = 0; i < length; i++) {
        n += bytes[i] == 0;
    }
    char **texts = calloc(n + 1, sizeof(*texts));
    rz_need_memory(texts, "for the environment of processes");
    const char *at = (const char *)bytes;
    for (size_t i = 0; i < n; i++, at += strlen(at) + 1) {
        texts[i] = strdup(at);
        rz_need_memory(texts[i], "for the environment of processes");
    }
    return texts;
}

static void room_for_world(struct rz_gateway_link *link, uint32_t world)
{
    if (world >= link->n_given) {
        link->given = realloc(link->given, (world + 1) * sizeof(*link->given));
        rz_need_memory(link->given, "for the environment of processes");
        memset(link->given + link->n_given, 0, (world + 1 - link->n_given) * sizeof(*link->given));
        link->n_given = world + 1;
    }
}

bool rz_gateway_on_ready(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_ready *m = &told->ready;
    if (m->world > rz_spawns_worlds(link->config.spawns) || rz_gateway_is_ready(link, m->world)) {
        return false;
    }
    room_for_world(link, m->world);
    struct rz_gateway_given *given = &link->given[m->world];
    given->texts = texts_of(m->environment, m->environment_length);
    given->defaults = texts_of(m->defaults, m->defaults_length);
    given->rank_variable = strdup(m->rank_variable);
    rz_need_memory(given->rank_variable, "for the environment of processes");
    if (m->world == 0) {
        link->config.children->held = false;
        link->config.ready(link->config.arg);
        rz_children_recount(link->config.children);
    } else {
        rz_spawns_look_at_server(link->config.spawns);
    }
    return true;
}

bool rz_gateway_on_spawn(struct rz_gateway_link *link, const struct rz_gateway_message *told)
{
    const struct rz_gateway_spawn *m = &told->spawn;
    rz_spawns_ask(link->config.spawns,
                  &(struct rz_spawns_asked){.asker = m->rank,
                                            .incarnation = m->incarnation,
                                            .question = m->question,
                                            .count = m->count,
                                            .commands = m->commands,
                                            .commands_length = m->commands_length,
                                            .parent = m->parent,
                                            .parent_length = m->parent_length});
    return true;
}

/* ---- what spawns tell ---- */

/* The news of a failure may come before the decision about the spawn. */
static void look_at_failures(struct rz_gateway_link *link, const struct rz_link_process *processes,
                             uint32_t n)
{
    const struct rz_membership *membership = &link->own->membership;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = processes[i].slot;
        if (membership->slots[slot].incarnation == processes[i].incarnation &&
            rz_membership_has_failed(membership, slot)) {
            rz_gateway_link_failed(link, slot, processes[i].incarnation);
        }
    }
}

static void server_world(void *arg, rz_id node, const struct rz_link_process *processes, uint32_t n)
{
    struct rz_gateway_link *link = arg;
    const struct rz_membership *membership = &link->own->membership;
    uint32_t bytes = 12 * n;
    uint8_t *triples = malloc(bytes);
    struct rz_wire_writer w;
    rz_need_memory(triples, "for spawned processes");
    rz_wire_writer_init(&w, triples, bytes);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(&w, processes[i].slot);
        rz_wire_put_u32(&w, processes[i].incarnation);
        rz_wire_put_u32(&w, membership->slots[processes[i].slot].node);
    }
    rz_gateway_link_send(
        link, &(struct rz_gateway_message){
                  .type = RZ_GATEWAY_NEW_WORLD,
                  .new_world = {.home = node, .processes = triples, .processes_length = bytes}});
    free(triples);
    look_at_failures(link, processes, n);
}

static void server_programs(void *arg, uint32_t world, const uint32_t *commands, uint32_t n,
                            const uint8_t *parent, uint32_t parent_bytes)
{
    uint8_t *programs = malloc(4 * (size_t)n + 1);
    struct rz_wire_writer w;
    rz_need_memory(programs, "for spawned processes");
    rz_wire_writer_init(&w, programs, 4 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(&w, commands[i]);
    }
    rz_gateway_link_send(arg,
                         &(struct rz_gateway_message){.type = RZ_GATEWAY_PROGRAMS,
                                                      .programs = {.world = world,
                                                                   .programs = programs,
                                                                   .programs_length = 4 * n,
                                                                   .parent = parent,
                                                                   .parent_length = parent_bytes}});
    free(programs);
}

static enum rz_spawns_server_state server_state(void *arg, uint32_t world)
{
    const struct rz_gateway_link *link = arg;
    return !link->stream                      ? RZ_SERVER_FAILED
           : rz_gateway_is_ready(link, world) ? RZ_SERVER_READY
                                              : RZ_SERVER_NOT_READY;
}

static void server_answer(void *arg, uint64_t question, rz_status_t status, uint32_t world)
{
    rz_gateway_link_send(
        arg, &(struct rz_gateway_message){
                 .type = RZ_GATEWAY_SPAWNED,
                 .spawned = {.question = question, .status = (uint32_t)status, .world = world}});
}

void rz_gateway_serve_spawns(struct rz_gateway_link *link)
{
    const struct rz_spawns_server server = {.arg = link,
                                            .world = server_world,
                                            .programs = server_programs,
                                            .state = server_state,
                                            .answer = server_answer};
    rz_spawns_serve(link->config.spawns, &server);
}

void rz_gateway_given_close(struct rz_gateway_link *link)
{
    for (uint32_t world = 0; world < link->n_given; world++) {
        rz_environment_free(link->given[world].texts);
        rz_environment_free(link->given[world].defaults);
        free(link->given[world].rank_variable);
    }
    free(link->given);
}
