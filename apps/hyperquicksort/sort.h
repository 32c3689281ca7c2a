/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HyperQuickSort of virtual processes: what the files of this program share.
 *
 * P = 2^d virtual processes own a list each. Generation 0 of the lists: generated and sorted, each
 * alone. Step s = 1..d: clusters of 2^(d-s+1) lists choose a pivot each, and the lists v and v xor
 * 2^(d-s) exchange the parts beyond it; that is generation s. Each turn decides which real process
 * acts for which virtual one; the input of a step is read from a checkpoint if it is not in memory,
 * so that any process may act for any list.
 */
#ifndef SORT_H
#define SORT_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SORT_VIRTUAL_MAX = 4096 };

enum sort_distribution { SORT_UNIFORM, SORT_FEW, SORT_SORTED, SORT_EQUAL };

struct sort_way;

struct sort_options {
    uint64_t count, seed;
    uint32_t virtuals;   /* P; 0: the least power of two that all processes fit into */
    uint32_t dimensions; /* d */
    enum sort_distribution distribution;
    const struct sort_way *way;
    const char *folder; /* of checkpoints; NULL: in the memory of the machine */
    bool fail_damage, times, progress;
};

extern struct sort_options sort_options;

/* Prints a line and ends the job with status 1. */
_Noreturn void sort_fatal(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* realloc that ends the job instead of returning NULL for more than 0 bytes. */
void *sort_memory(void *old, uint64_t n, size_t size);

/* Seconds of this process; begun: a time. */
struct sort_times {
    double begun, total, sort, exchange, store, turn;
};
extern struct sort_times sort_times;

/* ---- sort_kernel.c: lists, no communication ---- */

struct sort_list {
    uint32_t *at;
    uint64_t n;
};

/* Of a set of elements, whatever their order: number, sum and exclusive or of their hashes. */
struct sort_sum {
    uint64_t n, sum, xor;
};

/* The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
 * OOPSLA 2014). */
uint64_t sort_mix(uint64_t word);

/* The list of v in generation 0, before it is sorted; list: freed before. */
void sort_generate(uint32_t v, struct sort_list *list);
/* The sum of what sort_generate makes, without making it. */
void sort_generate_sum(uint32_t v, struct sort_sum *sum);
void sort_list_sum(const struct sort_list *list, struct sort_sum *sum);
void sort_list_sort(struct sort_list *list);
bool sort_list_is_sorted(const struct sort_list *list);
/* How many elements are not beyond the pivot: those equal to it belong to the lower side. */
uint64_t sort_list_split(const struct sort_list *list, uint32_t pivot);
/* Two sorted runs to one. */
void sort_merge(const uint32_t *a, uint64_t n_a, const uint32_t *b, uint64_t n_b, uint32_t *to);
void sort_list_free(struct sort_list *list);

/* In step s = 1..d: the partner of list v; the first list of its cluster, and how many there are.
 */
uint32_t sort_partner(uint32_t dimensions, uint32_t s, uint32_t v);
uint32_t sort_cluster(uint32_t dimensions, uint32_t s, uint32_t v, uint32_t *size);

/* The process that acts for v among n ranks of which some live: v itself, else the first of its
 * VCube clusters c(v, 1), c(v, 2), ... ; -1: none lives. */
int sort_owner(const bool *lives, int n, uint32_t v);

/* ---- sort_store.c: checkpoints of lists ---- */

/* A list of one generation, made in one round: a process that was excluded meanwhile and writes
 * late uses another round's name. */
struct sort_name {
    uint32_t v, generation;
    uint64_t round;
};

enum sort_read { SORT_READ, SORT_LOST, SORT_DAMAGED };

/* Local. Ends the program where the folder cannot be used. */
void sort_store_open(void);
/* Whether all of comm find what its first rank wrote; errors of comm count as yes, because they
 * occur again. Collective. */
bool sort_store_is_shared(MPI_Comm comm);
/* False: the folder is gone, because the job has ended without us. Other errors end the program. */
bool sort_store_write(const struct sort_name *name, const struct sort_list *list);
/* Reads and checks; why: what was wrong. */
enum sort_read sort_store_read(const struct sort_name *name, struct sort_list *list, char *why,
                               size_t bytes);
/* Writes the copies that a node's failure removed again, where this process has the list. */
void sort_store_keep(const struct sort_name *name, const struct sort_list *list);
/* Removes what is older than a generation, of the lists for which this process acts. */
void sort_store_forget(uint32_t generation, const bool *mine);
/* Flips a byte of each newest file: an experiment. */
void sort_store_damage(void);
/* all: of all lists, because the job is done. */
void sort_store_close(bool all);

/* ---- turns: what each process does next ---- */

/* Steps: 0 generates, 1..d exchange, then the check, then the result. */
struct sort_turn {
    MPI_Comm comm; /* of those that take part; MPI_COMM_NULL: this process does not */
    uint32_t step; /* what must be done now */
    uint64_t made; /* the round in which the step before was completed */
    uint64_t round;
    int rank, size;
    int owner[SORT_VIRTUAL_MAX]; /* ranks in comm */
    bool (*is_over)(void);       /* a process has been excluded, as far as is known here */
};

struct sort_way {
    const char *name;
    MPI_Comm (*open)(void);                          /* the initial processes; collective */
    void (*next)(struct sort_turn *turn, bool done); /* done: the step of the turn is complete */
    int (*close)(bool done); /* the exit status; done: the result exists, as far as is known */
};

uint32_t sort_steps(void); /* the number of the step after the last one */

/* Ends a communicator's calls at all after such an error; other errors end the job. */
void sort_broken(MPI_Comm comm, int error);

extern const struct sort_way sort_group_way, sort_group_leave_way, sort_ulfm_way;

/* ---- sort_step.c ---- */

/* Does the step of the turn; false: it must be repeated, a process is excluded. */
bool sort_step(const struct sort_turn *turn);

/* After the last step: the result is printed once, by the first process of the round that completed
 * it. A round that was repeated has none to show: not all agreed that it completed the step. */
void sort_step_show(const struct sort_turn *turn);
void sort_step_close(void);

/* ---- where processes leave on purpose (leave.h) ---- */

/* The moments of a step. */
enum sort_place {
    SORT_BEGIN,
    SORT_READY, /* the input is there, and all know this */
    SORT_EXCHANGED,
    SORT_WRITING, /* a checkpoint has its bytes, but not its name */
    SORT_WRITTEN,
    SORT_PLACES
};

void sort_leave_at(uint32_t step, enum sort_place place);

#endif
