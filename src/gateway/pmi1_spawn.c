/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawn of PMI-1: for each command a request of several lines, `mcmd=spawn` to `endcmd`; one answer
 * for all. What the parent puts for the new processes (preput) is in their key space when they
 * start.
 */
#include "base/no_memory.h"
#include "gateway/pmi1_private.h"
#include "gateway/spawn_request.h"
#include "wire/spawn_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All lines of a request. */
#define SPAWN_MAX ((size_t)1 << 20)

struct rz_pmi1_spawn {
    struct rz_spawn_request its;
    uint32_t n, wanted; /* number of commands that have begun, and in all */
    size_t bytes;       /* of its lines */
    bool refused;       /* it is too long */
    char *key;          /* of a pair whose value follows */
};

void rz_pmi1_spawn_free(struct rz_pmi1_spawn *spawn)
{
    if (spawn) {
        rz_spawn_request_clear(&spawn->its);
        free(spawn->key);
    }
    free(spawn);
}

/* ---- the request ---- */

/* Whether name is stem and then a number. */
static bool is_numbered(const char *name, const char *stem)
{
    size_t n = strlen(stem);
    return strncmp(name, stem, n) == 0 && name[n] >= '0' && name[n] <= '9';
}

/* A line `name=value` of a command. */
static void take_value(struct rz_pmi1_spawn *spawn, const char *name, const char *value)
{
    struct rz_spawn_request_command *command = &spawn->its.commands[spawn->its.n - 1];
    if (strcmp(name, "nprocs") == 0) {
        command->maxprocs = (uint32_t)strtoul(value, NULL, 10);
    } else if (strcmp(name, "execname") == 0) {
        rz_spawn_request_add_text(&command->arguments, value);
    } else if (is_numbered(name, "arg")) {
        rz_spawn_request_add_text(&command->arguments, value);
    } else if (is_numbered(name, "preput_key_") || is_numbered(name, "info_key_")) {
        rz_spawn_request_set_text(&spawn->key, value);
    } else if (is_numbered(name, "preput_val_") && spawn->key && spawn->its.n == 1) {
        rz_gateway_add_text(&spawn->its.parent, "%s", spawn->key); /* the same with each command */
        rz_gateway_add_text(&spawn->its.parent, "%s", value);
    } else if (is_numbered(name, "info_val_") && spawn->key && strcmp(spawn->key, "wdir") == 0) {
        rz_spawn_request_set_text(&command->directory, value);
    }
}

static void answer_status(struct rz_gateway *gateway, uint32_t process, rz_status_t status)
{
    if (status != RZ_OK) {
        rz_gateway_log(gateway, 1, "MPI_Comm_spawn: %s", rz_status_text(status));
    }
    rz_pmi1_answer(gateway, process, "cmd=spawn_result rc=%d", status == RZ_OK ? 0 : -1);
}

/* A process awaits the answer before it asks again, so that its number identifies the question. */
static void send_request(struct rz_gateway *gateway, uint32_t process,
                         struct rz_spawn_request *request)
{
    request->process = process;
    request->question = process;
    rz_spawn_request_send(gateway, request);
}

bool rz_pmi1_spawn_line(struct rz_gateway *gateway, uint32_t process, const char *line)
{
    struct rz_pmi1_client *client = rz_pmi1_client_of(gateway, process);
    struct rz_pmi1_spawn *spawn = client->spawn;
    if (strncmp(line, "mcmd=", 5) == 0) {
        if (!spawn) {
            client->spawn = spawn = calloc(1, sizeof(*spawn));
            rz_need_memory(spawn, "for a spawn");
        }
        spawn->refused |= spawn->n++ >= RZ_SPAWN_COMMANDS_MAX;
        if (!spawn->refused) {
            rz_spawn_request_add(&spawn->its);
        }
        return true;
    }
    if (!spawn) {
        return false;
    }
    if (strcmp(line, "endcmd") == 0) {
        if (spawn->n >= spawn->wanted) {
            client->spawn = NULL;
            if (spawn->refused) {
                answer_status(gateway, process, RZ_ERR_INVALID);
            } else {
                send_request(gateway, process, &spawn->its);
            }
            rz_pmi1_spawn_free(spawn);
        }
        return true;
    }
    spawn->bytes += strlen(line);
    spawn->refused |= spawn->bytes > SPAWN_MAX;
    const char *value = strchr(line, '=');
    if (strncmp(line, "totspawns=", 10) == 0) {
        spawn->wanted = (uint32_t)strtoul(value + 1, NULL, 10);
    } else if (value && !spawn->refused) {
        char name[RZ_PMI1_KEY_MAX];
        snprintf(name, sizeof(name), "%.*s", (int)(value - line), line);
        take_value(spawn, name, value + 1);
    }
    return true;
}

bool rz_pmi1_spawn_cut(struct rz_pmi1_client *client)
{
    if (client->spawn) {
        client->spawn->refused = true;
    }
    return client->spawn != NULL;
}

/* ---- the answer ---- */

void rz_pmi1_spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                     uint32_t world)
{
    (void)world;
    if (question < gateway->n_processes && !gateway->processes[question].ended) {
        answer_status(gateway, (uint32_t)question, status);
    }
}
