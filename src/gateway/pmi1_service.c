/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI-1, the protocol of lines by which processes of MPICH exchange their addresses. A process
 * writes `cmd=NAME key=value ...` to its link, and gets one line as the answer. What processes
 * put is known to the others after the next barrier, which is a fence whose data are the new pairs.
 * PMI-1 has no events: a job of it ends at the first failure.
 *
 * Source: RFC 13 of the Flux project (Simple Process Manager Interface v1).
 */
#include "gateway/pmi1_service.h"

#include "base/no_memory.h"

#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names, keys and values with the NUL at their end. MPICH reads a line of at most 1,023 bytes at
 * once, and the rest of a longer datagram would be lost. */
enum { KVS_NAME_MAX = 256, KEY_MAX = 64, VALUE_MAX = 900 };
#define LINE_MAX_BYTES 4096 /* of a request */

/* The process_mapping of hydra: MPICH finds by it which ranks share a node. */
#define MAPPING "PMI_process_mapping"

/* A process of this node. */
struct client {
    char line[LINE_MAX_BYTES]; /* what has arrived of its request */
    size_t n;
    bool connected, in_barrier;
    bool many; /* within a request of several lines (mcmd), which is refused at its end */
};

struct pair {
    char *key, *value;
};

struct state {
    struct rz_gateway_waiter barrier; /* of this node; first, so that it is the state itself */
    struct rz_gateway *gateway;
    char name[32]; /* of the key space */
    void *pairs;   /* a tree (tsearch) of struct pair by key */
    uint8_t *put;  /* what processes here have put since the last barrier: key, value, as texts */
    size_t put_bytes;
    bool joined;            /* this node is in a barrier */
    struct client *clients; /* [n_ranks] */
};

/* Waits for a change of the registry. */
struct asked {
    struct rz_gateway_waiter waiter;
    struct rz_gateway *gateway;
    uint32_t rank;
    const char *answer; /* its command */
};

static struct state *state_of(const struct rz_gateway *gateway)
{
    return gateway->state;
}

__attribute__((format(printf, 3, 4))) static void
answer_line(struct rz_gateway *gateway, uint32_t rank, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= sizeof(line) - 1) {
        n = snprintf(line, sizeof(line), "cmd=error rc=-1 msg=too_long");
    }
    line[n] = '\n';
    rz_gateway_send(gateway, &(struct rz_gateway_message){
                                 .type = RZ_GATEWAY_LINES,
                                 .lines = {.rank = rank,
                                           .incarnation = gateway->processes[rank].incarnation,
                                           .data = (const uint8_t *)line,
                                           .data_length = (uint32_t)n + 1}});
}

/* ---- the key space ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static const char *value_of(const struct state *state, char *key)
{
    const struct pair wanted = {.key = key};
    struct pair *const *found = tfind(&wanted, &state->pairs, by_key);
    return found ? (*found)->value : NULL;
}

static void set_value(struct state *state, const char *key, const char *value)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    char *copy = strdup(value);
    rz_need_memory(pair && copy && (pair->key = strdup(key)), "for what a process has put");
    struct pair **found = tsearch(pair, &state->pairs, by_key);
    rz_need_memory(found, "for what a process has put");
    if (*found != pair) {
        free(pair->key);
        free(pair);
        free((*found)->value);
    }
    (*found)->value = copy;
}

static void pair_free(void *arg)
{
    struct pair *pair = arg;
    free(pair->key);
    free(pair->value);
    free(pair);
}

/* Ranks lie on nodes in blocks: (first node, number of nodes, ranks on each). */
static void set_mapping(const struct rz_gateway *gateway, struct state *state)
{
    const struct rz_served_job *job = &gateway->job;
    char text[VALUE_MAX] = "(vector";
    size_t n = strlen(text);
    uint32_t first = 0, nodes = 0, each = 0; /* the block being made; nodes 0: none */
    for (uint32_t rank = 0; rank <= job->n_ranks && n < sizeof(text);) {
        uint32_t run = 0;
        while (rank + run < job->n_ranks && job->node_of[rank + run] == job->node_of[rank]) {
            run++;
        }
        bool goes_on = run > 0 && nodes > 0 && each == run && job->node_of[rank] == first + nodes;
        if (nodes > 0 && !goes_on) {
            n += (size_t)snprintf(text + n, sizeof(text) - n, ",(%u,%u,%u)", first, nodes, each);
            nodes = 0;
        }
        if (run == 0) {
            break;
        }
        first = nodes == 0 ? job->node_of[rank] : first;
        each = run;
        nodes++;
        rank += run;
    }
    /* Without it each rank is alone on its node for MPICH. */
    if (n + 1 < sizeof(text)) {
        text[n] = ')';
        text[n + 1] = 0;
        set_value(state, MAPPING, text);
    }
}

static void put_for_barrier(struct state *state, const char *text)
{
    size_t n = strlen(text) + 1;
    state->put = realloc(state->put, state->put_bytes + n);
    rz_need_memory(state->put, "for what a process has put");
    memcpy(state->put + state->put_bytes, text, n);
    state->put_bytes += n;
}

/* ---- barriers ---- */

static void barrier_done(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                         size_t bytes)
{
    struct state *state = (struct state *)waiter;
    struct rz_gateway *gateway = state->gateway;
    const char *at = (const char *)data, *end = at + bytes;
    (void)status; /* the job ends at the first failure */
    state->joined = false;
    while (bytes > 0 && end[-1] == 0 && at < end) {
        const char *value = at + strlen(at) + 1;
        if (value >= end) {
            break;
        }
        set_value(state, at, value);
        at = value + strlen(value) + 1;
    }
    for (uint32_t rank = 0; rank < gateway->job.n_ranks; rank++) {
        if (state->clients[rank].in_barrier) {
            state->clients[rank].in_barrier = false;
            answer_line(gateway, rank, "cmd=barrier_out rc=0");
        }
    }
}

/* Joins the barrier when all processes here that have not ended are in it. */
static void look_at_barrier(struct rz_gateway *gateway)
{
    struct state *state = state_of(gateway);
    uint32_t n = gateway->job.n_ranks, waiting = 0;
    if (state->joined) {
        return;
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        if (rz_gateway_is_here(gateway, rank) && !gateway->processes[rank].ended) {
            if (!state->clients[rank].in_barrier) {
                return;
            }
            waiting++;
        }
    }
    uint32_t *all = calloc(n, sizeof(*all));
    rz_need_memory(all, "for a barrier");
    for (uint32_t rank = 0; rank < n; rank++) {
        all[rank] = rank;
    }
    uint8_t *put = state->put;
    size_t bytes = state->put_bytes;
    if (waiting > 0) {
        state->joined = true;
        state->put = NULL;
        state->put_bytes = 0;
        rz_collectives_join(
            gateway->collectives,
            &(struct rz_collective_message){
                .whole = true, .slots = all, .n_slots = n, .data = put, .bytes = bytes},
            &state->barrier);
        free(put);
    }
    free(all);
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

static void on_init(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *version = word_of(request, "pmi_version");
    if (version && strcmp(version, "1") != 0) {
        answer_line(gateway, rank, "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1");
        return;
    }
    answer_line(gateway, rank, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1");
    state_of(gateway)->clients[rank].connected = true;
    rz_gateway_client(gateway, rank, RZ_CLIENT_CONNECTED);
}

static void on_maxes(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    answer_line(gateway, rank, "cmd=maxes rc=0 kvsname_max=%d keylen_max=%d vallen_max=%d",
                KVS_NAME_MAX, KEY_MAX, VALUE_MAX);
}

static void on_appnum(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    answer_line(gateway, rank, "cmd=appnum rc=0 appnum=%u", gateway->job.program_of[rank]);
}

static void on_kvsname(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    answer_line(gateway, rank, "cmd=my_kvsname rc=0 kvsname=%s", state_of(gateway)->name);
}

static void on_universe(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    answer_line(gateway, rank, "cmd=universe_size rc=0 size=%u", gateway->job.n_ranks);
}

static void on_put(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *key = word_of(request, "key"), *value = word_of(request, "value");
    if (!key || !value || strlen(key) >= KEY_MAX || strlen(value) >= VALUE_MAX) {
        answer_line(gateway, rank, "cmd=put_result rc=-1 msg=bad_key_or_value");
        return;
    }
    set_value(state_of(gateway), key, value);
    put_for_barrier(state_of(gateway), key);
    put_for_barrier(state_of(gateway), value);
    answer_line(gateway, rank, "cmd=put_result rc=0 msg=success");
}

static void on_get(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    char *key = word_of(request, "key");
    const char *value = key ? value_of(state_of(gateway), key) : NULL;
    if (value) {
        answer_line(gateway, rank, "cmd=get_result rc=0 msg=success value=%s", value);
    } else {
        answer_line(gateway, rank, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    }
}

static void on_barrier(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    state_of(gateway)->clients[rank].in_barrier = true;
    look_at_barrier(gateway);
}

static void on_finalize(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    (void)request;
    rz_gateway_client(gateway, rank, RZ_CLIENT_FINALIZED); /* before the process can end */
    rz_gateway_flush(gateway);
    answer_line(gateway, rank, "cmd=finalize_ack rc=0");
}

static void on_abort(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *code = word_of(request, "exitcode");
    rz_gateway_send(gateway, &(struct rz_gateway_message){
                                 .type = RZ_GATEWAY_ABORT,
                                 .abort = {.rank = rank,
                                           .incarnation = gateway->processes[rank].incarnation,
                                           .code = code ? (uint32_t)atoi(code) : 1,
                                           .reason = "MPI_Abort"}});
}

static void name_changed(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                         size_t bytes)
{
    struct asked *asked = (struct asked *)waiter;
    (void)data, (void)bytes;
    answer_line(asked->gateway, asked->rank, "cmd=%s rc=%d info=%s", asked->answer,
                status == RZ_OK ? 0 : -1, status == RZ_OK ? "ok" : "refused");
    free(asked);
}

static struct rz_gateway_waiter *ask_registry(struct rz_gateway *gateway, uint32_t rank,
                                              const char *command)
{
    struct asked *asked = malloc(sizeof(*asked));
    rz_need_memory(asked, "for a published name");
    *asked = (struct asked){
        .waiter = {.done = name_changed}, .gateway = gateway, .rank = rank, .answer = command};
    return &asked->waiter;
}

static void on_publish(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *service = word_of(request, "service"), *port = word_of(request, "port");
    if (!service || !port || strlen(service) >= VALUE_MAX || strlen(port) >= VALUE_MAX) {
        answer_line(gateway, rank, "cmd=publish_result rc=-1 info=no_service_or_port");
        return;
    }
    const struct rz_registry_value value = {
        .key = service, .owner = rank, .data = (const uint8_t *)port, .bytes = strlen(port) + 1};
    rz_registry_put(gateway->registry, &value, ask_registry(gateway, rank, "publish_result"));
}

static void on_unpublish(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *service = word_of(request, "service");
    rz_registry_drop(gateway->registry, service ? service : "", rank,
                     ask_registry(gateway, rank, "unpublish_result"));
}

static void on_lookup(struct rz_gateway *gateway, uint32_t rank, const struct request *request)
{
    const char *service = word_of(request, "service");
    const struct rz_registry_entry *entry =
        service ? rz_registry_find(gateway->registry, service) : NULL;
    if (entry) {
        answer_line(gateway, rank, "cmd=lookup_result rc=0 info=ok port=%s",
                    (const char *)entry->value);
    } else {
        answer_line(gateway, rank, "cmd=lookup_result rc=-1 info=not_found");
    }
}

static void on_request(struct rz_gateway *gateway, uint32_t rank, char *line)
{
    static const struct {
        const char *name;
        void (*call)(struct rz_gateway *gateway, uint32_t rank, const struct request *request);
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
    struct client *client = &state_of(gateway)->clients[rank];
    if (client->many || strncmp(line, "mcmd=", 5) == 0) { /* only spawn has several lines */
        client->many = strcmp(line, "endcmd") != 0;
        if (!client->many) {
            rz_gateway_log(gateway, 0,
                           "rank %u: MPI_Comm_spawn is not supported for programs of MPICH", rank);
            answer_line(gateway, rank, "cmd=spawn_result rc=-1 msg=not_supported");
        }
        return;
    }
    const struct request request = split(line);
    const char *command = word_of(&request, "cmd");
    for (size_t i = 0; command && i < sizeof(commands) / sizeof(*commands); i++) {
        if (strcmp(commands[i].name, command) == 0) {
            commands[i].call(gateway, rank, &request);
            return;
        }
    }
    rz_gateway_log(gateway, 1, "rank %u sent an unknown request of PMI-1: %s", rank,
                   command ? command : "(no cmd)");
    answer_line(gateway, rank, "cmd=error rc=-1 msg=unknown_command");
}

static void take_lines(struct rz_gateway *gateway, uint32_t rank, const uint8_t *data, size_t bytes)
{
    struct client *client = &state_of(gateway)->clients[rank];
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != '\n' && client->n + 1 < sizeof(client->line)) {
            client->line[client->n++] = (char)data[i];
        } else if (data[i] == '\n') {
            client->line[client->n] = 0;
            client->n = 0;
            on_request(gateway, rank, client->line);
        }
    }
}

static void pmi1_process_ended(struct rz_gateway *gateway, uint32_t rank, bool failed)
{
    (void)failed;
    state_of(gateway)->clients[rank].in_barrier = false;
    look_at_barrier(gateway);
}

static rz_status_t open_pmi1(struct rz_gateway *gateway, const char **why)
{
    struct state *state = calloc(1, sizeof(*state));
    char environment[64];
    (void)why;
    rz_need_memory(state, "for PMI-1");
    *state = (struct state){.barrier = {.done = barrier_done}, .gateway = gateway};
    state->clients = calloc(gateway->job.n_ranks, sizeof(*state->clients));
    rz_need_memory(state->clients, "for PMI-1");
    snprintf(state->name, sizeof(state->name), "rz%016llx", (unsigned long long)gateway->job.id);
    gateway->state = state;
    set_mapping(gateway, state);
    /* The link is descriptor 3 of each process (daemon/process/spawn.h). */
    int n = snprintf(environment, sizeof(environment), "PMI_FD=3%cPMI_SIZE=%u", 0,
                     gateway->job.n_ranks);
    rz_gateway_send(gateway,
                    &(struct rz_gateway_message){.type = RZ_GATEWAY_READY,
                                                 .ready = {.environment = (uint8_t *)environment,
                                                           .environment_length = (uint32_t)n + 1,
                                                           .rank_variable = "PMI_RANK"}});
    return RZ_OK;
}

static void close_pmi1(struct rz_gateway *gateway)
{
    struct state *state = state_of(gateway);
    if (state) {
        tdestroy(state->pairs, pair_free);
        free(state->clients);
        free(state->put);
        free(state);
    }
}

const struct rz_gateway_service rz_pmi1_service = {.open = open_pmi1,
                                                   .close = close_pmi1,
                                                   .process_ended = pmi1_process_ended,
                                                   .lines = take_lines};
