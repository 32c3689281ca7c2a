/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes publish: each key is an entry of the registry, whose value is packed by libpmix.
 */
#include "base/no_memory.h"
#include "gateway/pmix_private.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

/* Keys that say how to publish or look up, not what. */
static bool is_directive(const char *key)
{
    static const char *const directives[] = {
        PMIX_RANGE,  PMIX_PERSISTENCE, PMIX_TIMEOUT,           PMIX_WAIT,
        PMIX_USERID, PMIX_GRPID,       PMIX_ACCESS_PERMISSIONS};
    for (size_t i = 0; i < sizeof(directives) / sizeof(*directives); i++) {
        if (strcmp(key, directives[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const pmix_value_t *directive(const pmix_info_t info[], size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (PMIX_CHECK_KEY(&info[i], key)) {
            return &info[i].value;
        }
    }
    return NULL;
}

/* ---- publish and unpublish: one change for each key ---- */

struct item {
    char *key;
    pmix_byte_object_t value;
};

struct changes {
    struct rz_upcall upcall;
    struct rz_gateway_waiter waiter;
    uint32_t process;
    bool drop, once;
    struct item *items;
    size_t n, left;
    rz_status_t status; /* the first error */
    pmix_op_cbfunc_t done;
    void *arg;
};

#define CHANGES_OF(waiter_) ((struct changes *)((char *)(waiter_)-offsetof(struct changes, waiter)))

static void changes_free(struct changes *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        free(changes->items[i].key);
        free(changes->items[i].value.bytes);
    }
    free(changes->items);
    free(changes);
}

static void changed(struct rz_gateway_waiter *waiter, rz_status_t status, const uint8_t *data,
                    size_t bytes)
{
    struct changes *changes = CHANGES_OF(waiter);
    (void)data, (void)bytes;
    changes->status = changes->status == RZ_OK ? status : changes->status;
    if (--changes->left > 0) {
        return;
    }
    changes->done(changes->status == RZ_OK              ? PMIX_SUCCESS
                  : changes->status == RZ_ERR_EXISTS    ? PMIX_ERR_DUPLICATE_KEY
                  : changes->status == RZ_ERR_NOT_FOUND ? PMIX_ERR_NOT_FOUND
                                                        : PMIX_ERROR,
                  changes->arg);
    changes_free(changes);
}

static void run_changes(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct changes *changes = (struct changes *)upcall;
    changes->waiter.done = changed;
    changes->left = changes->n + 1; /* one for this function */
    for (size_t i = 0; i < changes->n; i++) {
        const struct item *item = &changes->items[i];
        if (changes->drop) {
            rz_registry_drop(gateway->registry, item->key, changes->process, &changes->waiter);
        } else {
            const struct rz_registry_value value = {.key = item->key,
                                                    .owner = changes->process,
                                                    .once = changes->once,
                                                    .data = (const uint8_t *)item->value.bytes,
                                                    .bytes = item->value.size};
            rz_registry_put(gateway->registry, &value, &changes->waiter);
        }
    }
    changed(&changes->waiter, RZ_OK, NULL, 0);
}

static struct changes *make_changes(uint32_t number, size_t max, pmix_op_cbfunc_t done, void *arg)
{
    RZ_UPCALL_MAKE(changes, changes);
    changes->items = calloc(max + 1, sizeof(*changes->items));
    rz_need_memory(changes->items, "for published data");
    changes->process = number;
    changes->done = done;
    changes->arg = arg;
    return changes;
}

static struct item *add_item(struct changes *changes, const char *key)
{
    struct item *item = &changes->items[changes->n++];
    item->key = strdup(key);
    rz_need_memory(item->key, "for published data");
    return item;
}

static void pack(const pmix_value_t *value, pmix_byte_object_t *packed)
{
    pmix_data_buffer_t buffer;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    if (PMIx_Data_pack(NULL, &buffer, (void *)value, 1, PMIX_VALUE) == PMIX_SUCCESS) {
        PMIx_Data_unload(&buffer, packed);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

pmix_status_t rz_pmix_on_publish(const pmix_proc_t *process, const pmix_info_t info[], size_t n,
                                 pmix_op_cbfunc_t done, void *arg)
{
    const pmix_value_t *persistence = directive(info, n, PMIX_PERSISTENCE);
    uint32_t number;
    if (!rz_pmix_number(process, &number)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    struct changes *changes = make_changes(number, n, done, arg);
    changes->once = persistence && persistence->data.persist == PMIX_PERSIST_FIRST_READ;
    for (size_t i = 0; i < n; i++) {
        if (!is_directive(info[i].key)) {
            pack(&info[i].value, &add_item(changes, info[i].key)->value);
        }
    }
    rz_pmix_post(&changes->upcall, run_changes);
    return PMIX_SUCCESS;
}

pmix_status_t rz_pmix_on_unpublish(const pmix_proc_t *process, char **keys,
                                   const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done,
                                   void *arg)
{
    uint32_t number;
    size_t n_keys = 0;
    (void)info, (void)n;
    if (!keys || !rz_pmix_number(process, &number)) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    while (keys[n_keys]) {
        n_keys++;
    }
    struct changes *changes = make_changes(number, n_keys, done, arg);
    changes->drop = true;
    for (size_t i = 0; i < n_keys; i++) {
        add_item(changes, keys[i]);
    }
    rz_pmix_post(&changes->upcall, run_changes);
    return PMIX_SUCCESS;
}

/* ---- look-ups ---- */

struct rz_pmix_lookup {
    struct rz_upcall upcall;
    struct rz_pmix_lookup *next;
    struct rz_gateway *gateway;
    char **keys;
    size_t n_keys;
    size_t wanted; /* it waits for so many keys; 0: for none */
    uint32_t timeout_s;
    struct event *timer;
    uint32_t process; /* that asks */
    pmix_status_t status;
    pmix_pdata_t *found; /* [n_found], and room for one more */
    size_t n_found;
    pmix_lookup_cbfunc_t done;
    void *arg;
};

static void lookup_free(struct rz_pmix_lookup *lookup)
{
    for (size_t i = 0; i < lookup->n_keys; i++) {
        free(lookup->keys[i]);
    }
    free(lookup->keys);
    free(lookup);
}

static size_t n_found(const struct rz_pmix_lookup *lookup)
{
    size_t n = 0;
    for (size_t i = 0; i < lookup->n_keys; i++) {
        n += rz_registry_find(lookup->gateway->registry, lookup->keys[i]) != NULL;
    }
    return n;
}

static void unpack(const struct rz_registry_entry *entry, pmix_pdata_t *found)
{
    pmix_byte_object_t packed = {.bytes = (char *)entry->value, .size = entry->bytes};
    pmix_data_buffer_t buffer;
    int32_t one = 1;
    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    PMIX_LOAD_KEY(found->key, entry->key);
    rz_pmix_process(&found->proc, entry->owner);
    if (PMIx_Data_embed(&buffer, &packed) == PMIX_SUCCESS) {
        PMIx_Data_unpack(NULL, &buffer, &found->value, &one, PMIX_VALUE);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
}

/* On libpmix's thread. */
static void send_answer(void *arg)
{
    struct rz_pmix_lookup *lookup = arg;
    lookup->done(lookup->status, lookup->found, lookup->n_found, lookup->arg);
    if (lookup->found) {
        PMIX_PDATA_FREE(lookup->found, lookup->n_found + 1);
    }
    lookup_free(lookup);
}

/* Ends a look-up that is in no list any more. */
static void end_lookup(struct rz_pmix_lookup *lookup, pmix_status_t status)
{
    if (lookup->timer) {
        event_free(lookup->timer); /* of the gateway's thread */
    }
    lookup->status = status;
    rz_pmix_on_its_thread(send_answer, lookup);
}

/* Answers with what is found now. */
static void answer_lookup(struct rz_pmix_lookup *lookup)
{
    const struct rz_gateway *gateway = lookup->gateway;
    PMIX_PDATA_CREATE(lookup->found, n_found(lookup) + 1);
    for (size_t i = 0; i < lookup->n_keys; i++) {
        const struct rz_registry_entry *entry =
            rz_registry_find(gateway->registry, lookup->keys[i]);
        if (!entry) {
            continue;
        }
        unpack(entry, &lookup->found[lookup->n_found++]);
        if (entry->once) {
            rz_registry_drop(gateway->registry, lookup->keys[i], entry->owner, NULL);
        }
    }
    /* Values beside PMIX_ERR_PARTIAL_SUCCESS do not reach the client (libpmix 4.2.2). */
    end_lookup(lookup, lookup->n_found == 0 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
}

static void remove_lookup(struct rz_pmix_lookup *lookup)
{
    struct rz_pmix_lookup **at = &rz_pmix->lookups;
    while (*at && *at != lookup) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = lookup->next;
    }
}

static void out_of_time(evutil_socket_t fd, short what, void *arg)
{
    struct rz_pmix_lookup *lookup = arg;
    (void)fd, (void)what;
    remove_lookup(lookup);
    end_lookup(lookup, PMIX_ERR_TIMEOUT);
}

static void look_up(struct rz_gateway *gateway, struct rz_upcall *upcall)
{
    struct rz_pmix_lookup *lookup = (struct rz_pmix_lookup *)upcall;
    lookup->gateway = gateway;
    if (n_found(lookup) >= lookup->wanted) {
        answer_lookup(lookup);
        return;
    }
    lookup->next = rz_pmix->lookups;
    rz_pmix->lookups = lookup;
    if (lookup->timeout_s > 0) {
        const struct timeval bound = {.tv_sec = lookup->timeout_s};
        lookup->timer = event_new(gateway->base, -1, 0, out_of_time, lookup);
        rz_need_memory(lookup->timer && event_add(lookup->timer, &bound) == 0, "for a look-up");
    }
}

/* 0: it is no number, or not above 0. */
static uint32_t number_of(const pmix_value_t *value)
{
    pmix_status_t status;
    int64_t number = 0;
    PMIX_VALUE_GET_NUMBER(status, value, number, int64_t);
    return status == PMIX_SUCCESS && number > 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

pmix_status_t rz_pmix_on_lookup(const pmix_proc_t *process, char **keys, const pmix_info_t info[],
                                size_t n, pmix_lookup_cbfunc_t done, void *arg)
{
    const pmix_value_t *wait = directive(info, n, PMIX_WAIT);
    const pmix_value_t *timeout = directive(info, n, PMIX_TIMEOUT);
    RZ_UPCALL_MAKE(rz_pmix_lookup, lookup);
    rz_pmix_number(process, &lookup->process);
    while (keys && keys[lookup->n_keys]) {
        lookup->n_keys++;
    }
    lookup->keys = calloc(lookup->n_keys + 1, sizeof(*lookup->keys));
    rz_need_memory(lookup->keys, "for a look-up");
    for (size_t i = 0; i < lookup->n_keys; i++) {
        lookup->keys[i] = strdup(keys[i]);
        rz_need_memory(lookup->keys[i], "for a look-up");
    }
    if (wait) { /* for so many keys, or for all */
        size_t count = number_of(wait);
        lookup->wanted = count > 0 && count < lookup->n_keys ? count : lookup->n_keys;
    }
    lookup->timeout_s = timeout ? number_of(timeout) : 0;
    lookup->done = done;
    lookup->arg = arg;
    rz_pmix_post(&lookup->upcall, look_up);
    return PMIX_SUCCESS;
}

void rz_pmix_added(struct rz_gateway *gateway)
{
    (void)gateway;
    for (struct rz_pmix_lookup *lookup = rz_pmix->lookups; lookup;) {
        struct rz_pmix_lookup *next = lookup->next;
        if (n_found(lookup) >= lookup->wanted) {
            remove_lookup(lookup);
            answer_lookup(lookup);
            next = rz_pmix->lookups; /* what was answered may have changed the list */
        }
        lookup = next;
    }
}

void rz_pmix_lookups_end(struct rz_gateway *gateway, uint32_t process)
{
    (void)gateway;
    for (struct rz_pmix_lookup *lookup = rz_pmix->lookups, *next; lookup; lookup = next) {
        next = lookup->next;
        if (lookup->process == process) {
            remove_lookup(lookup);
            end_lookup(lookup, PMIX_ERR_NOT_FOUND);
        }
    }
}
