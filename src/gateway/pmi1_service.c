/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1, the protocol of lines by which processes of MPICH exchange their addresses. A process
 * writes `cmd=NAME key=value ...` to its link, and gets one line as the answer. What processes
 * put is known to the others after the next barrier, which is a fence whose data are the new pairs.
 * PMI-1 has no events: a job of it ends at the first failure.
 *
 * Source: RFC 13 of the Flux project (Simple Process Manager Interface v1).
 */
#include "gateway/pmi1_private.h"

#include "base/no_memory.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The process_mapping of hydra: MPICH finds by it which ranks share a node. */
#define MAPPING "PMI_process_mapping"

struct pair {
    char *key, *value;
};

/* Waits for a change of the registry. */
struct name_change {
    struct rz_gateway_waiter waiter;
    struct rz_gateway *gateway;
    uint32_t process;
    const char *answer; /* its command */
};

struct rz_pmi1_client *rz_pmi1_client_of(const struct rz_gateway *gateway, uint32_t process)
{
    struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    if (process >= pmi1->n_clients) {
        pmi1->clients = realloc(pmi1->clients, gateway->n_processes * sizeof(*pmi1->clients));
        rz_need_memory(pmi1->clients, "for PMI-1");
        while (pmi1->n_clients < gateway->n_processes) {
            pmi1->clients[pmi1->n_clients++] = NULL;
        }
    }
    if (!pmi1->clients[process]) {
        pmi1->clients[process] = calloc(1, sizeof(**pmi1->clients));
        rz_need_memory(pmi1->clients[process], "for PMI-1");
    }
    return pmi1->clients[process];
}

void rz_pmi1_answer(struct rz_gateway *gateway, uint32_t process, const char *format, ...)
{
    const struct rz_gateway_process *to = &gateway->processes[process];
    char line[RZ_PMI1_LINE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof(line) - 1) {
        n = snprintf(line, sizeof(line), "cmd=error rc=-1 msg=too_long");
    }
    line[n] = '\n';
    rz_gateway_send(gateway,
                    &(struct rz_gateway_message){.type = RZ_GATEWAY_LINES,
                                                 .lines = {.rank = to->slot,
                                                           .incarnation = to->incarnation,
                                                           .data = (const uint8_t *)line,
                                                           .data_length = (uint32_t)n + 1}});
}

/* ---- the key space ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static const char *value_of(const struct rz_pmi1_space *space, char *key)
{
    const struct pair wanted = {.key = key};
    struct pair *const *found = tfind(&wanted, &space->pairs, by_key);
    return found ? (*found)->value : NULL;
}

static void set_value(struct rz_pmi1_space *space, const char *key, const char *value)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    char *copy = strdup(value);
    rz_need_memory(pair && copy && (pair->key = strdup(key)), "for what a process has put");
    struct pair **found = tsearch(pair, &space->pairs, by_key);
    rz_need_memory(found, "for what a process has put");
    if (*found != pair) {
        free(pair->key);
        free(pair);
        free((*found)->value);
    }
    (*found)->value = copy;
}

/* Sets pairs: key, value, one after another, each with its NUL. */
static void set_values(struct rz_pmi1_space *space, const uint8_t *pairs, size_t bytes)
{
    const char *at = (const char *)pairs, *end = at + bytes;
    while (bytes > 0 && end[-1] == 0 && at < end) {
        const char *value = at + strlen(at) + 1;
        if (value >= end) {
            break;
        }
        set_value(space, at, value);
        at = value + strlen(value) + 1;
    }
}

static void pair_free(void *arg)
{
    struct pair *pair = arg;
    free(pair->key);
    free(pair->value);
    free(pair);
}

/* Ranks lie on nodes in blocks: (first node, number of nodes, ranks on each). */
static void set_mapping(struct rz_pmi1_space *space)
{
    const struct rz_gateway *gateway = space->gateway;
    const struct rz_gateway_world *world = &gateway->worlds[space->world];
    const struct rz_gateway_process *processes = gateway->processes + world->first;
    char text[RZ_PMI1_VALUE_MAX] = "(vector";
    size_t n = strlen(text);
    uint32_t first = 0, nodes = 0, each = 0; /* the block being made; nodes 0: none */
    for (uint32_t rank = 0; rank <= world->n && n < sizeof(text);) {
        uint32_t run = 0;
        while (rank + run < world->n && processes[rank + run].node == processes[rank].node) {
            run++;
        }
        bool goes_on = run > 0 && nodes > 0 && each == run && processes[rank].node == first + nodes;
        if (nodes > 0 && !goes_on) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, ",(%u,%u,%u)", first, nodes, each);
            nodes = 0;
        }
        if (run == 0) {
            break;
        }
        first = nodes == 0 ? processes[rank].node : first;
        each = run;
        nodes++;
        rank += run;
    }
    /* Without it each rank is alone on its node for MPICH. */
    if (n + 1 < sizeof(text)) {
        text[n] = ')';
        text[n + 1] = 0;
        set_value(space, MAPPING, text);
    }
}

/* ---- barriers ---- */

static void barrier_done(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                         size_t bytes)
{
    struct rz_pmi1_space *space = (struct rz_pmi1_space *)waiter;
    struct rz_gateway *gateway = space->gateway;
    const struct rz_gateway_world *world = &gateway->worlds[space->world];
    const struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    (void)status; /* the job ends at the first failure */
    space->joined = false;
    set_values(space, data, bytes);
    for (uint32_t i = world->first; i < world->first + world->n; i++) {
        struct rz_pmi1_client *client = i < pmi1->n_clients ? pmi1->clients[i] : NULL;
        if (client && client->in_barrier) {
            client->in_barrier = false;
            client->put = 0;
            rz_pmi1_answer(gateway, i, "cmd=barrier_out rc=0");
        }
    }
}

/* Joins the barrier when all processes here that have not ended are in it. */
static void look_at_barrier(struct rz_gateway *gateway, struct rz_pmi1_space *space)
{
    const struct rz_gateway_world *world = &gateway->worlds[space->world];
    uint32_t waiting = 0;
    if (space->joined) {
        return;
    }
    for (uint32_t i = world->first; i < world->first + world->n; i++) {
        if (rz_gateway_is_here(gateway, i) && !gateway->processes[i].ended) {
            if (!rz_pmi1_client_of(gateway, i)->in_barrier) {
                return;
            }
            waiting++;
        }
    }
    uint32_t *all = calloc(world->n, sizeof(*all));
    rz_need_memory(all, "for a barrier");
    for (uint32_t i = 0; i < world->n; i++) {
        all[i] = world->first + i;
    }
    struct rz_gateway_texts put = space->put;
    if (waiting > 0) {
        space->joined = true;
        space->put = (struct rz_gateway_texts){NULL, 0};
        rz_collectives_join(gateway->collectives,
                            &(struct rz_collective_message){.whole = true,
                                                            .slots = all,
                                                            .n_slots = world->n,
                                                            .data = put.at,
                                                            .bytes = put.bytes},
                            &space->barrier);
        free(put.at);
    }
    free(all);
}

/* ---- the spaces ---- */

/* Spaces are made in the spawn of their worlds, when they are used first. */
static struct rz_pmi1_space *space_of_world(struct rz_gateway *gateway, uint32_t world)
{
    struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    while (pmi1->n_spaces <= world) {
        struct rz_pmi1_space *space = calloc(1, sizeof(*space));
        pmi1->spaces = realloc(pmi1->spaces, (pmi1->n_spaces + 1) * sizeof(*pmi1->spaces));
        rz_need_memory(space && pmi1->spaces, "for PMI-1");
        *space = (struct rz_pmi1_space){
            .barrier = {.done = barrier_done}, .gateway = gateway, .world = pmi1->n_spaces};
        pmi1->spaces[pmi1->n_spaces++] = space;
    }
    return pmi1->spaces[world];
}

static struct rz_pmi1_space *space_of(struct rz_gateway *gateway, uint32_t process)
{
    return space_of_world(gateway, gateway->processes[process].world);
}

/* ---- requests ---- */

/* A request: its words, in place. */
struct request {
    char *word[64];
    unsigned n;
};

static struct request split(char *line)
{
    struct request request = {.n = 0};
    char *save, *word = strtok_r(line, " ", &save);
    for (; word && request.n < 64; word = strtok_r(NULL, " ", &save)) {
        request.word[request.n++] = word;
    }
    return request;
}

/* The value of a word `name=value`, or NULL. */
static char *word_of(const struct request *request, const char *name)
{
    size_t n = strlen(name);
    for (unsigned i = 0; i < request->n; i++) {
        if (strncmp(request->word[i], name, n) == 0 && request->word[i][n] == '=') {
            return request->word[i] + n + 1;
        }
    }
    return NULL;
}

static void on_init(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    const char *version = word_of(request, "pmi_version");
    if (version && strcmp(version, "1") != 0) {
        rz_pmi1_answer(gateway, process,
                       "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1");
        return;
    }
    rz_pmi1_answer(gateway, process, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1");
    rz_gateway_client(gateway, process, RZ_CLIENT_CONNECTED);
}

static void on_maxes(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_pmi1_answer(gateway, process, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d",
                   RZ_PMI1_NAME_MAX, RZ_PMI1_KEY_MAX, RZ_PMI1_VALUE_MAX);
}

static void on_appnum(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_pmi1_answer(gateway, process, "cmd=appnum rc=0 appnum=%u",
                   gateway->processes[process].program);
}

static void on_kvsname(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_pmi1_answer(gateway, process, "cmd=my_kvsname rc=0 kvsname=rz%016llx.%u",
                   (unsigned long long)gateway->job.id, gateway->processes[process].world);
}

static void on_universe(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_pmi1_answer(gateway, process, "cmd=universe_size rc=0 size=%u", gateway->job.n_slots);
}

static void on_put(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    const char *key = word_of(request, "key"), *value = word_of(request, "value");
    if (!key || !value || strlen(key) >= RZ_PMI1_KEY_MAX || strlen(value) >= RZ_PMI1_VALUE_MAX) {
        rz_pmi1_answer(gateway, process, "cmd=put_result rc=-1 msg=bad_key_or_value");
        return;
    }
    struct rz_pmi1_space *space = space_of(gateway, process);
    struct rz_pmi1_client *client = rz_pmi1_client_of(gateway, process);
    size_t bytes = strlen(key) + strlen(value) + 2;
    if (bytes > RZ_PMI1_PUT_MAX - client->put) {
        rz_pmi1_answer(gateway, process, "cmd=put_result rc=-1 msg=too_much_before_a_barrier");
        return;
    }
    client->put += bytes;
    set_value(space, key, value);
    rz_gateway_add_text(&space->put, "%s", key);
    rz_gateway_add_text(&space->put, "%s", value);
    rz_pmi1_answer(gateway, process, "cmd=put_result rc=0 msg=success");
}

static void on_get(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    char *key = word_of(request, "key");
    const char *value = key ? value_of(space_of(gateway, process), key) : NULL;
    if (value) {
        rz_pmi1_answer(gateway, process, "cmd=get_result rc=0 msg=success value=%s", value);
    } else {
        rz_pmi1_answer(gateway, process, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    }
}

static void on_barrier(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_pmi1_client_of(gateway, process)->in_barrier = true;
    look_at_barrier(gateway, space_of(gateway, process));
}

static void on_finalize(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    (void)request;
    rz_gateway_client(gateway, process, RZ_CLIENT_FINALIZED); /* before the process can end */
    rz_gateway_flush(gateway);
    rz_pmi1_answer(gateway, process, "cmd=finalize_ack rc=0");
}

static void on_abort(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    const struct rz_gateway_process *caller = &gateway->processes[process];
    const char *code = word_of(request, "exitcode");
    rz_gateway_send(gateway,
                    &(struct rz_gateway_message){.type = RZ_GATEWAY_ABORT,
                                                 .abort = {.rank = caller->slot,
                                                           .incarnation = caller->incarnation,
                                                           .code = code ? (uint32_t)atoi(code) : 1,
                                                           .reason = "MPI_Abort"}});
}

static void name_changed(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                         size_t bytes)
{
    struct name_change *asked = (struct name_change *)waiter;
    (void)data, (void)bytes;
    rz_pmi1_answer(asked->gateway, asked->process, "cmd=%s rc=%d info=%s", asked->answer,
                   status == RZ_OK ? 0 : -1, status == RZ_OK ? "ok" : "refused");
    free(asked);
}

static struct rz_gateway_waiter *ask_registry(struct rz_gateway *gateway, uint32_t process,
                                              const char *command)
{
    struct name_change *asked = malloc(sizeof(*asked));
    rz_need_memory(asked, "for a published name");
    *asked = (struct name_change){.waiter = {.done = name_changed},
                                  .gateway = gateway,
                                  .process = process,
                                  .answer = command};
    return &asked->waiter;
}

static void on_publish(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    const char *service = word_of(request, "service"), *port = word_of(request, "port");
    if (!service || !port || strlen(service) >= RZ_PMI1_VALUE_MAX ||
        strlen(port) >= RZ_PMI1_VALUE_MAX) {
        rz_pmi1_answer(gateway, process, "cmd=publish_result rc=-1 info=no_service_or_port");
        return;
    }
    const struct rz_registry_value value = {
        .key = service, .owner = process, .data = (const uint8_t *)port, .bytes = strlen(port) + 1};
    rz_registry_put(gateway->registry, &value, ask_registry(gateway, process, "publish_result"));
}

static void on_unpublish(struct rz_gateway *gateway, uint32_t process,
                         const struct request *request)
{
    const char *service = word_of(request, "service");
    rz_registry_drop(gateway->registry, service ? service : "", process,
                     ask_registry(gateway, process, "unpublish_result"));
}

static void on_lookup(struct rz_gateway *gateway, uint32_t process, const struct request *request)
{
    const char *service = word_of(request, "service");
    const struct rz_registry_entry *entry =
        service ? rz_registry_find(gateway->registry, service) : NULL;
    if (entry) {
        rz_pmi1_answer(gateway, process, "cmd=lookup_result rc=0 info=ok port=%s",
                       (const char *)entry->value);
    } else {
        rz_pmi1_answer(gateway, process, "cmd=lookup_result rc=-1 info=not_found");
    }
}

static void on_request(struct rz_gateway *gateway, uint32_t process, char *line)
{
    static const struct {
        const char *name;
        void (*call)(struct rz_gateway *gateway, uint32_t process, const struct request *request);
    } commands[] = {{"init", on_init},
                    {"get_maxes", on_maxes},
                    {"get_appnum", on_appnum},
                    {"get_my_kvsname", on_kvsname},
                    {"get_universe_size", on_universe},
                    {"put", on_put},
                    {"get", on_get},
                    {"barrier_in", on_barrier},
                    {"finalize", on_finalize},
                    {"abort", on_abort},
                    {"publish_name", on_publish},
                    {"unpublish_name", on_unpublish},
                    {"lookup_name", on_lookup}};
    if (rz_pmi1_spawn_line(gateway, process, line)) {
        return;
    }
    const struct request request = split(line);
    const char *command = word_of(&request, "cmd");
    for (size_t i = 0; command && i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(commands[i].name, command) == 0) {
            commands[i].call(gateway, process, &request);
            return;
        }
    }
    rz_gateway_log(gateway, 1, "rank %u sent an unknown request of PMI-1: %s",
                   rz_gateway_rank(gateway, process), command ? command : "(no cmd)");
    rz_pmi1_answer(gateway, process, "cmd=error rc=-1 msg=unknown_command");
}

static void take_lines(struct rz_gateway *gateway, uint32_t process, const uint8_t *data,
                       size_t bytes)
{
    struct rz_pmi1_client *client = rz_pmi1_client_of(gateway, process);
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != '\n' && client->n + 1 < sizeof(client->line)) {
            client->line[client->n++] = (char)data[i];
        } else if (data[i] != '\n') {
            client->cut = true;
        } else {
            bool cut = client->cut;
            client->line[client->n] = 0;
            client->n = 0;
            client->cut = false;
            if (!cut) {
                on_request(gateway, process, client->line);
            } else if (!rz_pmi1_spawn_cut(client)) {
                rz_pmi1_answer(gateway, process, "cmd=error rc=-1 msg=too_long");
            }
        }
    }
}

static void pmi1_process_ended(struct rz_gateway *gateway, uint32_t process, bool failed)
{
    const struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    (void)failed;
    if (process < pmi1->n_clients && pmi1->clients[process]) {
        pmi1->clients[process]->in_barrier = false;
    }
    look_at_barrier(gateway, space_of(gateway, process));
}

static void serve_world(struct rz_gateway *gateway, uint32_t world, const uint8_t *parent,
                        size_t bytes)
{
    struct rz_gateway_texts texts = {NULL, 0}, none = {NULL, 0};
    struct rz_pmi1_space *space = space_of_world(gateway, world);
    set_mapping(space);
    set_values(space, parent, bytes);
    /* The link is descriptor 3 of each process (daemon/process/spawn.h). */
    rz_gateway_add_text(&texts, "PMI_FD=3");
    rz_gateway_add_text(&texts, "PMI_SIZE=%u", gateway->worlds[world].n);
    if (world > 0) {
        rz_gateway_add_text(&texts, "PMI_SPAWNED=1");
    }
    rz_gateway_ready(gateway, world, &texts, &none, "PMI_RANK");
    free(texts.at);
}

static rz_status_t open_pmi1(struct rz_gateway *gateway, const char **why)
{
    (void)why;
    gateway->state = calloc(1, sizeof(struct rz_pmi1));
    rz_need_memory(gateway->state, "for PMI-1");
    serve_world(gateway, 0, NULL, 0);
    return RZ_OK;
}

static void close_pmi1(struct rz_gateway *gateway)
{
    struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    for (uint32_t world = 0; world < pmi1->n_spaces; world++) {
        tdestroy(pmi1->spaces[world]->pairs, pair_free);
        free(pmi1->spaces[world]->put.at);
        free(pmi1->spaces[world]);
    }
    for (uint32_t i = 0; i < pmi1->n_clients; i++) {
        if (pmi1->clients[i]) {
            rz_pmi1_spawn_free(pmi1->clients[i]->spawn);
        }
        free(pmi1->clients[i]);
    }
    free(pmi1->spaces);
    free(pmi1->clients);
    free(pmi1);
}

const struct rz_gateway_service rz_pmi1_service = {.open = open_pmi1,
                                                   .close = close_pmi1,
                                                   .process_ended = pmi1_process_ended,
                                                   .world = serve_world,
                                                   .spawned = rz_pmi1_spawned,
                                                   .lines = take_lines};
