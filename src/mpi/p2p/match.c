/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the matcher: a hash table of contexts, each with two ordered lists (receives with
 * wildcards, unexpected messages) and a hash table of keys (source, tag). A receive that is posted
 * alone, as in a blocking call, is in none of them but remembered by itself.
 */
#include "mpi/p2p/match.h"

#include "base/assert.h"
#include "base/linked_list.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_MIN 256
#define CONTEXTS_MIN 16

/* ---- Lists: two kinds of links, one structure ---- */

static void bucket_append(struct rz_match_list *list, struct rz_match_entry *entry)
{
    entry->bucket_next = NULL;
    entry->bucket_prev = list->last;
    *(list->last ? &list->last->bucket_next : &list->first) = entry;
    list->last = entry;
}

static void bucket_remove(struct rz_match_list *list, struct rz_match_entry *entry)
{
    *(entry->bucket_prev ? &entry->bucket_prev->bucket_next : &list->first) = entry->bucket_next;
    *(entry->bucket_next ? &entry->bucket_next->bucket_prev : &list->last) = entry->bucket_prev;
}

static void row_append(struct rz_match_list *list, struct rz_match_entry *entry)
{
    entry->row_next = NULL;
    entry->row_prev = list->last;
    *(list->last ? &list->last->row_next : &list->first) = entry;
    list->last = entry;
}

static void row_remove(struct rz_match_list *list, struct rz_match_entry *entry)
{
    *(entry->row_prev ? &entry->row_prev->row_next : &list->first) = entry->row_next;
    *(entry->row_next ? &entry->row_next->row_prev : &list->last) = entry->row_prev;
}

/* ---- The hash table of keys ---- */

static uint32_t key_hash(uint64_t context, int32_t source, int32_t tag)
{
    uint64_t h = context ^ ((uint64_t)(uint32_t)source << 32 | (uint32_t)tag);
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(h >> 32);
}

static struct rz_match_list *bucket_of(const struct rz_match_table *table, uint64_t context,
                                       int32_t source, int32_t tag)
{
    return &table->buckets[key_hash(context, source, tag) & table->mask];
}

static struct rz_match_entry *table_find(const struct rz_match_table *table, uint64_t context,
                                         int32_t source, int32_t tag)
{
    struct rz_match_entry *entry = bucket_of(table, context, source, tag)->first;
    while (entry && (entry->tag != tag || entry->source != source || entry->context != context)) {
        entry = entry->bucket_next;
    }
    return entry;
}

/* Doubles the table; entries of one key keep their order. Without memory the old table stays, only
 * slower. */
static void table_grow(struct rz_match_table *table)
{
    uint32_t n = (table->mask + 1) * 2;
    struct rz_match_list *buckets = calloc(n, sizeof(*buckets));
    if (!buckets) {
        return;
    }
    for (uint32_t i = 0; i <= table->mask; i++) {
        struct rz_match_entry *next;
        for (struct rz_match_entry *entry = table->buckets[i].first; entry; entry = next) {
            next = entry->bucket_next;
            uint32_t hash = key_hash(entry->context, entry->source, entry->tag);
            bucket_append(&buckets[hash & (n - 1)], entry);
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->mask = n - 1;
}

static void table_insert(struct rz_match_table *table, struct rz_match_entry *entry)
{
    if (table->entries > 2 * table->mask) {
        table_grow(table);
    }
    bucket_append(bucket_of(table, entry->context, entry->source, entry->tag), entry);
    table->entries++;
}

static void table_remove(struct rz_match_table *table, struct rz_match_entry *entry)
{
    bucket_remove(bucket_of(table, entry->context, entry->source, entry->tag), entry);
    table->entries--;
}

/* ---- Contexts ---- */

static struct rz_match_context **context_bucket(struct rz_matcher *matcher, uint64_t id)
{
    return &matcher->contexts[key_hash(id, 0, 0) & matcher->contexts_mask];
}

static void contexts_grow(struct rz_matcher *matcher)
{
    uint32_t n_old = matcher->contexts_mask + 1, n = n_old * 2;
    struct rz_match_context **old = matcher->contexts;
    struct rz_match_context **bigger = calloc(n, sizeof(*bigger));
    if (!bigger) {
        return;
    }
    matcher->contexts = bigger;
    matcher->contexts_mask = n - 1;
    for (uint32_t i = 0; i < n_old; i++) {
        struct rz_match_context *next;
        for (struct rz_match_context *context = old[i]; context; context = next) {
            next = context->next;
            struct rz_match_context **bucket = context_bucket(matcher, context->id);
            context->next = *bucket;
            *bucket = context;
        }
    }
    free(old);
}

static struct rz_match_context *context_find(struct rz_matcher *matcher, uint64_t id)
{
    if (matcher->recent && matcher->recent->id == id) {
        return matcher->recent;
    }
    struct rz_match_context *context = *context_bucket(matcher, id);
    while (context && context->id != id) {
        context = context->next;
    }
    if (context) {
        matcher->recent = context;
    }
    return context;
}

static struct rz_match_context *context_get(struct rz_matcher *matcher, uint64_t id)
{
    struct rz_match_context *context = context_find(matcher, id);
    if (context) {
        return context;
    }
    context = calloc(1, sizeof(*context));
    if (!context) {
        return NULL;
    }
    if (matcher->n_contexts > matcher->contexts_mask) {
        contexts_grow(matcher);
    }
    struct rz_match_context **bucket = context_bucket(matcher, id);
    context->id = id;
    context->next = *bucket;
    *bucket = context;
    matcher->n_contexts++;
    return context;
}

/* ---- The matcher ---- */

static bool table_init(struct rz_match_table *table)
{
    table->buckets = calloc(BUCKETS_MIN, sizeof(*table->buckets));
    table->mask = BUCKETS_MIN - 1;
    table->entries = 0;
    return table->buckets != NULL;
}

bool rz_matcher_init(struct rz_matcher *matcher)
{
    memset(matcher, 0, sizeof(*matcher));
    matcher->contexts = calloc(CONTEXTS_MIN, sizeof(*matcher->contexts));
    matcher->contexts_mask = CONTEXTS_MIN - 1;
    bool ok = table_init(&matcher->posted);
    ok = table_init(&matcher->early) && ok && matcher->contexts;
    if (!ok) {
        rz_matcher_clear(matcher);
    }
    return ok;
}

void rz_matcher_clear(struct rz_matcher *matcher)
{
    for (uint32_t i = 0; matcher->contexts && i <= matcher->contexts_mask; i++) {
        struct rz_match_context *next;
        for (struct rz_match_context *context = matcher->contexts[i]; context; context = next) {
            next = context->next;
            free(context);
        }
    }
    free(matcher->contexts);
    free(matcher->posted.buckets);
    free(matcher->early.buckets);
    memset(matcher, 0, sizeof(*matcher));
}

static bool is_open(const struct rz_match_entry *receive)
{
    return receive->source == RZ_MATCH_ANY_SOURCE || receive->tag == RZ_MATCH_ANY_TAG;
}

struct rz_match_entry *rz_match_arrive_listed(struct rz_matcher *matcher, uint64_t id,
                                              int32_t source, int32_t tag)
{
    struct rz_match_entry *exact = table_find(&matcher->posted, id, source, tag);
    struct rz_match_context *context = context_find(matcher, id);
    struct rz_match_entry *open = context ? context->open.first : NULL;
    while (open && !rz_match_meets(open->source, open->tag, source, tag)) {
        open = open->row_next;
    }
    return open && (!exact || open->number < exact->number) ? open : exact;
}

bool rz_match_keep(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    struct rz_match_context *context = context_get(matcher, entry->context);
    if (!context) {
        return false;
    }
    table_insert(&matcher->early, entry);
    row_append(&context->early, entry);
    return true;
}

struct rz_match_entry *rz_match_find(struct rz_matcher *matcher, uint64_t id, int32_t source,
                                     int32_t tag, bool take)
{
    struct rz_match_entry *entry;
    struct rz_match_context *context = context_find(matcher, id);
    if (!context) {
        return NULL;
    }
    if (source != RZ_MATCH_ANY_SOURCE && tag != RZ_MATCH_ANY_TAG) {
        entry = table_find(&matcher->early, id, source, tag);
    } else {
        entry = context->early.first;
        while (entry && !rz_match_meets(source, tag, entry->source, entry->tag)) {
            entry = entry->row_next;
        }
    }
    if (entry && take) {
        table_remove(&matcher->early, entry);
        row_remove(&context->early, entry);
    }
    return entry;
}

struct rz_match_entry *
rz_match_take_back(struct rz_matcher *matcher, uint64_t id,
                   bool (*is)(const struct rz_match_entry *entry, const void *arg), const void *arg)
{
    struct rz_match_context *context = context_find(matcher, id);
    struct rz_match_entry *entry = context ? context->early.first : NULL;
    while (entry && !is(entry, arg)) {
        entry = entry->row_next;
    }
    if (entry) {
        table_remove(&matcher->early, entry);
        row_remove(&context->early, entry);
    }
    return entry;
}

/* The order of listing is that of posting: a lone receive is listed before the next one. */
static bool match_list(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (is_open(entry)) {
        struct rz_match_context *context = context_get(matcher, entry->context);
        if (!context) {
            return false;
        }
        row_append(&context->open, entry);
    } else {
        table_insert(&matcher->posted, entry);
    }
    entry->number = ++matcher->next_number;
    matcher->n_listed++;
    return true;
}

bool rz_match_post_listed(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    if (matcher->lone && !match_list(matcher, matcher->lone)) {
        return false;
    }
    matcher->lone = NULL;
    return match_list(matcher, entry);
}

void rz_match_unpost_listed(struct rz_matcher *matcher, struct rz_match_entry *entry)
{
    matcher->n_listed--;
    if (!is_open(entry)) {
        table_remove(&matcher->posted, entry);
        return;
    }
    struct rz_match_context *context = context_find(matcher, entry->context);
    rz_assert(context != NULL);
    row_remove(&context->open, entry);
}

bool rz_match_close(struct rz_matcher *matcher, uint64_t id)
{
    struct rz_match_context *context = context_get(matcher, id);
    if (!context) {
        return false;
    }
    context->closed = true;
    return true;
}

bool rz_match_closed(struct rz_matcher *matcher, uint64_t id)
{
    struct rz_match_context *context = context_find(matcher, id);
    return context && context->closed;
}

void rz_match_release(struct rz_matcher *matcher, uint64_t id)
{
    struct rz_match_context *context = context_find(matcher, id);
    if (!context || context->open.first || context->early.first) {
        return;
    }
    rz_list_unlink(context_bucket(matcher, id), context);
    matcher->recent = NULL;
    matcher->n_contexts--;
    free(context);
}
