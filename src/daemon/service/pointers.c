/* SPDX-License-Identifier: BSD-3-Clause */
/* The pointers that this node keeps, and the questions of its processes to other nodes. */
#include "daemon/service/pointers.h"

#include "base/no_memory.h"
#include "base/random.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

/* A process asks one question after the other in each of its threads, and drops some pointers
 * without an answer. One that has more under way gets none for further ones. */
enum { UNDER_WAY_MAX = 4096 };

struct pointer {
    struct pointer *next;
    uint64_t key, generation, value;
};

/* What a process asks about a pointer. */
struct pointer_wish {
    uint32_t what;
    uint64_t key, generation, initial, value;
};

/* A question to another daemon that was not answered yet. */
struct pointer_pending {
    struct pointer_pending *next;
    rz_id node;
    uint64_t serial;
    uint32_t asker, incarnation; /* the process of this node */
    uint64_t question;           /* the number of its question, for the answer */
};

struct rz_pointers {
    struct rz_pointers_config config;
    const struct rz_own_node *own;   /* copied from config */
    struct pointer *bucket[BUCKETS]; /* by key */
    uint32_t n;
    struct pointer_pending *pending;
    uint64_t serial;
};

/* ---- The pointers ---- */

static struct pointer **pointer_at(struct rz_pointers *pointers, uint64_t key)
{
    struct pointer **at = &pointers->bucket[rz_mix(key, 0) % BUCKETS];
    while (*at && (*at)->key != key) {
        at = &(*at)->next;
    }
    return at;
}

static void pointer_drop(struct rz_pointers *pointers, uint64_t key)
{
    struct pointer **at = pointer_at(pointers, key), *pointer = *at;
    if (pointer) {
        *at = pointer->next;
        pointers->n--;
        free(pointer);
    }
}

static struct pointer *find_or_make(struct rz_pointers *pointers, const struct pointer_wish *wish)
{
    struct pointer *pointer = *pointer_at(pointers, wish->key);
    if (!pointer && pointers->n < RZ_POINTERS_MAX &&
        (pointer = calloc(1, sizeof(*pointer))) != NULL) {
        struct pointer **at = &pointers->bucket[rz_mix(wish->key, 0) % BUCKETS];
        pointer->next = *at;
        pointer->key = wish->key;
        pointer->generation = wish->generation;
        pointer->value = wish->initial;
        *at = pointer;
        pointers->n++;
    }
    return pointer;
}

/* Does what is asked; *value: the place before. */
static rz_status_t serve(struct rz_pointers *pointers, const struct pointer_wish *wish,
                         uint64_t *value)
{
    *value = 0;
    if (wish->what == RZ_POINTER_DROP) {
        pointer_drop(pointers, wish->key);
        return RZ_OK;
    }
    if (wish->what != RZ_POINTER_SET && wish->what != RZ_POINTER_ADD) {
        return RZ_ERR_INVALID;
    }
    struct pointer *pointer = find_or_make(pointers, wish);
    if (!pointer) {
        return RZ_ERR_NO_MEMORY;
    }
    if (pointer->generation < wish->generation) {
        pointer->generation = wish->generation;
        pointer->value = wish->initial;
    }
    *value = pointer->value;
    pointer->value = wish->what == RZ_POINTER_SET ? wish->value : pointer->value + wish->value;
    return RZ_OK;
}

/* ---- Answers to processes ---- */

static void answer_pointer(struct rz_pointers *pointers, uint32_t rank, uint64_t question,
                           rz_status_t status, uint64_t value)
{
    struct rz_link_message message = {
        .type = RZ_LINK_POINTED,
        .pointed = {.question = question, .status = (uint32_t)status, .value = value}};
    if (question != 0) { /* 0: no answer is requested */
        rz_link_router_send_to(pointers->config.children, rank, &message, -1);
    }
}

static void pointer_pending_end(struct rz_pointers *pointers, struct pointer_pending **at,
                                rz_status_t status, uint64_t value)
{
    struct pointer_pending *pending = *at;
    *at = pending->next;
    /* A replacement of the asker uses the same question numbers. */
    if (pointers->own->membership.slots[pending->asker].incarnation == pending->incarnation) {
        answer_pointer(pointers, pending->asker, pending->question, status, value);
    }
    free(pending);
}

/* ---- Questions ---- */

static bool asks_too_many(const struct rz_pointers *pointers, const struct rz_child *asker)
{
    uint32_t n = 0;
    for (const struct pointer_pending *one = pointers->pending; one; one = one->next) {
        n += one->asker == asker->rank;
    }
    return n >= UNDER_WAY_MAX;
}

static void ask_keeper(struct rz_pointers *pointers, rz_id node, const struct rz_child *asker,
                       uint64_t question, const struct pointer_wish *wish)
{
    struct pointer_pending *pending = malloc(sizeof(*pending));
    rz_need_memory(pending, "for a question about a shared file pointer");
    *pending = (struct pointer_pending){.next = pointers->pending,
                                        .node = node,
                                        .serial = ++pointers->serial,
                                        .asker = asker->rank,
                                        .incarnation = asker->incarnation,
                                        .question = question};
    pointers->pending = pending;
    struct rz_overlay_message message = {.type = RZ_OVERLAY_POINTER_ASK,
                                         .pointer_ask = {.serial = pending->serial,
                                                         .what = wish->what,
                                                         .key = wish->key,
                                                         .generation = wish->generation,
                                                         .initial = wish->initial,
                                                         .value = wish->value}};
    rz_overlay_send(pointers->config.overlay, node, &message);
}

static bool on_pointer(void *arg, struct rz_child *p, const struct rz_link_message *message,
                       int *fd)
{
    (void)fd;
    struct rz_pointers *pointers = arg;
    const struct rz_own_node *own = pointers->own;
    const struct rz_link_pointer *asked = &message->pointer;
    struct pointer_wish wish = {asked->what, asked->key, asked->generation, asked->initial,
                                asked->value};
    uint64_t value = 0;
    if (asked->node >= own->job.n_nodes) {
        answer_pointer(pointers, p->rank, asked->question, RZ_ERR_INVALID, 0);
    } else if (asked->node == own->job.node) {
        rz_status_t status = serve(pointers, &wish, &value);
        answer_pointer(pointers, p->rank, asked->question, status, value);
    } else if (rz_membership_node_has_failed(&own->membership, asked->node)) {
        answer_pointer(pointers, p->rank, asked->question, RZ_ERR_PROC_FAILED, 0);
    } else if (asks_too_many(pointers, p)) {
        answer_pointer(pointers, p->rank, asked->question, RZ_ERR_NO_MEMORY, 0);
    } else {
        ask_keeper(pointers, asked->node, p, asked->question, &wish);
    }
    return true;
}

static void on_ask(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_pointers *pointers = arg;
    const struct rz_overlay_pointer_ask *asked = &message->pointer_ask;
    struct pointer_wish wish = {asked->what, asked->key, asked->generation, asked->initial,
                                asked->value};
    uint64_t value;
    rz_status_t status = serve(pointers, &wish, &value);
    struct rz_overlay_message told = {
        .type = RZ_OVERLAY_POINTER_IS,
        .pointer_is = {.serial = asked->serial, .status = (uint32_t)status, .value = value}};
    rz_overlay_send(pointers->config.overlay, from, &told);
}

static void on_is(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_pointers *pointers = arg;
    struct pointer_pending **at = &pointers->pending;
    while (*at && ((*at)->serial != message->pointer_is.serial || (*at)->node != from)) {
        at = &(*at)->next;
    }
    if (*at) {
        pointer_pending_end(pointers, at, (rz_status_t)message->pointer_is.status,
                            message->pointer_is.value);
    }
}

void rz_pointers_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    (void)proof, (void)first;
    struct rz_pointers *pointers = arg;
    for (struct pointer_pending **at = &pointers->pending; *at;) {
        if ((*at)->node == node) {
            pointer_pending_end(pointers, at, RZ_ERR_PROC_FAILED, 0);
        } else {
            at = &(*at)->next;
        }
    }
}

/* ---- Begin and end ---- */

rz_status_t rz_pointers_open(struct rz_pointers **pointers, const struct rz_pointers_config *config)
{
    *pointers = calloc(1, sizeof(**pointers));
    if (!*pointers) {
        return RZ_ERR_NO_MEMORY;
    }
    (*pointers)->config = *config;
    (*pointers)->own = config->own;
    rz_link_router_handle(config->router, RZ_LINK_POINTER, on_pointer, *pointers);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_POINTER_ASK, on_ask, *pointers);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_POINTER_IS, on_is, *pointers);
    return RZ_OK;
}

void rz_pointers_close(struct rz_pointers *pointers)
{
    if (!pointers) {
        return;
    }
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (pointers->bucket[i]) {
            pointer_drop(pointers, pointers->bucket[i]->key);
        }
    }
    while (pointers->pending) {
        struct pointer_pending *pending = pointers->pending;
        pointers->pending = pending->next;
        free(pending);
    }
    free(pointers);
}
