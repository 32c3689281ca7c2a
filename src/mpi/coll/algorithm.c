/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of algorithms, the built-in rules, and those of RZ_COLL.
 */
#include "mpi/coll/algorithm.h"

#include "mpi/comm/comm_hints.h"
#include "mpi/comm/places.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The table ---- */

static const char *const operation_names[RZ_COLL_OPERATIONS] = {
    [RZ_COLL_BARRIER] = "barrier",
    [RZ_COLL_BCAST] = "bcast",
    [RZ_COLL_ALLGATHER] = "allgather",
    [RZ_COLL_ALLTOALL] = "alltoall",
    [RZ_COLL_REDUCE] = "reduce",
    [RZ_COLL_ALLREDUCE] = "allreduce",
    [RZ_COLL_REDUCE_SCATTER] = "reduce_scatter",
};

static const char *const algorithm_names[RZ_COLL_ALGORITHMS] = {
    [RZ_COLL_TREE] = "tree",
    [RZ_COLL_FLAT] = "flat",
    [RZ_COLL_DISSEMINATION] = "dissemination",
    [RZ_COLL_DOUBLING] = "doubling",
    [RZ_COLL_DIRECT] = "direct",
    [RZ_COLL_HALVING] = "halving",
    [RZ_COLL_RING] = "ring",
    [RZ_COLL_BRUCK] = "bruck",
    [RZ_COLL_CHAIN] = "chain",
    [RZ_COLL_SCATTER] = "scatter",
    [RZ_COLL_CELLS] = "cells",
    [RZ_COLL_LEADERS] = "leaders",
};

#define ALWAYS (1 << 30) /* an algorithm of the operation that needs nothing */

/* The traits that an algorithm of an operation needs; 0: it is none of that operation. */
static const unsigned needs[RZ_COLL_OPERATIONS][RZ_COLL_ALGORITHMS] = {
    [RZ_COLL_BARRIER] = {[RZ_COLL_TREE] = ALWAYS,
                         [RZ_COLL_FLAT] = ALWAYS,
                         [RZ_COLL_DISSEMINATION] = ALWAYS,
                         [RZ_COLL_CELLS] = RZ_COLL_CELLED,
                         [RZ_COLL_LEADERS] = RZ_COLL_NODES},
    [RZ_COLL_BCAST] = {[RZ_COLL_TREE] = ALWAYS,
                       [RZ_COLL_FLAT] = ALWAYS,
                       [RZ_COLL_CHAIN] = ALWAYS,
                       [RZ_COLL_SCATTER] = RZ_COLL_ELEMENTS,
                       [RZ_COLL_LEADERS] = RZ_COLL_NODES},
    [RZ_COLL_ALLGATHER] = {[RZ_COLL_TREE] = ALWAYS,
                           [RZ_COLL_FLAT] = ALWAYS,
                           [RZ_COLL_DIRECT] = ALWAYS,
                           [RZ_COLL_RING] = ALWAYS,
                           [RZ_COLL_BRUCK] = ALWAYS,
                           [RZ_COLL_CELLS] = RZ_COLL_CELLED,
                           [RZ_COLL_LEADERS] = RZ_COLL_NODES},
    [RZ_COLL_ALLTOALL] = {[RZ_COLL_DIRECT] = ALWAYS,
                          [RZ_COLL_FLAT] = RZ_COLL_REGULAR,
                          [RZ_COLL_BRUCK] = RZ_COLL_REGULAR,
                          [RZ_COLL_CELLS] = RZ_COLL_CELLED,
                          [RZ_COLL_LEADERS] = RZ_COLL_NODES | RZ_COLL_REGULAR},
    [RZ_COLL_REDUCE] = {[RZ_COLL_TREE] = ALWAYS,
                        [RZ_COLL_FLAT] = RZ_COLL_ROW,
                        [RZ_COLL_DIRECT] = RZ_COLL_ELEMENTS | RZ_COLL_ROW,
                        [RZ_COLL_LEADERS] = RZ_COLL_NODE_VALUES},
    [RZ_COLL_ALLREDUCE] = {[RZ_COLL_TREE] = ALWAYS,
                           [RZ_COLL_FLAT] = RZ_COLL_ROW,
                           [RZ_COLL_DOUBLING] = ALWAYS,
                           [RZ_COLL_DIRECT] = RZ_COLL_ELEMENTS | RZ_COLL_ROW,
                           [RZ_COLL_HALVING] = RZ_COLL_ELEMENTS | RZ_COLL_ROW | RZ_COLL_POWER,
                           [RZ_COLL_RING] =
                               RZ_COLL_ELEMENTS | RZ_COLL_ROW | RZ_COLL_COMMUTES | RZ_COLL_LOOSE,
                           [RZ_COLL_CELLS] = RZ_COLL_CELLED | RZ_COLL_ROW,
                           [RZ_COLL_LEADERS] = RZ_COLL_NODE_VALUES},
    [RZ_COLL_REDUCE_SCATTER] =
        {[RZ_COLL_TREE] = ALWAYS, [RZ_COLL_DIRECT] = RZ_COLL_ELEMENTS | RZ_COLL_ROW},
};

const char *rz_coll_operation_name(enum rz_coll_operation operation)
{
    return operation < RZ_COLL_OPERATIONS ? operation_names[operation] : NULL;
}

const char *rz_coll_algorithm_name(enum rz_coll_operation operation,
                                   enum rz_coll_algorithm algorithm)
{
    return operation < RZ_COLL_OPERATIONS && algorithm < RZ_COLL_ALGORITHMS &&
                   needs[operation][algorithm]
               ? algorithm_names[algorithm]
               : NULL;
}

/* ---- Rules ---- */

struct rule {
    enum rz_coll_algorithm algorithm;
    MPI_Count bytes_min;
    MPI_Count part_min; /* of the length, for each rank; 0: any */
    int ranks_min;
    unsigned where; /* traits that it asks for besides what the algorithm needs */
};

#define RULES_MAX 15

/* By measurement (`rzbench tune`, docs/collectives.md); leaders where ranks do not outnumber
 * processors, and long vectors there, by the number of messages and bytes between nodes
 * (docs/decisions/0033-leaders-per-node.md). */
static const struct rule built_in[RZ_COLL_OPERATIONS][RULES_MAX] = {
    [RZ_COLL_BARRIER] =
        {{.algorithm = RZ_COLL_DISSEMINATION, .ranks_min = 1},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_FLAT, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_CELLS, .ranks_min = 2},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1}},
    [RZ_COLL_BCAST] = {{.algorithm = RZ_COLL_TREE, .ranks_min = 1},
                       {.algorithm = RZ_COLL_FLAT,
                        .ranks_min = 3,
                        .where = RZ_COLL_OVERSUBSCRIBED_NODE},
                       {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1}},
    [RZ_COLL_ALLGATHER] =
        {{.algorithm = RZ_COLL_BRUCK, .ranks_min = 1},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 1, .bytes_min = 32769},
         {.algorithm = RZ_COLL_FLAT, .ranks_min = 16, .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_DIRECT,
          .ranks_min = 16,
          .part_min = 8192,
          .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1, .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_RING, .ranks_min = 1, .part_min = 131072, .where = RZ_COLL_NODES},
         {.algorithm = RZ_COLL_CELLS, .ranks_min = 2}},
    [RZ_COLL_ALLTOALL] = {{.algorithm = RZ_COLL_DIRECT, .ranks_min = 1},
                          {.algorithm = RZ_COLL_FLAT,
                           .ranks_min = 12,
                           .where = RZ_COLL_OVERSUBSCRIBED_NODE},
                          {.algorithm = RZ_COLL_DIRECT, .ranks_min = 32, .bytes_min = 257},
                          {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1},
                          {.algorithm = RZ_COLL_DIRECT, .ranks_min = 1, .bytes_min = 513},
                          {.algorithm = RZ_COLL_FLAT,
                           .ranks_min = 64,
                           .bytes_min = 257,
                           .where = RZ_COLL_OVERSUBSCRIBED_NODE},
                          {.algorithm = RZ_COLL_DIRECT, .ranks_min = 64, .bytes_min = 2049},
                          {.algorithm = RZ_COLL_CELLS, .ranks_min = 2}},
    [RZ_COLL_REDUCE] =
        {{.algorithm = RZ_COLL_TREE, .ranks_min = 1},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1, .where = RZ_COLL_COMMUTES | RZ_COLL_LOOSE},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 1, .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 8, .part_min = 8192},
         {.algorithm = RZ_COLL_TREE,
          .ranks_min = 64,
          .part_min = 8192,
          .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 1, .part_min = 8192, .where = RZ_COLL_NODES},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1, .part_min = 8192},
         {.algorithm = RZ_COLL_TREE,
          .ranks_min = 1,
          .part_min = 8192,
          .where = RZ_COLL_OVERSUBSCRIBED | RZ_COLL_NODES}},
    [RZ_COLL_ALLREDUCE] =
        {{.algorithm = RZ_COLL_DOUBLING, .ranks_min = 1},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_FLAT, .ranks_min = 3, .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1},
         {.algorithm = RZ_COLL_TREE,
          .ranks_min = 3,
          .bytes_min = 32769,
          .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 2, .part_min = 8192},
         {.algorithm = RZ_COLL_FLAT,
          .ranks_min = 3,
          .part_min = 8193,
          .where = RZ_COLL_OVERSUBSCRIBED_NODE},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 2, .part_min = 24576},
         {.algorithm = RZ_COLL_DIRECT, .ranks_min = 12, .part_min = 8192},
         {.algorithm = RZ_COLL_TREE,
          .ranks_min = 64,
          .part_min = 8192,
          .where = RZ_COLL_OVERSUBSCRIBED},
         {.algorithm = RZ_COLL_TREE, .ranks_min = 1, .part_min = 8192, .where = RZ_COLL_NODES},
         {.algorithm = RZ_COLL_LEADERS, .ranks_min = 1, .part_min = 8192},
         {.algorithm = RZ_COLL_HALVING, .ranks_min = 1, .part_min = 8192, .where = RZ_COLL_NODES},
         {.algorithm = RZ_COLL_TREE,
          .ranks_min = 1,
          .part_min = 8192,
          .where = RZ_COLL_OVERSUBSCRIBED | RZ_COLL_NODES},
         {.algorithm = RZ_COLL_CELLS, .ranks_min = 2}},
    [RZ_COLL_REDUCE_SCATTER] = {{.algorithm = RZ_COLL_TREE, .ranks_min = 1},
                                {.algorithm = RZ_COLL_DIRECT, .ranks_min = 2, .part_min = 8192}},
};

/* A rule of RZ_COLL. */
struct own_rule {
    enum rz_coll_operation operation;
    struct rule rule;
};

struct own_rules {
    struct own_rule *rule;
    size_t n;
    char *text;
};

/* Those of the environment, or with which MPIX_Reinit was entered; and those written by MPI_T. */
static struct own_rules lasting, written;
static const struct own_rules *in_force = &lasting;

static bool applies(const struct rule *rule, unsigned needed, MPI_Count bytes, int ranks,
                    unsigned traits)
{
    needed = (needed | rule->where) & ~(unsigned)ALWAYS;
    return ranks >= rule->ranks_min && bytes >= rule->bytes_min &&
           bytes >= rule->part_min * ranks && (needed & ~traits) == 0;
}

static unsigned traits_of_comm(struct rz_comm *comm)
{
    int ranks = comm->group->size;
    enum rz_oversubscribed oversubscribed = rz_comm_oversubscribed(comm);
    enum rz_grouping grouping = rz_comm_grouping(comm);
    bool loose = rz_comm_hint(rz_comm_whole(comm), RZ_HINT_REPRODUCIBLE);
    return ((ranks & (ranks - 1)) == 0 ? (unsigned)RZ_COLL_POWER : 0U) |
           (loose ? (unsigned)RZ_COLL_LOOSE : 0U) |
           (oversubscribed != RZ_OVERSUBSCRIBED_NONE ? (unsigned)RZ_COLL_OVERSUBSCRIBED : 0U) |
           (oversubscribed == RZ_OVERSUBSCRIBED_NODE ? (unsigned)RZ_COLL_OVERSUBSCRIBED_NODE : 0U) |
           (grouping >= RZ_GROUPING_NODES ? (unsigned)RZ_COLL_NODES : 0U) |
           (grouping >= RZ_GROUPING_BLOCKS ? (unsigned)RZ_COLL_BLOCKS : 0U);
}

/* Those of the operation and of the communicator, and what follows from both. */
static unsigned all_traits(unsigned traits)
{
    const unsigned any_order = RZ_COLL_COMMUTES | RZ_COLL_LOOSE;
    bool values = (traits & any_order) == any_order || (traits & RZ_COLL_BLOCKS);
    return traits | (values && (traits & RZ_COLL_NODES) ? (unsigned)RZ_COLL_NODE_VALUES : 0U);
}

static enum rz_coll_algorithm by_rules(enum rz_coll_operation operation, MPI_Count bytes, int ranks,
                                       unsigned traits)
{
    for (size_t i = in_force->n; i-- > 0;) {
        const struct rule *rule = &in_force->rule[i].rule;
        if (in_force->rule[i].operation == operation &&
            applies(rule, needs[operation][rule->algorithm], bytes, ranks, traits)) {
            return rule->algorithm;
        }
    }
    for (size_t i = RULES_MAX; i-- > 0;) {
        const struct rule *rule = &built_in[operation][i];
        if (rule->ranks_min > 0 &&
            applies(rule, needs[operation][rule->algorithm], bytes, ranks, traits)) {
            return rule->algorithm;
        }
    }
    return RZ_COLL_TREE; /* not reached: the first rule of each row always applies */
}

struct rz_coll_choice rz_coll_last[RZ_COLL_OPERATIONS];

/* The same for all communicators of as many ranks that are alike: a program may use several in
 * turn. */
static struct choice {
    MPI_Count bytes;
    int ranks; /* 0: none yet */
    unsigned traits;
    enum rz_coll_algorithm algorithm;
} last_choice[RZ_COLL_OPERATIONS];

static enum rz_coll_algorithm choose(enum rz_coll_operation operation, MPI_Count bytes, int ranks,
                                     unsigned traits)
{
    struct choice *last = &last_choice[operation];
    if (last->bytes != bytes || last->ranks != ranks || last->traits != traits) {
        *last = (struct choice){.bytes = bytes,
                                .ranks = ranks,
                                .traits = traits,
                                .algorithm = by_rules(operation, bytes, ranks, traits)};
    }
    return last->algorithm;
}

static void put_in_force(const struct own_rules *rules)
{
    in_force = rules;
    memset(last_choice, 0, sizeof(last_choice));
    memset(rz_coll_last, 0, sizeof(rz_coll_last));
}

uint64_t rz_coll_chosen[RZ_COLL_ALGORITHMS];

enum rz_coll_algorithm rz_coll_choose_anew(struct rz_comm *comm, enum rz_coll_operation operation,
                                           MPI_Count bytes, unsigned traits)
{
    enum rz_coll_algorithm algorithm =
        choose(operation, bytes, comm->group->size, all_traits(traits | traits_of_comm(comm)));
    rz_coll_last[operation] = (struct rz_coll_choice){.context = comm->context + 1,
                                                      .bytes = bytes,
                                                      .hints = rz_comm_whole(comm)->hints,
                                                      .traits = traits,
                                                      .algorithm = algorithm};
    return algorithm;
}

enum rz_coll_algorithm rz_coll_choose(struct rz_comm *comm, enum rz_coll_operation operation,
                                      MPI_Count bytes, unsigned traits)
{
    enum rz_coll_algorithm algorithm = rz_coll_would_choose(comm, operation, bytes, traits);
    rz_coll_chosen[algorithm]++;
    return algorithm;
}

/* ---- RZ_COLL ---- */

/* Whether the first n characters are that name. */
static bool is_word(const char *text, size_t n, const char *name)
{
    return name && strlen(name) == n && strncmp(text, name, n) == 0;
}

/* All algorithms of the operation, for a message. */
static const char *algorithms_of(enum rz_coll_operation operation, char *text, size_t bytes)
{
    size_t n = 0;
    for (enum rz_coll_algorithm i = 0; i < RZ_COLL_ALGORITHMS; i++) {
        const char *name = rz_coll_algorithm_name(operation, i);
        if (name && n < bytes) {
            n += (size_t)snprintf(text + n, bytes - n, "%s%s", n ? ", " : "", name);
        }
    }
    return text;
}

/* A number with K, M or G behind it; `end` is set to what follows. -1: it is none. */
static MPI_Count read_size(const char *text, const char **end)
{
    char *rest;
    errno = 0;
    long long value = strtoll(text, &rest, 10);
    const char *unit = strchr("KMG", *rest);
    int shift = *rest != '\0' && unit ? 10 * (int)(unit - "KMG" + 1) : 0;
    *end = shift ? rest + 1 : rest;
    bool bad = rest == text || !isdigit((unsigned char)*text) || errno != 0 ||
               value > (LLONG_MAX >> shift);
    return bad ? -1 : (MPI_Count)value << shift;
}

/* Reads one rule of n characters. */
static int read_rule(const char *text, size_t n, struct own_rule *rule)
{
    char names[256];
    size_t operation = strcspn(text, "=@:");
    const char *word = text + operation + 1;
    *rule = (struct own_rule){.rule.ranks_min = 1};
    while (rule->operation < RZ_COLL_OPERATIONS &&
           !is_word(text, operation, operation_names[rule->operation])) {
        rule->operation++;
    }
    if (operation >= n || text[operation] != '=' || rule->operation == RZ_COLL_OPERATIONS) {
        return rzm_error(MPI_ERR_OTHER,
                         RZ_COLL_ENVIRONMENT ": '%.*s' does not begin with 'OPERATION=', one of "
                                             "barrier, bcast, allgather, alltoall, reduce, "
                                             "allreduce and reduce_scatter",
                         (int)n, text);
    }
    size_t algorithm = strcspn(word, "@");
    algorithm = algorithm < n - operation - 1 ? algorithm : n - operation - 1;
    while (
        rule->rule.algorithm < RZ_COLL_ALGORITHMS &&
        !is_word(word, algorithm, rz_coll_algorithm_name(rule->operation, rule->rule.algorithm))) {
        rule->rule.algorithm++;
    }
    if (rule->rule.algorithm == RZ_COLL_ALGORITHMS) {
        return rzm_error(MPI_ERR_OTHER,
                         RZ_COLL_ENVIRONMENT ": '%.*s' is no algorithm of %s, which has: %s",
                         (int)algorithm, word, operation_names[rule->operation],
                         algorithms_of(rule->operation, names, sizeof(names)));
    }
    const char *at = word + algorithm;
    MPI_Count ranks = 1;
    if (at < text + n) {
        rule->rule.bytes_min = read_size(at + 1, &at);
        ranks = *at == ':' ? read_size(at + 1, &at) : 1;
    }
    rule->rule.ranks_min = ranks > INT_MAX ? INT_MAX : (int)ranks;
    if (rule->rule.bytes_min < 0 || ranks < 1 || at != text + n) {
        return rzm_error(MPI_ERR_OTHER,
                         RZ_COLL_ENVIRONMENT ": '%.*s' does not end with '@BYTES' or "
                                             "'@BYTES:RANKS', such as @64K:4",
                         (int)n, text);
    }
    return MPI_SUCCESS;
}

/* Reads all rules; in a file '#' begins a comment. */
static int read_rules(const char *text, struct own_rules *rules)
{
    size_t most = 1;
    for (const char *at = text; *at != '\0'; at++) {
        most += strchr(", \t\r\n", *at) != NULL;
    }
    rules->rule = malloc(most * sizeof(*rules->rule));
    int error = rules->rule ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    while (error == MPI_SUCCESS && *text != '\0') {
        size_t length = *text == '#' ? strcspn(text, "\n") : strcspn(text, ", \t\r\n#");
        if (*text != '#' && length > 0) {
            error = read_rule(text, length, &rules->rule[rules->n]);
            rules->n++;
        }
        text += length > 0 ? length : 1;
    }
    return error;
}

/* The longest file of rules. */
#define FILE_BYTES_MAX 65536

/* The text of a file, to be freed; NULL: *error says why. */
static char *read_whole(const char *path, int *error)
{
    char *text = malloc(FILE_BYTES_MAX);
    FILE *file = text ? fopen(path, "re") : NULL;
    size_t n = file ? fread(text, 1, FILE_BYTES_MAX, file) : 0;
    *error =
        !text   ? MPI_ERR_NO_MEM
        : !file ? rzm_error(MPI_ERR_OTHER, RZ_COLL_ENVIRONMENT ": the file '%s' cannot be read: %s",
                            path, strerror(errno))
        : ferror(file)
            ? rzm_error(MPI_ERR_OTHER, RZ_COLL_ENVIRONMENT ": the file '%s' cannot be read", path)
        : n == FILE_BYTES_MAX
            ? rzm_error(MPI_ERR_OTHER, RZ_COLL_ENVIRONMENT ": the file '%s' is longer than 64 KiB",
                        path)
            : MPI_SUCCESS;
    if (file) {
        fclose(file);
    }
    if (*error != MPI_SUCCESS) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    return text;
}

static void free_rules(struct own_rules *rules)
{
    free(rules->rule);
    free(rules->text);
    *rules = (struct own_rules){0};
}

/* On an error *rules is empty. */
static int read_text(const char *text, struct own_rules *rules)
{
    int error = MPI_SUCCESS;
    char *whole = *text == '@' ? read_whole(text + 1, &error) : NULL;
    *rules = (struct own_rules){.text = strdup(text)};
    error = error == MPI_SUCCESS && !rules->text ? MPI_ERR_NO_MEM : error;
    error = error != MPI_SUCCESS ? error : read_rules(whole ? whole : text, rules);
    free(whole);
    if (error != MPI_SUCCESS) {
        free_rules(rules);
    }
    return error;
}

int rz_coll_set_rules(const char *text)
{
    struct own_rules rules;
    int error = read_text(text, &rules);
    if (error == MPI_SUCCESS) {
        free_rules(&written);
        written = rules;
        put_in_force(&written);
    }
    return error;
}

const char *rz_coll_rules(void)
{
    const char *of_environment = getenv(RZ_COLL_ENVIRONMENT);
    return in_force->text ? in_force->text : of_environment ? of_environment : "";
}

void rz_coll_keep_rules(void)
{
    if (in_force == &written) {
        free_rules(&lasting);
        lasting = written;
        written = (struct own_rules){0};
        put_in_force(&lasting);
    }
}

static void coll_discard(void)
{
    put_in_force(&lasting);
}

/* A tool may have written rules before. */
static int coll_open(void)
{
    const char *text = getenv(RZ_COLL_ENVIRONMENT);
    free_rules(&lasting);
    put_in_force(in_force); /* those may change: nothing of them is remembered */
    return read_text(text ? text : "", &lasting);
}

static void coll_close(void)
{
    free_rules(&lasting);
    free_rules(&written);
    put_in_force(&lasting);
}

const struct rz_hooks rz_coll_hooks = {
    .open = coll_open, .close = coll_close, .discard = coll_discard};
