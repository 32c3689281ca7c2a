/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries, and the changes that processes of this node wait for. */
#include "gateway/registry.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

#define FOR_VALUE "for a published value"

/* A change that this node has asked for. */
struct change {
    struct change *next;
    uint64_t serial;
    void *waiter;
    bool drop, once;
    char *key;
    uint32_t owner;
    uint8_t *value;
    size_t bytes;
    uint32_t home;
    bool again;    /* asked before, of a home that has failed */
    bool *awaited; /* [n_nodes] */
};

struct rz_registry {
    struct rz_registry_config config;
    struct rz_registry_entry *entries;
    struct change *changes;
    uint64_t serial;
    uint32_t home; /* the highest number of a home that has ordered a change: lower ones failed */
};

/* ---- entries ---- */

static struct rz_registry_entry **entry_at(struct rz_registry *registry, const char *key)
{
    struct rz_registry_entry **at = &registry->entries;
    while (*at && strcmp((*at)->key, key) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void entry_remove(struct rz_registry_entry **at)
{
    struct rz_registry_entry *entry = *at;
    *at = entry->next;
    free(entry->key);
    free(entry->value);
    free(entry);
}

/* What the home answers to a change; the change is made if that is RZ_OK. */
static rz_status_t check(struct rz_registry *registry, const struct rz_registry_message *m)
{
    const struct rz_registry_entry *entry = *entry_at(registry, m->key);
    if (m->drop) {
        return m->again || (entry && entry->owner == m->owner) ? RZ_OK : RZ_ERR_NOT_FOUND;
    }
    bool again = entry && entry->asker == m->asker && entry->serial == m->serial;
    return entry && !again ? RZ_ERR_EXISTS : RZ_OK;
}

static void apply(struct rz_registry *registry, const struct rz_registry_message *m)
{
    struct rz_registry_entry **at = entry_at(registry, m->key);
    if (*at && (!m->drop || (*at)->owner == m->owner)) {
        entry_remove(at);
    }
    if (m->drop || !registry->config.live(registry->config.arg, m->owner)) {
        return;
    }
    struct rz_registry_entry *entry = calloc(1, sizeof(*entry));
    rz_need_memory(entry, FOR_VALUE);
    *entry = (struct rz_registry_entry){.next = registry->entries,
                                        .key = rz_need_copy(m->key, strlen(m->key) + 1, FOR_VALUE),
                                        .owner = m->owner,
                                        .asker = m->asker,
                                        .serial = m->serial,
                                        .once = m->once,
                                        .value = rz_need_copy(m->value, m->bytes, FOR_VALUE),
                                        .bytes = m->bytes};
    registry->entries = entry;
}

const struct rz_registry_entry *rz_registry_find(const struct rz_registry *registry,
                                                 const char *key)
{
    const struct rz_registry_entry *entry = registry->entries;
    while (entry && strcmp(entry->key, key) != 0) {
        entry = entry->next;
    }
    return entry;
}

/* ---- changes ---- */

static uint32_t home_of(const struct rz_registry *registry)
{
    uint32_t node = 0;
    while (node < registry->config.self &&
           !registry->config.node_is_live(registry->config.arg, node)) {
        node++;
    }
    return node;
}

static void change_free(struct change *change)
{
    free(change->key);
    free(change->value);
    free(change->awaited);
    free(change);
}

static void change_end(struct rz_registry *registry, struct change **at, rz_status_t status)
{
    struct change *change = *at;
    *at = change->next;
    if (change->waiter) {
        registry->config.answered(registry->config.arg, change->waiter, status);
    }
    change_free(change);
}

/* What a home before the present one has ordered may have been overruled: it is asked again when
 * the failure of that home is known here. */
static bool all_have_it(const struct rz_registry *registry, const struct change *change)
{
    if (change->home < registry->home) {
        return false;
    }
    for (uint32_t node = 0; node < registry->config.n_nodes; node++) {
        if (change->awaited[node]) {
            return false;
        }
    }
    return true;
}

static struct rz_registry_message message_of(const struct rz_registry *registry,
                                             const struct change *change)
{
    return (struct rz_registry_message){.step = RZ_REGISTRY_ASK,
                                        .asker = registry->config.self,
                                        .serial = change->serial,
                                        .again = change->again,
                                        .drop = change->drop,
                                        .key = change->key,
                                        .owner = change->owner,
                                        .once = change->once,
                                        .value = change->value,
                                        .bytes = change->bytes};
}

/* asker: it learns by its answer; UINT32_MAX: none. */
static void tell_others(struct rz_registry *registry, uint32_t asker,
                        const struct rz_registry_message *message)
{
    const struct rz_registry_config *config = &registry->config;
    for (uint32_t node = 0; node < config->n_nodes; node++) {
        if (node != config->self && node != asker && config->node_is_live(config->arg, node)) {
            config->send(config->arg, node, message);
        }
    }
}

/* The node that asks knows that all nodes before this one have failed. */
static void become_home(struct rz_registry *registry)
{
    uint32_t self = registry->config.self;
    struct rz_registry_message message = {.step = RZ_REGISTRY_BEGIN, .asker = self, .key = ""};
    if (registry->home == self) {
        return;
    }
    registry->home = self;
    tell_others(registry, UINT32_MAX, &message);
    for (const struct rz_registry_entry *entry = registry->entries; entry; entry = entry->next) {
        message = (struct rz_registry_message){.step = RZ_REGISTRY_CHANGE,
                                               .asker = entry->asker,
                                               .serial = entry->serial,
                                               .key = entry->key,
                                               .owner = entry->owner,
                                               .once = entry->once,
                                               .value = entry->value,
                                               .bytes = entry->bytes};
        tell_others(registry, UINT32_MAX, &message);
    }
    message = (struct rz_registry_message){.step = RZ_REGISTRY_END, .asker = self, .key = ""};
    tell_others(registry, UINT32_MAX, &message);
}

/* As the home: makes the change, tells all, and answers the node that asked. */
static void order(struct rz_registry *registry, const struct rz_registry_message *asked)
{
    const struct rz_registry_config *config = &registry->config;
    struct rz_registry_message message = *asked;
    become_home(registry);
    message.status = check(registry, asked);
    if (message.status == RZ_OK) {
        apply(registry, asked);
        message.step = RZ_REGISTRY_CHANGE;
        tell_others(registry, asked->asker, &message);
    }
    message.step = RZ_REGISTRY_HAVE;
    message.home = config->self;
    if (asked->asker == config->self) {
        rz_registry_message(registry, config->self, &message);
    } else {
        config->send(config->arg, asked->asker, &message);
    }
    if (message.status == RZ_OK && !asked->drop) {
        config->added(config->arg); /* last: it may ask for changes */
    }
}

/* Asks the home; every live node will confirm. */
static void ask_home(struct rz_registry *registry, struct change *change)
{
    const struct rz_registry_config *config = &registry->config;
    const struct rz_registry_message message = message_of(registry, change);
    change->home = home_of(registry);
    for (uint32_t node = 0; node < config->n_nodes; node++) {
        change->awaited[node] = node == change->home ||
                                (node != config->self && config->node_is_live(config->arg, node));
    }
    if (change->home == config->self) {
        order(registry, &message);
    } else {
        config->send(config->arg, change->home, &message);
    }
}

static void begin_change(struct rz_registry *registry, struct change *values)
{
    struct change *change = malloc(sizeof(*change));
    bool *awaited = calloc(registry->config.n_nodes, sizeof(*awaited));
    rz_need_memory(change && awaited, FOR_VALUE);
    *change = *values;
    change->awaited = awaited;
    change->serial = ++registry->serial;
    change->next = registry->changes;
    registry->changes = change;
    ask_home(registry, change);
}

/* Whether the process may ask for one more change; bytes: of the entry that it makes, or 0. */
static bool may_change(const struct rz_registry *registry, uint32_t owner, size_t bytes)
{
    uint32_t n = 0;
    for (const struct change *change = registry->changes; change; change = change->next) {
        n += change->owner == owner;
        bytes += change->owner == owner && bytes > 0 ? strlen(change->key) + change->bytes : 0;
    }
    const struct rz_registry_entry *entry = bytes > 0 ? registry->entries : NULL;
    for (; entry; entry = entry->next) {
        n += entry->owner == owner;
        bytes += entry->owner == owner ? strlen(entry->key) + entry->bytes : 0;
    }
    return n < RZ_REGISTRY_KEYS_EACH && bytes <= RZ_REGISTRY_BYTES_EACH;
}

static void refuse_change(const struct rz_registry *registry, void *waiter)
{
    if (waiter) {
        registry->config.answered(registry->config.arg, waiter, RZ_ERR_NO_MEMORY);
    }
}

void rz_registry_put(struct rz_registry *registry, const struct rz_registry_value *value,
                     void *waiter)
{
    if (!may_change(registry, value->owner, strlen(value->key) + 1 + value->bytes)) {
        refuse_change(registry, waiter);
        return;
    }
    struct change change = {.waiter = waiter,
                            .once = value->once,
                            .key = rz_need_copy(value->key, strlen(value->key) + 1, FOR_VALUE),
                            .owner = value->owner,
                            .value = rz_need_copy(value->data, value->bytes, FOR_VALUE),
                            .bytes = value->bytes};
    begin_change(registry, &change);
}

void rz_registry_drop(struct rz_registry *registry, const char *key, uint32_t owner, void *waiter)
{
    if (!may_change(registry, owner, 0)) {
        refuse_change(registry, waiter);
        return;
    }
    struct change change = {.waiter = waiter,
                            .drop = true,
                            .key = rz_need_copy(key, strlen(key) + 1, FOR_VALUE),
                            .owner = owner};
    begin_change(registry, &change);
}

/* ---- messages ---- */

static void take_have(struct rz_registry *registry, uint32_t from,
                      const struct rz_registry_message *m)
{
    struct change **at = &registry->changes;
    while (*at && (*at)->serial != m->serial) {
        at = &(*at)->next;
    }
    if (!*at || !(*at)->awaited[from] || m->home != (*at)->home || m->home < registry->home) {
        return;
    }
    struct change *change = *at;
    change->awaited[from] = false;
    if (m->status != RZ_OK) {
        change_end(registry, at, m->status);
        return;
    }
    bool applied = from == change->home && from != registry->config.self && !change->drop;
    if (from == change->home && from != registry->config.self) {
        const struct rz_registry_message made = message_of(registry, change);
        apply(registry, &made);
    }
    /* What was called may have changed the list. */
    for (at = &registry->changes; *at && *at != change; at = &(*at)->next) {
    }
    if (*at && all_have_it(registry, change)) {
        change_end(registry, at, RZ_OK);
    }
    if (applied) {
        registry->config.added(registry->config.arg);
    }
}

static void take_change(struct rz_registry *registry, const struct rz_registry_message *m)
{
    const struct rz_registry_message have = {.step = RZ_REGISTRY_HAVE,
                                             .asker = m->asker,
                                             .serial = m->serial,
                                             .home = registry->home,
                                             .status = RZ_OK,
                                             .key = ""};
    apply(registry, m);
    if (m->asker != registry->config.self) {
        registry->config.send(registry->config.arg, m->asker, &have);
    }
    if (!m->drop) {
        registry->config.added(registry->config.arg);
    }
}

static void take_begin(struct rz_registry *registry)
{
    for (struct rz_registry_entry *entry = registry->entries; entry; entry = entry->next) {
        entry->doubtful = true;
    }
}

static void take_end(struct rz_registry *registry)
{
    for (struct rz_registry_entry **at = &registry->entries; *at;) {
        if ((*at)->doubtful) {
            entry_remove(at);
        } else {
            at = &(*at)->next;
        }
    }
}

void rz_registry_message(struct rz_registry *registry, uint32_t from,
                         const struct rz_registry_message *m)
{
    if (m->step == RZ_REGISTRY_ASK) {
        order(registry, m);
        return;
    }
    if (m->step == RZ_REGISTRY_HAVE) {
        take_have(registry, from, m);
        return;
    }
    if (from < registry->home) {
        return; /* it has failed */
    }
    registry->home = from;
    if (m->step == RZ_REGISTRY_CHANGE) {
        take_change(registry, m);
    } else if (m->step == RZ_REGISTRY_BEGIN) {
        take_begin(registry);
    } else {
        take_end(registry);
    }
}

/* ---- failures ---- */

/* The first change that the failure has completed, or whose home has failed. */
static bool settle_one(struct rz_registry *registry, uint32_t node)
{
    for (struct change **at = &registry->changes; *at; at = &(*at)->next) {
        struct change *change = *at;
        if (change->home == node) {
            change->again = true;
            ask_home(registry, change);
            return true;
        }
        if (change->awaited[node]) {
            change->awaited[node] = false;
            if (all_have_it(registry, change)) {
                change_end(registry, at, RZ_OK);
                return true;
            }
        }
    }
    return false;
}

void rz_registry_node_failed(struct rz_registry *registry, uint32_t node)
{
    while (settle_one(registry, node)) {
    }
}

void rz_registry_process_ended(struct rz_registry *registry, uint32_t slot)
{
    for (struct rz_registry_entry **at = &registry->entries; *at;) {
        if ((*at)->owner == slot) {
            entry_remove(at);
        } else {
            at = &(*at)->next;
        }
    }
}

/* ---- open and close ---- */

struct rz_registry *rz_registry_open(const struct rz_registry_config *config)
{
    struct rz_registry *registry = calloc(1, sizeof(*registry));
    if (registry) {
        registry->config = *config;
    }
    return registry;
}

void rz_registry_close(struct rz_registry *registry)
{
    while (registry && registry->entries) {
        entry_remove(&registry->entries);
    }
    while (registry && registry->changes) {
        struct change *change = registry->changes;
        registry->changes = change->next;
        change_free(change);
    }
    free(registry);
}
