/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs at random, right by construction (README.md). Every process draws the same program from
 * the same seed, and plays its own part of it. Only what the MPI standard has is used, so the same
 * source is a program of any MPI.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Numbers ---- */

struct dice {
    uint64_t state;
};
uint64_t mix(uint64_t a, uint64_t b); /* one number of two */
uint64_t roll(struct dice *dice);
uint32_t below(struct dice *dice, uint32_t n); /* 0 to n - 1 */
uint32_t between(struct dice *dice, uint32_t low, uint32_t high);
bool chance(struct dice *dice, uint32_t percent);
uint32_t size_at_random(struct dice *dice); /* of a message, in elements: 0 to 200,000 */

/* ---- Buffers of any datatype ---- */

/* A buffer of `units` elements of a datatype at random, each of `leaves` basic ones. Both blocks
 * have a pattern where no element is. */
struct side {
    MPI_Datatype type;
    bool made, sent;  /* made: the type is to be freed */
    long *place;      /* of each basic element of a unit, in the order of the type map */
    long extent, low; /* low: of the lowest byte of all units, from `at` */
    uint32_t leaves, units;
    uint32_t leaf_bytes;
    void *at;                    /* what MPI is given */
    unsigned char *block, *want; /* what is there, and what must be there in the end */
    size_t bytes;
};

/* All of one program's messages have elements of one of these. */
enum { LEAVES = 7 };
MPI_Datatype leaf_type(uint32_t leaf);

/* Room for `elements` basic elements or more, in units that divide `block`. */
void side_make(struct side *side, struct dice *dice, uint32_t leaf, uint64_t elements,
               uint64_t block);
/* The basic elements from number `from` on are, or must become, these: those of a message of
 * `seed`, from its number `first` on. */
void side_expect(struct side *side, uint64_t from, uint64_t n, uint64_t seed, uint64_t first);
void side_expect_bytes(struct side *side, uint64_t element, const void *value);
void side_send(struct side *side); /* what is expected is there already */
/* Other bytes are sent, once; then all is as it was before: in between MPI may send or receive. */
void side_scrub(struct side *side, unsigned char byte);
void side_restore(struct side *side);
/* Frees it. NULL: all bytes are as they must be; else in words what is not. */
const char *side_end(struct side *side, char *text, size_t max);

/* ---- A player: one thread of one process, with communicators of its own ---- */

enum { SLOTS = 6, BUFFER_BYTES = 32 << 20 };

/* Edges between ranks, and how they were told to MPI. */
enum graph_kind { GRAPH, ADJACENT, ANYWHERE, GRAPH_KINDS };
struct graph {
    enum graph_kind kind;
    int n, *from, *to;
    bool weighted;
    uint64_t seed; /* of the weights */
};

struct graph *graph_new(int edges);
struct graph *graph_copy(const struct graph *graph);
void graph_free(struct graph *graph);

/* A communicator, as all processes know it. */
struct slot {
    bool there;
    int n, *member; /* ranks in the player's world */
    int me;         /* my rank; below 0: I am not in it */
    MPI_Comm comm;
    int dims, dim[3], periodic[3]; /* of a grid; dims 0: it is none */
    struct graph *graph;           /* NULL: none */
};

/* In a grid: the rank that is `by` away in dimension d; MPI_PROC_NULL: none. */
int grid_neighbour(const struct slot *slot, int d, int by);

/* What was started and is to be completed; then it is checked, and all of it is freed. */
struct pending {
    int op;
    MPI_Request request;
    bool persistent;
    struct side *side[2];                                            /* NULL: none */
    void (*over)(struct pending *pending, const MPI_Status *status); /* NULL: nothing more */
    int source, tag;                                                 /* what the status must say */
    uint64_t elements;
    const uint32_t *word[2]; /* [n_words], equal in the end */
    uint32_t n_words;
    void *more, *list;
};

struct player {
    uint64_t seed, named; /* named: by which the program is run again */
    int op;               /* now */
    int n, me;
    struct slot slot[SLOTS];
    struct pending *pending;
    int n_pending, room;
    const char *folder, *program; /* program: what is spawned */
    const char *only;             /* the numbers of the operations to play; NULL: all */
    const char *without; /* names of operations that do nothing where they are drawn; NULL: none */
    int operations, spoil; /* spoil: rank 0 expects something else in this one */
    bool list;
    int lazy;        /* percent: how seldom something is completed */
    size_t buffered; /* bytes of buffered sends so far */
};

/* Ends the job. */
void wrong(int op, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A slot for a new communicator; NULL: all are taken. */
struct slot *free_slot(struct player *player);
/* The new one has all members of the old one. */
void fill_with_all(struct player *player, struct slot *new, const struct slot *old, MPI_Comm comm);

struct pending *begin(struct player *player); /* a new one */
struct side *side_new(void);
void complete_some(struct player *player, struct dice *dice);
void complete_all(struct player *player);
bool is_wanted(const char *only, int op); /* is it one of `A,B-C,...`? */
void play(struct player *player);         /* the whole program */

/* ---- Messages ---- */

/* From this one on, tags are those of one operation: TAGS_OF_AN_OPERATION to each. */
enum { OWN_TAGS = 2000, TAGS_OF_AN_OPERATION = 8 };

/* What a message is; each of the two draws what is its own from other dice. */
struct message {
    int from, to, tag;
    uint32_t leaf;
    uint64_t elements, seed;
    struct dice sender, receiver;
};

struct message draw_message(struct player *player, struct dice *dice, const struct slot *slot);
struct side *sent_side(struct message *message);
/* A receive that is to be started; the status must be this message's. */
struct pending *begin_receive(struct player *player, struct message *message);
void check_message(struct pending *pending, const MPI_Status *status);
/* Its part of the sender, of the receiver; `blocks`: also by calls that wait for the other one. */
void send_message(struct player *player, struct message *message, struct slot *slot, bool blocks);
void receive_message(struct player *player, struct message *message, struct slot *slot,
                     bool blocks);

/* ---- Intercommunicators ---- */

/* Some collectives and messages between processes 0 to half - 1 of `both` and the others of it; its
 * communicator is the one between them. */
void play_between(struct player *player, struct dice *dice, struct slot *both, int half);

/* What a spawned process does; `words`: what it was told. */
void play_child(struct player *player, const char *words);

/* ---- Operations: each is played by all, and does nothing in those that have no part in it ---- */

typedef void operation(struct player *player, struct dice *dice, struct slot *slot);
operation play_message, play_burst, play_exchange, play_ready, play_partitioned, play_persistent;
operation play_null, play_shift, play_cancel, play_cancel_again, play_cancel_race;
operation play_bcast, play_gather, play_scatter, play_allgather, play_alltoall, play_alltoallw;
operation play_reduce, play_scan, play_reduce_scatter, play_barrier, play_neighbours;
operation play_dup, play_split, play_group, play_grid, play_graph, play_free;
operation play_window, play_locks, play_counter, play_file, play_attribute, play_error,
    play_generalised, play_merge, play_intercomm, play_spawn, play_session;

#endif
