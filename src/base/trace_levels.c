/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of modules, levels and events; levels as RZ_LOG gives them. */
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *group;
} modules[RZ_TRACE_MODULE_COUNT] = {
#define ROW(name, group) {#name, #group},
    RZ_TRACE_MODULES(ROW)
#undef ROW
};

static const char *const level_names[RZ_TRACE_LEVEL_COUNT] = {
#define ROW(name) #name,
    RZ_TRACE_LEVELS(ROW)
#undef ROW
};

#define ROW(NAME, module, level, kind, a, b, c)                                                    \
    {#NAME, RZ_TRACE_MODULE_##module, RZ_TRACE_LEVEL_##level, RZ_TRACE_##kind, {a, b, c}},
static const struct rz_trace_meaning meanings[RZ_TRACE_EVENT_COUNT] = {RZ_TRACE_EVENTS(ROW)};
#undef ROW

const struct rz_trace_meaning *rz_trace_meaning(uint32_t event)
{
    return &meanings[event];
}

const char *rz_trace_module_name(enum rz_trace_module module)
{
    return modules[module].name;
}

const char *rz_trace_level_name(enum rz_trace_level level)
{
    return level_names[level];
}

/* ---- Levels ---- */

void rz_trace_levels_default(struct rz_trace_levels *levels)
{
    memset(levels->of, RZ_TRACE_LEVEL_notice, sizeof(levels->of));
}

void rz_trace_levels_raise(struct rz_trace_levels *levels, enum rz_trace_level level)
{
    for (int i = 0; i < RZ_TRACE_MODULE_COUNT; i++) {
        if (levels->of[i] < level) {
            levels->of[i] = (uint8_t)level;
        }
    }
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* False: there is no such module or group. */
static bool set_module(struct rz_trace_levels *levels, const char *text, size_t length,
                       uint8_t level)
{
    bool found = false;
    for (int i = 0; i < RZ_TRACE_MODULE_COUNT; i++) {
        if (is_word(modules[i].name, text, length) || is_word(modules[i].group, text, length) ||
            is_word("all", text, length)) {
            levels->of[i] = level;
            found = true;
        }
    }
    return found;
}

static void say_wrong(const char *part, size_t length, const char *what, char *text, size_t bytes)
{
    size_t n =
        (size_t)snprintf(text, bytes, "'%.*s': %s; it is MODULE:LEVEL[,...] with a module of",
                         length < 60 ? (int)length : 60, part, what);
    for (int i = 0; i < RZ_TRACE_MODULE_COUNT && n < bytes; i++) {
        n += (size_t)snprintf(text + n, bytes - n, " %s", modules[i].name);
    }
    if (n < bytes) {
        n += (size_t)snprintf(text + n, bytes - n, " mpi daemon all, and a level of");
    }
    for (int i = 0; i < RZ_TRACE_LEVEL_COUNT && n < bytes; i++) {
        n += (size_t)snprintf(text + n, bytes - n, " %s", level_names[i]);
    }
}

bool rz_trace_levels_parse(struct rz_trace_levels *levels, const char *spec, char *text,
                           size_t bytes)
{
    struct rz_trace_levels read = *levels;
    for (const char *part = spec;; part++) {
        size_t length = strcspn(part, ","), module = strcspn(part, ":,");
        uint8_t level = 0;
        if (module == length) {
            say_wrong(part, length, "it has no level", text, bytes);
            return false;
        }
        while (level < RZ_TRACE_LEVEL_COUNT &&
               !is_word(level_names[level], part + module + 1, length - module - 1)) {
            level++;
        }
        if (level == RZ_TRACE_LEVEL_COUNT) {
            say_wrong(part, length, "there is no such level", text, bytes);
            return false;
        }
        if (!set_module(&read, part, module, level)) {
            say_wrong(part, length, "there is no such module", text, bytes);
            return false;
        }
        part += length;
        if (!*part) {
            *levels = read;
            return true;
        }
    }
}
