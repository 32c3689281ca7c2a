/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the request for a spawn, and sends it. */
#include "gateway/spawn_request.h"

#include "base/no_memory.h"
#include "wire/spawn_order.h"

#include <stdlib.h>
#include <string.h>

/* The longest request, with what is for the new processes: it travels in one frame. */
#define REQUEST_MAX ((size_t)2 << 20)

#define FOR_SPAWN "for a spawn"

struct rz_spawn_request_command *rz_spawn_request_add(struct rz_spawn_request *request)
{
    request->commands = realloc(request->commands, (request->n + 1) * sizeof(*request->commands));
    rz_need_memory(request->commands, FOR_SPAWN);
    request->commands[request->n] = (struct rz_spawn_request_command){0};
    return &request->commands[request->n++];
}

void rz_spawn_request_add_text(struct rz_spawn_request_texts *texts, const char *text)
{
    if (texts->n >= RZ_SPAWN_TEXTS_MAX) {
        texts->n = RZ_SPAWN_TEXTS_MAX + 1;
        return;
    }
    if (texts->n + 2 > texts->room) {
        texts->room = texts->room ? 2 * texts->room : 8;
        texts->at = realloc(texts->at, texts->room * sizeof(*texts->at));
        rz_need_memory(texts->at, FOR_SPAWN);
    }
    char *copy = strdup(text);
    rz_need_memory(copy, FOR_SPAWN);
    texts->at[texts->n++] = copy;
    texts->at[texts->n] = NULL;
}

void rz_spawn_request_set_text(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    rz_need_memory(*text, FOR_SPAWN);
}

static void texts_free(const struct rz_spawn_request_texts *texts)
{
    for (char **text = texts->at; text && *text; text++) {
        free(*text);
    }
    free(texts->at);
}

static bool texts_fit(const struct rz_spawn_request_texts *texts)
{
    return texts->n <= RZ_SPAWN_TEXTS_MAX;
}

void rz_spawn_request_clear(struct rz_spawn_request *request)
{
    for (uint32_t i = 0; i < request->n; i++) {
        free(request->commands[i].directory);
        texts_free(&request->commands[i].arguments);
        texts_free(&request->commands[i].environment);
    }
    free(request->commands);
    free(request->parent.at);
    *request = (struct rz_spawn_request){0};
}

/* Returns the number of bytes, or 0 if it has no program, or is too long. */
static size_t write_request(const struct rz_spawn_request *request, uint8_t *bytes, uint32_t *count)
{
    struct rz_spawn_command *commands = calloc(request->n + 1, sizeof(*commands));
    bool good = request->n > 0 && request->n <= RZ_SPAWN_COMMANDS_MAX;
    rz_need_memory(commands, FOR_SPAWN);
    *count = 0;
    for (uint32_t i = 0; i < request->n; i++) {
        const struct rz_spawn_request_command *command = &request->commands[i];
        commands[i] =
            (struct rz_spawn_command){.maxprocs = command->maxprocs,
                                      .directory = command->directory ? command->directory : "",
                                      .arguments = (const char *const *)command->arguments.at,
                                      .environment = (const char *const *)command->environment.at};
        good = good && command->arguments.n > 0 && texts_fit(&command->arguments) &&
               texts_fit(&command->environment);
        *count += command->maxprocs;
    }
    size_t n = good ? rz_spawn_order_write(commands, request->n, bytes, REQUEST_MAX) : 0;
    free(commands);
    return n;
}

void rz_spawn_request_send(struct rz_gateway *gateway, const struct rz_spawn_request *request)
{
    const struct rz_gateway_process *process = &gateway->processes[request->process];
    uint8_t *bytes = malloc(REQUEST_MAX);
    uint32_t count;
    rz_need_memory(bytes, FOR_SPAWN);
    size_t n = write_request(request, bytes, &count);
    if (n == 0 || n + request->parent.bytes > REQUEST_MAX) {
        gateway->service->spawned(gateway, request->question, RZ_ERR_INVALID, 0);
    } else {
        rz_gateway_send(gateway, &(struct rz_gateway_message){
                                     .type = RZ_GATEWAY_SPAWN,
                                     .spawn = {.rank = process->slot,
                                               .incarnation = process->incarnation,
                                               .question = request->question,
                                               .count = count,
                                               .commands = bytes,
                                               .commands_length = (uint32_t)n,
                                               .parent = request->parent.at,
                                               .parent_length = (uint32_t)request->parent.bytes}});
    }
    free(bytes);
}
