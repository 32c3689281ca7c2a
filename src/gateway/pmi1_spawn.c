/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spawn of PMI-1: for each command a request of several lines, `mcmd=spawn` to `endcmd`; one answer
 * for all. What the parent puts for the new processes (preput) is in their key space when they
 * start.
 */
#include "base/no_memory.h"
#include "gateway/pmi1_private.h"
#include "gateway/spawn_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rz_pmi1_spawn {
    struct rz_spawn_request its;
    uint32_t wanted; /* number of commands in all */
    char *key;       /* of a pair whose value follows */
};

/* A spawn that waits for its answer. */
struct rz_pmi1_asked {
    struct rz_pmi1_asked *next;
    uint64_t question;
    uint32_t process;
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
    } else if (strcmp(name, "totspawns") == 0) {
        spawn->wanted = (uint32_t)strtoul(value, NULL, 10);
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

static void send_request(struct rz_gateway *gateway, uint32_t process,
                         struct rz_spawn_request *request)
{
    struct rz_pmi1 *pmi1 = rz_pmi1_of(gateway);
    struct rz_pmi1_asked *asked = calloc(1, sizeof(*asked));
    rz_need_memory(asked, "for a spawn");
    *asked = (struct rz_pmi1_asked){
        .next = pmi1->asked, .question = ++pmi1->question, .process = process};
    pmi1->asked = asked;
    request->process = process;
    request->question = asked->question;
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
        rz_spawn_request_add(&spawn->its);
        return true;
    }
    if (!spawn) {
        return false;
    }
    if (strcmp(line, "endcmd") == 0) {
        if (spawn->its.n >= spawn->wanted) {
            client->spawn = NULL;
            send_request(gateway, process, &spawn->its);
            rz_pmi1_spawn_free(spawn);
        }
        return true;
    }
    const char *value = strchr(line, '=');
    if (value) {
        char name[RZ_PMI1_KEY_MAX];
        snprintf(name, sizeof(name), "%.*s", (int)(value - line), line);
        take_value(spawn, name, value + 1);
    }
    return true;
}

/* ---- the answer ---- */

void rz_pmi1_spawned(struct rz_gateway *gateway, uint64_t question, rz_status_t status,
                     uint32_t world)
{
    struct rz_pmi1_asked **at = &rz_pmi1_of(gateway)->asked;
    (void)world;
    while (*at && (*at)->question != question) {
        at = &(*at)->next;
    }
    struct rz_pmi1_asked *asked = *at;
    if (!asked) {
        return;
    }
    *at = asked->next;
    if (gateway->processes[asked->process].ended) {
        free(asked);
        return;
    }
    if (status != RZ_OK) {
        rz_gateway_log(gateway, 1, "MPI_Comm_spawn: %s", rz_status_text(status));
        rz_pmi1_answer(gateway, asked->process, "cmd=spawn_result rc=-1 msg=refused");
    } else {
        rz_pmi1_answer(gateway, asked->process, "cmd=spawn_result rc=0");
    }
    free(asked);
}

void rz_pmi1_asked_close(struct rz_pmi1 *pmi1)
{
    while (pmi1->asked) {
        struct rz_pmi1_asked *asked = pmi1->asked;
        pmi1->asked = asked->next;
        free(asked);
    }
}
