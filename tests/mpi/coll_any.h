/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any collective operation against a naive reference: what the parts of the program coll_any share.
 * Everything is drawn from (seed, trial), so that each rank knows the input of all others and one
 * trial can be run alone.
 */
#ifndef COLL_ANY_H
#define COLL_ANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"

/* ---- Chance: numbers that follow from what they are drawn for ---- */

struct chance {
    uint64_t state;
};

uint64_t chance_mix(uint64_t a, uint64_t b);
int chance_below(struct chance *chance, int bound);

/* 0 to most, small ones as likely as large ones. */
int chance_length(struct chance *chance, int most);

void chance_shuffle(struct chance *chance, int *list, int n);

/* ---- Layouts: a datatype, and where its data lie ---- */

/* A message is a number of blocks; a block holds whole elements of any layout of the signature. */
enum { BLOCK = 6, BASICS_MAX = 4, ITEMS_MAX = BLOCK * BASICS_MAX };

struct signature {
    int n, bytes[BASICS_MAX];
};

struct layout {
    MPI_Datatype type;
    bool own;                    /* ends with the layout */
    int per_block;               /* elements that a block takes */
    int n, bytes[ITEMS_MAX];     /* items in the order of the type map */
    ptrdiff_t at[ITEMS_MAX];     /* bytes from the element's address */
    ptrdiff_t extent, low, high; /* data of one element lie in [low, high) */
};

void signature_draw(struct signature *signature, struct chance *chance);
int signature_bytes(const struct signature *signature); /* of a block */

/* A datatype of that signature: predefined, or a struct with its members in any order, with holes,
 * bounds below zero, and an extent that is larger than need be, or negative. */
void layout_draw(struct layout *layout, const struct signature *signature, struct chance *chance);

/* The same for one element of the items given, which have their places then. */
void layout_place(struct layout *layout, const MPI_Datatype *types, struct chance *chance);

void layout_free(struct layout *layout);

/* ---- Images: a buffer as it is, and as it should be ---- */

enum { IS, SHOULD_BE, SIDES };

struct image {
    unsigned char *memory[SIDES];
    ptrdiff_t low; /* the offset that the memory begins with */
    size_t bytes;
};

/* Memory for the offsets [low, high) and some more on both sides, filled with a pattern. */
void image_make(struct image *image, ptrdiff_t low, ptrdiff_t high);
void image_free(struct image *image);

/* Where offset 0 is: what MPI is given as the buffer. */
unsigned char *image_at(const struct image *image, int side);

/* What it is now is what it should be, but for what is written afterwards. */
void image_settle(struct image *image);

/* The first offset that differs; false: none does. */
bool image_differs(const struct image *image, ptrdiff_t *offset);

/* ---- Tasks: one collective operation at one rank ---- */

enum { RANKS_MAX = 32, PARTS_MAX = 64 };

/* _C: the variants with counts of type MPI_Count. */
enum form { BLOCKING, LATER, PERSISTENT, BLOCKING_C, LATER_C, PERSISTENT_C, FORMS };

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    NEIGHBOR_ALLGATHER,
    NEIGHBOR_ALLGATHERV,
    NEIGHBOR_ALLTOALL,
    NEIGHBOR_ALLTOALLV,
    NEIGHBOR_ALLTOALLW,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    REDUCE_LOCAL,
    KINDS
};

/* Part i of a buffer: sent to or received from `peer`; label distinguishes edges between the same
 * two ranks. */
struct part {
    const struct layout *layout;
    int peer, label, count;
    ptrdiff_t place;
};

struct parts {
    struct image image;
    int n;
    struct part part[PARTS_MAX];
    /* as the calls take them */
    int counts[PARTS_MAX], displs[PARTS_MAX];
    MPI_Count wide_counts[PARTS_MAX];
    MPI_Aint wide_displs[PARTS_MAX];
    MPI_Datatype types[PARTS_MAX];
};

struct number;
struct operation;

struct task {
    enum kind kind;
    enum form form;
    bool in_place, regular;
    MPI_Comm comm;
    bool own_comm;
    int rank, size, root;
    uint64_t salt;     /* alike at all ranks of comm */
    uint64_t contents; /* salt of this start */
    int blocks_max;
    struct signature signature;
    struct layout layouts[4]; /* two for each direction; a reduction uses the first */
    struct parts out, in;
    int counts[RANKS_MAX]; /* of a reduction: elements, for each rank */
    const struct number *number;
    const struct operation *operation;
    MPI_Request request;
};

/*
 * Draws what the kind needs from task->salt. fill() sets buffers and what is expected of them for
 * one start, call() makes the call of the form, a persistent one that is to be started yet; wipe()
 * takes out of the buffers what the standard leaves open.
 */
struct task_ops {
    void (*draw)(struct task *task, struct chance *chance);
    void (*fill)(struct task *task);
    void (*call)(struct task *task);
    void (*wipe)(struct task *task);
    void (*end)(struct task *task);
};

extern const struct task_ops move_ops, reduce_ops;

/* Once per program: operations of the user, datatypes without a name. */
void reduce_begin(void);
void reduce_end(void);

/* A call in all its forms; the argument lists in parentheses differ in arrays only. */
#define LIST(...) __VA_ARGS__
#define CALL(task, Name, name, narrow, wide)                                                       \
    switch ((task)->form) {                                                                        \
    case BLOCKING:                                                                                 \
        MPI_##Name(LIST narrow);                                                                   \
        break;                                                                                     \
    case LATER:                                                                                    \
        MPI_I##name(LIST narrow, &(task)->request);                                                \
        break;                                                                                     \
    case PERSISTENT:                                                                               \
        MPI_##Name##_init(LIST narrow, MPI_INFO_NULL, &(task)->request);                           \
        break;                                                                                     \
    case BLOCKING_C:                                                                               \
        MPI_##Name##_c(LIST wide);                                                                 \
        break;                                                                                     \
    case LATER_C:                                                                                  \
        MPI_I##name##_c(LIST wide, &(task)->request);                                              \
        break;                                                                                     \
    default:                                                                                       \
        MPI_##Name##_init_c(LIST wide, MPI_INFO_NULL, &(task)->request);                           \
    }
#define CALL_SAME(task, Name, name, list) CALL(task, Name, name, list, list)

#endif
