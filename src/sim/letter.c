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

static struct rz_sim_letter *letter_create(const uint64_t *items, uint32_t n_items)
{
    struct rz_sim_letter *letter = rz_sim_memory(NULL, sizeof *letter + n_items * sizeof *items);
    memset(letter, 0, sizeof *letter);
    letter->refs = 1;
    letter->n_items = n_items;
    if (n_items > 0)
        memcpy(letter->items, items, n_items * sizeof *items);
    return letter;
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        hash = rz_mix(hash, words[i]);
    return hash;
}

struct rz_sim_letter *rz_sim_letter_of_message(const struct rz_message *message,
                                               const uint64_t *items)
{
    uint64_t words[sizeof *message / sizeof(uint64_t)];
    _Static_assert(sizeof words == sizeof *message, "a message is whole words");
    struct rz_sim_letter *letter = letter_create(items, message->n_items);
    letter->message = *message;
    memcpy(words, message, sizeof words);
    letter->hash = hash_words(1, words, sizeof words / sizeof *words);
    letter->hash = hash_words(letter->hash, letter->items, letter->n_items);
    return letter;
}

struct rz_sim_letter *rz_sim_letter_of_call(const struct rz_sim_call *call)
{
    struct rz_sim_letter *letter = letter_create(call->items, call->n_items);
    letter->is_call = true;
    letter->unordered = call->unordered;
    letter->call = call->call;
    memcpy(letter->arg, call->arg, sizeof letter->arg);
    letter->hash = rz_mix(2 + call->unordered, call->call);
    letter->hash = hash_words(letter->hash, letter->arg, 4);
    letter->hash = hash_words(letter->hash, letter->items, letter->n_items);
    return letter;
}

bool rz_letter_equal(const struct rz_sim_letter *a, const struct rz_sim_letter *b)
{
    return a->hash == b->hash && a->is_call == b->is_call && a->unordered == b->unordered &&
           a->call == b->call && memcmp(a->arg, b->arg, sizeof a->arg) == 0 &&
           memcmp(&a->message, &b->message, sizeof a->message) == 0 && a->n_items == b->n_items &&
           memcmp(a->items, b->items, a->n_items * sizeof *a->items) == 0;
}

void rz_letter_release(struct rz_sim_letter *letter)
{
    if (--letter->refs == 0)
        free(letter);
}
