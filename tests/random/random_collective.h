/* SPDX-License-Identifier: BSD-3-Clause */
/* What all collectives have: the way they are called, and the seeds of what each rank puts in. */
#ifndef RANDOM_COLLECTIVE_H
#define RANDOM_COLLECTIVE_H

#include "random.h"

enum way { BLOCKING, STARTED, PERSISTENT };

struct collective {
    enum way way;
    int n, me, root;
    uint32_t leaf, starts; /* starts: of a persistent one */
    uint64_t elements, seed;
    bool in_place;
    struct dice own; /* each rank's datatypes */
    struct pending *pending;
};

/* A persistent one: the last start is pending, those before it had other bytes to send. */
void start_collective(struct collective *c);

/* Calls name, or Iname, or name_init, and starts it, perhaps several times. */
#if MPI_VERSION >= 4
#define PLAY(c, name, small, ...)                                                                  \
    do {                                                                                           \
        if ((c)->way == BLOCKING) {                                                                \
            MPI_##name(__VA_ARGS__);                                                               \
        } else if ((c)->way == STARTED) {                                                          \
            MPI_I##small(__VA_ARGS__, &(c)->pending->request);                                     \
        } else {                                                                                   \
            MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &(c)->pending->request);                 \
            start_collective(c);                                                                   \
        }                                                                                          \
    } while (0)
#else
#define PLAY(c, name, small, ...)                                                                  \
    do {                                                                                           \
        if ((c)->way == BLOCKING) {                                                                \
            MPI_##name(__VA_ARGS__);                                                               \
        } else {                                                                                   \
            MPI_I##small(__VA_ARGS__, &(c)->pending->request);                                     \
        }                                                                                          \
    } while (0)
#endif

/* Draws what all ranks know; true: this process has a part in it, and it is pending. */
bool enter_collective(struct collective *c, struct player *player, struct dice *dice,
                      const struct slot *slot, uint32_t most);
uint64_t seed_of(const struct collective *c, int rank); /* of what a rank puts in */
uint64_t seed_between(const struct collective *c, int from, int to);
/* One buffer for `blocks` blocks of `elements`, each of whole units. */
struct side *collective_side(struct collective *c, int blocks, uint64_t elements);
int units_of(const struct side *side, uint64_t elements);
/* Of basic elements, so that each count is one of units. */
struct side *plain_side(const struct collective *c, int elements);

/* All of it is kept until the reduction is over. */
struct reduction {
    struct collective c;
    uint32_t which, width; /* numbers of 32 bits in an element */
    uint32_t *in, *out, *want;
    size_t words;
    MPI_Op op;
    MPI_Datatype type;
    bool made;
};

/* `blocks`: a block of numbers for each rank. */
bool enter_reduction(struct reduction **result, struct player *player, struct dice *dice,
                     struct slot *slot, uint32_t most, bool blocks);
/* The reduction of the ranks from `first` to `last`, in this order: to be freed. */
uint32_t *reduced(const struct reduction *r, int first, int last);
/* In and out, and what is wanted of it; NULL: nothing changes. */
void reduction_buffers(struct reduction *r, size_t result_words, const uint32_t *want);

#endif
