/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes, checks and reads the list of commands of a spawn request. */
#include "wire/spawn_order.h"

#include "base/assert.h"
#include "wire/cursor.h"

#include <string.h>

/* The format: number of commands (u32); for each command: processes (u32), directory (text), number
 * of arguments (u32), arguments (bytes: texts with their NUL), then number and texts of the
 * environment in the same form. */

static void put_texts(struct rz_wire_writer *w, const char *const *texts)
{
    uint32_t n = 0;
    size_t bytes = 0;
    for (; texts && texts[n]; n++) {
        bytes += strlen(texts[n]) + 1;
    }
    rz_wire_put_u32(w, n);
    if (bytes > (size_t)(w->end - w->at)) {
        w->overflow = true;
        return;
    }
    rz_wire_put_u32(w, (uint32_t)bytes);
    for (uint32_t i = 0; i < n && !w->overflow; i++) {
        size_t length = strlen(texts[i]) + 1;
        if (length > (size_t)(w->end - w->at)) {
            w->overflow = true;
            return;
        }
        memcpy(w->at, texts[i], length);
        w->at += length;
    }
}

size_t rz_spawn_order_write(const struct rz_spawn_command *commands, uint32_t n, void *buffer,
                            size_t bytes)
{
    struct rz_wire_writer writer, *w = &writer;
    rz_wire_writer_init(w, buffer, bytes);
    rz_wire_put_u32(w, n);
    for (uint32_t i = 0; i < n; i++) {
        rz_wire_put_u32(w, commands[i].maxprocs);
        rz_wire_put_text(w, commands[i].directory);
        put_texts(w, commands[i].arguments);
        put_texts(w, commands[i].environment);
    }
    return w->overflow ? 0 : (size_t)(w->at - w->start);
}

const char *rz_spawn_text_next(const char *text)
{
    return text + strlen(text) + 1;
}

/* Reads a number and texts; NULL if there are not exactly this many complete texts. */
static const char *get_texts(struct rz_wire_reader *r, uint32_t *n, bool values)
{
    uint32_t length;
    *n = rz_wire_get_u32(r);
    const char *texts = (const char *)rz_wire_get_bytes(r, &length);
    const char *at = texts, *end = texts + length;
    bool good = *n <= RZ_SPAWN_TEXTS_MAX;
    for (uint32_t i = 0; good && i < *n; i++) {
        const char *nul = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        good = nul && (!values || (strchr(at, '=') && *at != '='));
        at = good ? nul + 1 : at;
    }
    if (!good || at != end) {
        r->malformed = true;
    }
    return texts;
}

static struct rz_spawn_command_read get_command(struct rz_wire_reader *r)
{
    struct rz_spawn_command_read command;
    command.maxprocs = rz_wire_get_u32(r);
    command.directory = rz_wire_get_text(r);
    command.arguments = get_texts(r, &command.n_arguments, false);
    command.environment = get_texts(r, &command.n_environment, true);
    if (!r->malformed && (command.n_arguments == 0 || *command.arguments == '\0')) {
        r->malformed = true;
    }
    return command;
}

rz_status_t rz_spawn_order_look(const void *bytes, size_t length, uint32_t *n_commands,
                                uint32_t *n_processes)
{
    struct rz_wire_reader reader, *r = &reader;
    uint64_t processes = 0;
    rz_wire_reader_init(r, bytes, length);
    uint32_t n = rz_wire_get_u32(r);
    if (n > RZ_SPAWN_COMMANDS_MAX) {
        return RZ_ERR_MALFORMED;
    }
    for (uint32_t i = 0; i < n && !r->malformed; i++) {
        processes += get_command(r).maxprocs;
    }
    if (r->malformed || r->at != r->end || processes == 0 || processes > INT32_MAX) {
        return RZ_ERR_MALFORMED;
    }
    *n_commands = n;
    *n_processes = (uint32_t)processes;
    return RZ_OK;
}

struct rz_spawn_command_read rz_spawn_order_command(const void *bytes, size_t length, uint32_t i)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    uint32_t n = rz_wire_get_u32(&r);
    rz_assert(i < n);
    for (; i > 0; i--) {
        get_command(&r);
    }
    return get_command(&r);
}

uint32_t rz_spawn_order_command_of(const void *bytes, size_t length, uint32_t index)
{
    struct rz_wire_reader r;
    rz_wire_reader_init(&r, bytes, length);
    uint32_t n = rz_wire_get_u32(&r);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t maxprocs = get_command(&r).maxprocs;
        if (index < maxprocs) {
            return i;
        }
        index -= maxprocs;
    }
    rz_assert(!"no such process in the order");
    return 0;
}
