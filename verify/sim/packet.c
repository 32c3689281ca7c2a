/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets (messages and calls in flight) and memory of the simulator. */
#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

void *rz_sim_memory(void *old, size_t bytes)
{
    void *memory = realloc(old, bytes > 0 ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "rzsim: out of memory (%zu bytes)\n", bytes);
        exit(2);
    }
    return memory;
}

static struct rz_sim_packet *packet_create(const uint64_t *items, uint32_t n_items)
{
    struct rz_sim_packet *packet = rz_sim_memory(NULL, sizeof(*packet) + n_items * sizeof(*items));
    memset(packet, 0, sizeof(*packet));
    packet->refs = 1;
    packet->n_items = n_items;
    if (n_items > 0) {
        memcpy(packet->items, items, n_items * sizeof(*items));
    }
    return packet;
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        hash = rz_mix(hash, words[i]);
    }
    return hash;
}

struct rz_sim_packet *rz_sim_packet_of_message(const struct rz_message *message,
                                               const uint64_t *items)
{
    uint64_t words[sizeof(*message) / sizeof(uint64_t)];
    _Static_assert(sizeof(words) == sizeof(*message), "a message is whole words");
    struct rz_sim_packet *packet = packet_create(items, message->n_items);
    packet->message = *message;
    memcpy(words, message, sizeof(words));
    packet->hash = hash_words(1, words, sizeof(words) / sizeof(*words));
    packet->hash = hash_words(packet->hash, packet->items, packet->n_items);
    return packet;
}

struct rz_sim_packet *rz_sim_packet_of_call(const struct rz_sim_call *call)
{
    struct rz_sim_packet *packet = packet_create(call->items, call->n_items);
    packet->is_call = true;
    packet->unordered = call->unordered;
    packet->call = call->call;
    memcpy(packet->arg, call->arg, sizeof(packet->arg));
    packet->hash = rz_mix(2 + call->unordered, call->call);
    packet->hash = hash_words(packet->hash, packet->arg, 4);
    packet->hash = hash_words(packet->hash, packet->items, packet->n_items);
    return packet;
}

bool rz_protocol_message_equal(const struct rz_sim_packet *a, const struct rz_sim_packet *b)
{
    return a->hash == b->hash && a->is_call == b->is_call && a->unordered == b->unordered &&
           a->call == b->call && memcmp(a->arg, b->arg, sizeof(a->arg)) == 0 &&
           memcmp(&a->message, &b->message, sizeof(a->message)) == 0 && a->n_items == b->n_items &&
           memcmp(a->items, b->items, a->n_items * sizeof(*a->items)) == 0;
}

void rz_protocol_message_release(struct rz_sim_packet *packet)
{
    if (--packet->refs == 0) {
        free(packet);
    }
}
