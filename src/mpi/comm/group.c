/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups as objects, and the calls on them: translation of ranks, union, intersection and
 * difference, include and exclude.
 */
#include "mpi/comm/group.h"

#include "mpi/engine/waiting.h"

#include <stdlib.h>
#include <string.h>

static struct rz_group *empty;

static struct rz_group *group_alloc(int n)
{
    struct rz_group *group = malloc(sizeof(*group) + (size_t)n * sizeof(group->process[0]));
    if (group) {
        rz_object_init(&group->object, RZ_OBJECT_GROUP, 0);
        group->size = n;
        group->session = 0;
        group->rows = 0;
    }
    return group;
}

/* Completes a group after process[] was filled. */
static struct rz_group *group_seal(struct rz_group *group)
{
    group->rank = rz_group_find(group, rz_engine.self);
    return group;
}

struct rz_group *rz_group_new(int n, const uint32_t *process)
{
    struct rz_group *group = group_alloc(n);
    if (!group) {
        return NULL;
    }
    memcpy(group->process, process, (size_t)n * sizeof(*process));
    return group_seal(group);
}

int rz_group_find(const struct rz_group *group, uint32_t process)
{
    for (int i = 0; i < group->size; i++) {
        if (group->process[i] == process) {
            return i;
        }
    }
    return MPI_UNDEFINED;
}

void rz_group_retain(struct rz_group *group)
{
    rz_object_retain(&group->object);
}

void rz_group_release(struct rz_group *group)
{
    if (rz_object_release(&group->object)) {
        rz_object_retire(&group->object,
                         sizeof(*group) + (size_t)group->size * sizeof(group->process[0]));
    }
}

struct rz_group *rz_group_predefined(unsigned handle)
{
    if (handle != 0x109) {
        return NULL;
    }
    if (!empty && (empty = group_alloc(0)) != NULL) {
        empty->object.predefined = 0x109;
        empty->rank = MPI_UNDEFINED;
    }
    return empty;
}

void rz_group_forget_empty(void)
{
    free(empty);
    empty = NULL;
}

/* Returns MPI_GROUP_EMPTY itself for an empty result. from: the group that it was made of. */
static int group_result(const struct rz_group *from, struct rz_group *made,
                        struct rz_group **newgroup)
{
    if (!made) {
        return MPI_ERR_NO_MEM;
    }
    made->session = from->session;
    if (made->size == 0) {
        rz_group_release(made);
        made = rz_group_predefined(0x109);
        rz_group_retain(made);
    } else {
        group_seal(made);
    }
    *newgroup = made;
    return MPI_SUCCESS;
}

/* ---- Inquiries ---- */

int rz_group_rank(const struct rz_group *group)
{
    return group->rank;
}

int rzm_group_size(struct rz_group *group, int *size)
{
    *size = group->size;
    return MPI_SUCCESS;
}

int rzm_group_rank(struct rz_group *group, int *rank)
{
    *rank = group->rank;
    return MPI_SUCCESS;
}

/* The rank of each process in a group: a hash table by process number, at most half full. */
struct positions {
    uint32_t mask;
    struct place {
        uint32_t process;
        int rank; /* MPI_UNDEFINED: an empty place */
    } place[];
};

static struct place *place_of(struct positions *positions, uint32_t process)
{
    /* Neighbours in a group are neighbours in the table; two incarnations of a slot are not. */
    uint32_t at = (process ^ (process >> RZ_SLOT_BITS) * UINT32_C(0x9e3779b1)) & positions->mask;
    while (positions->place[at].rank != MPI_UNDEFINED && positions->place[at].process != process) {
        at = (at + 1) & positions->mask;
    }
    return &positions->place[at];
}

/* The caller frees it. NULL: no memory. */
static struct positions *positions_new(const struct rz_group *group)
{
    uint32_t n = 2;
    while (n < 2 * (uint32_t)group->size) {
        n *= 2;
    }
    struct positions *positions = malloc(sizeof(*positions) + n * sizeof(positions->place[0]));
    if (!positions) {
        return NULL;
    }
    positions->mask = n - 1;
    for (uint32_t i = 0; i < n; i++) {
        positions->place[i].rank = MPI_UNDEFINED;
    }
    for (int i = 0; i < group->size; i++) {
        *place_of(positions, group->process[i]) = (struct place){group->process[i], i};
    }
    return positions;
}

/* MPI_UNDEFINED: not in that group. */
static int position(struct positions *positions, uint32_t process)
{
    return place_of(positions, process)->rank;
}

int rzm_group_compare(struct rz_group *group1, struct rz_group *group2, int *result)
{
    *result = MPI_UNEQUAL;
    if (group1->size != group2->size) {
        return MPI_SUCCESS;
    }
    size_t bytes = (size_t)group1->size * sizeof(group1->process[0]);
    if (memcmp(group1->process, group2->process, bytes) == 0) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    struct positions *positions = positions_new(group2);
    if (!positions) {
        return MPI_ERR_NO_MEM;
    }
    *result = MPI_SIMILAR;
    for (int i = 0; i < group1->size; i++) {
        if (position(positions, group1->process[i]) == MPI_UNDEFINED) {
            *result = MPI_UNEQUAL;
        }
    }
    free(positions);
    return MPI_SUCCESS;
}

int rzm_group_translate_ranks(struct rz_group *group1, int n, const int ranks1[],
                              struct rz_group *group2, int ranks2[])
{
    for (int i = 0; i < n; i++) {
        if (ranks1[i] != MPI_PROC_NULL && (ranks1[i] < 0 || ranks1[i] >= group1->size)) {
            return rzm_error(MPI_ERR_RANK, "ranks1[%d] is %d, not in 0..%d", i, ranks1[i],
                             group1->size - 1);
        }
    }
    struct positions *positions = positions_new(group2);
    if (!positions) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        ranks2[i] = ranks1[i] == MPI_PROC_NULL ? MPI_PROC_NULL
                                               : position(positions, group1->process[ranks1[i]]);
    }
    free(positions);
    return MPI_SUCCESS;
}

/* ---- Making groups ---- */

/* Selects from group1, in order: all processes if `all`, otherwise those that are in group2
 * (wanted) or are not (!wanted). With `more`, appends the processes of group2 that are not in
 * group1. */
static int combine(struct rz_group *group1, struct rz_group *group2, bool all, bool wanted,
                   bool more, struct rz_group **newgroup)
{
    struct positions *in1 = positions_new(group1), *in2 = positions_new(group2);
    struct rz_group *made = group_alloc(group1->size + group2->size);
    if (!in1 || !in2 || !made) {
        free(in1);
        free(in2);
        free(made);
        return MPI_ERR_NO_MEM;
    }
    made->size = 0;
    for (int i = 0; i < group1->size; i++) {
        bool common = position(in2, group1->process[i]) != MPI_UNDEFINED;
        if (all || common == wanted) {
            made->process[made->size++] = group1->process[i];
        }
    }
    for (int i = 0; more && i < group2->size; i++) {
        if (position(in1, group2->process[i]) == MPI_UNDEFINED) {
            made->process[made->size++] = group2->process[i];
        }
    }
    free(in1);
    free(in2);
    return group_result(group1, made, newgroup);
}

int rzm_group_union(struct rz_group *group1, struct rz_group *group2, struct rz_group **newgroup)
{
    return combine(group1, group2, true, true, true, newgroup);
}

int rzm_group_intersection(struct rz_group *group1, struct rz_group *group2,
                           struct rz_group **newgroup)
{
    return combine(group1, group2, false, true, false, newgroup);
}

int rzm_group_difference(struct rz_group *group1, struct rz_group *group2,
                         struct rz_group **newgroup)
{
    return combine(group1, group2, false, false, false, newgroup);
}

/* Sets a flag for each of ranks, in an array with one flag per rank of group; the error of the
 * first rank that is out of bounds or listed twice. */
static int mark_ranks(const struct rz_group *group, const char *name, int n, const int ranks[],
                      bool **marks)
{
    bool *marked = calloc((size_t)group->size + 1, sizeof(*marked));
    if (!marked) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size || marked[ranks[i]]) {
            bool twice = ranks[i] >= 0 && ranks[i] < group->size;
            free(marked);
            return twice ? rzm_error(MPI_ERR_RANK, "%s: rank %d is named twice", name, ranks[i])
                         : rzm_error(MPI_ERR_RANK, "%s: rank %d is not in 0..%d", name, ranks[i],
                                     group->size - 1);
        }
        marked[ranks[i]] = true;
    }
    *marks = marked;
    return MPI_SUCCESS;
}

/* name: of the argument with the ranks. */
static int include(struct rz_group *group, const char *name, int n, const int ranks[],
                   struct rz_group **newgroup)
{
    bool *marks = NULL;
    int error = mark_ranks(group, name, n, ranks, &marks);
    if (error != MPI_SUCCESS) {
        return error;
    }
    free(marks);
    struct rz_group *made = group_alloc(n);
    for (int i = 0; made && i < n; i++) {
        made->process[i] = group->process[ranks[i]];
    }
    return group_result(group, made, newgroup);
}

int rzm_group_incl(struct rz_group *group, int n, const int ranks[], struct rz_group **newgroup)
{
    return include(group, "ranks", n, ranks, newgroup);
}

static int exclude(struct rz_group *group, const char *name, int n, const int ranks[],
                   struct rz_group **newgroup)
{
    bool *marks = NULL;
    int error = mark_ranks(group, name, n, ranks, &marks);
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct rz_group *made = group_alloc(group->size - n);
    for (int i = 0, at = 0; made && i < group->size; i++) {
        if (!marks[i]) {
            made->process[at++] = group->process[i];
        }
    }
    free(marks);
    return group_result(group, made, newgroup);
}

int rzm_group_excl(struct rz_group *group, int n, const int ranks[], struct rz_group **newgroup)
{
    return exclude(group, "ranks", n, ranks, newgroup);
}

/* The ranks of n triplets (first, last, stride), one by one; the caller frees them. */
static int expand(const struct rz_group *group, int n, int ranges[][3], int **ranks, int *count)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0) {
            return rzm_error(MPI_ERR_ARG, "the stride of ranges[%d] is 0", i);
        }
        int64_t steps = (last - first) / stride;
        total += (last - first) * stride >= 0 ? steps + 1 : 0;
    }
    if (total > group->size) {
        return rzm_error(MPI_ERR_RANK, "ranges names %lld ranks of a group of %d", (long long)total,
                         group->size);
    }
    int *list = malloc((size_t)(total + 1) * sizeof(*list));
    if (!list) {
        return MPI_ERR_NO_MEM;
    }
    *count = 0;
    for (int i = 0; i < n; i++) {
        int64_t first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        for (int64_t r = first; stride > 0 ? r <= last : r >= last; r += stride) {
            list[(*count)++] = (int)r;
        }
    }
    *ranks = list;
    return MPI_SUCCESS;
}

int rzm_group_range_incl(struct rz_group *group, int n, int ranges[][3], struct rz_group **newgroup)
{
    int *ranks = NULL, count = 0;
    int error = expand(group, n, ranges, &ranks, &count);
    if (error == MPI_SUCCESS) {
        error = include(group, "ranges", count, ranks, newgroup);
    }
    free(ranks);
    return error;
}

int rzm_group_range_excl(struct rz_group *group, int n, int ranges[][3], struct rz_group **newgroup)
{
    int *ranks = NULL, count = 0;
    int error = expand(group, n, ranges, &ranks, &count);
    if (error == MPI_SUCCESS) {
        error = exclude(group, "ranges", count, ranks, newgroup);
    }
    free(ranks);
    return error;
}

int rzm_group_free(struct rz_group *group)
{
    rz_group_release(group);
    return MPI_SUCCESS;
}
