/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies in the memory of two processes: which exist, which can be completed, and where they are
 * stored. See recovery_buddy.h. */
#include "recovery_buddy.h"

#include "recovery.h"

#ifdef RECOVERY_SURVIVES
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSIONS = 2, TAG_BYTES = 8101, TAG_PART };
enum { PART = 1 << 28 }; /* of a copy, in one message: counts are ints */

/* The owner and the version; 0: nothing, or not complete. */
struct copy {
    uint64_t version;
    int owner;
    size_t bytes, room;
    unsigned char *memory;
};

/* What a process tells all others at a refill. */
struct facts {
    uint64_t own[VERSIONS], held[VERSIONS];
    int owner[VERSIONS], node;
};

static struct {
    struct copy own[VERSIONS], held[VERSIONS];
    int own_now, held_now; /* which of them is valid; the next version is stored in the other */
    uint64_t coming;       /* the version that settle makes valid */
    bool drop;             /* and all others are obsolete */
    int rank, size, buddy, ward;
} b;

static void reserve(struct copy *copy, size_t bytes)
{
    copy->version = 0;
    copy->bytes = bytes;
    recovery_reserve(&copy->memory, &copy->room, bytes);
}

static struct copy *other(struct copy copies[VERSIONS], int now)
{
    return &copies[1 - now];
}

static struct copy *own_of(uint64_t version)
{
    for (int i = 0; i < VERSIONS; i++) {
        if (version > 0 && b.own[i].version == version) {
            return &b.own[i];
        }
    }
    return NULL;
}

/* ---- Messages ---- */

static size_t part_of(size_t bytes, size_t at)
{
    size_t left = at < bytes ? bytes - at : 0;
    return left < PART ? left : PART;
}

/* Sends one copy, and receives another of any size; to and from may be MPI_PROC_NULL. */
static int exchange(const struct copy *out, int to, struct copy *in, int from, MPI_Comm world)
{
    uint64_t mine = to == MPI_PROC_NULL ? 0 : out->bytes, theirs = 0;
    int error = MPI_Sendrecv(&mine, 1, MPI_UINT64_T, to, TAG_BYTES, &theirs, 1, MPI_UINT64_T, from,
                             TAG_BYTES, world, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS && from != MPI_PROC_NULL) {
        reserve(in, (size_t)theirs);
    }
    size_t most = mine > theirs ? mine : theirs;
    for (size_t at = 0; error == MPI_SUCCESS && at < most; at += PART) {
        size_t n = part_of(mine, at), m = part_of(theirs, at);
        error = MPI_Sendrecv(n > 0 ? out->memory + at : NULL, (int)n, MPI_BYTE,
                             n > 0 ? to : MPI_PROC_NULL, TAG_PART, m > 0 ? in->memory + at : NULL,
                             (int)m, MPI_BYTE, m > 0 ? from : MPI_PROC_NULL, TAG_PART, world,
                             MPI_STATUS_IGNORE);
    }
    return error;
}

/* Sends mine to my buddy, and receives that of the process of which I am the buddy. */
static int protect(uint64_t version, MPI_Comm world)
{
    struct copy *held = other(b.held, b.held_now);
    if (b.size == 1) {
        return MPI_SUCCESS;
    }
    held->version = 0;
    int error = exchange(own_of(version), b.buddy, held, b.ward, world);
    if (error == MPI_SUCCESS) {
        held->version = version;
        held->owner = b.ward;
    }
    return error;
}

/* ---- Buddies ---- */

/* A number that all processes of a node have in common: their lowest rank. */
static int node_number(MPI_Comm world, int *node)
{
    MPI_Comm near;
    MPI_Group all, here;
    int first = 0;
    int error = MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, b.rank, MPI_INFO_NULL, &near);
    if (error != MPI_SUCCESS) {
        return error;
    }
    MPI_Comm_group(world, &all);
    MPI_Comm_group(near, &here);
    MPI_Group_translate_ranks(here, 1, &first, all, node);
    MPI_Group_free(&all);
    MPI_Group_free(&here);
    return MPI_Comm_free(&near);
}

/* Ranks in a circle, node by node; the buddy of each is as far ahead as the size of the largest
 * node. So it is on another node, unless one node has more than half of all. */
static void choose_buddies(const struct facts *facts)
{
    int place = 0, mine = 0, longest = 0, n = b.size;
    int *circle = n > 0 ? calloc((size_t)n, sizeof(*circle)) : NULL;
    if (!circle) {
        recovery_fail("no memory for the order of %d ranks", n);
    }
    for (int node = 0; node < n; node++) {
        int begin = place;
        for (int rank = node; rank < n; rank++) { /* a node's number is its lowest rank */
            if (facts[rank].node == node) {
                mine = rank == b.rank ? place : mine;
                circle[place++] = rank;
            }
        }
        longest = place - begin > longest ? place - begin : longest;
    }
    int step = longest < n ? longest : 1;
    b.buddy = circle[(mine + step) % n];
    b.ward = circle[(mine + n - step) % n];
    free(circle);
}

/* ---- What can be restored ---- */

static bool has(const uint64_t versions[VERSIONS], uint64_t version)
{
    return versions[0] == version || versions[1] == version;
}

/* The lowest rank that holds a copy of this version for another one; -1: none. */
static int holder(const struct facts *facts, int owner, uint64_t version)
{
    for (int rank = 0; rank < b.size; rank++) {
        for (int i = 0; i < VERSIONS; i++) {
            if (facts[rank].held[i] == version && facts[rank].owner[i] == owner) {
                return rank;
            }
        }
    }
    return -1;
}

static bool complete(const struct facts *facts, uint64_t version)
{
    for (int rank = 0; rank < b.size; rank++) {
        if (!has(facts[rank].own, version) && holder(facts, rank, version) < 0) {
            return false;
        }
    }
    return true;
}

/* The newest version below a bound that any process has; 0: none. */
static uint64_t newest_below(const struct facts *facts, uint64_t bound)
{
    uint64_t newest = 0;
    for (int rank = 0; rank < b.size; rank++) {
        for (int i = 0; i < VERSIONS; i++) {
            uint64_t own = facts[rank].own[i], held = facts[rank].held[i];
            newest = own < bound && own > newest ? own : newest;
            newest = held < bound && held > newest ? held : newest;
        }
    }
    return newest;
}

static uint64_t newest_complete(const struct facts *facts)
{
    uint64_t version = newest_below(facts, UINT64_MAX);
    bool any = version > 0;
    while (version > 0 && !complete(facts, version)) {
        version = newest_below(facts, version);
    }
    if (any && version == 0 && b.rank == 0) {
        fprintf(stderr, "recovery: both copies of a process's checkpoint are lost with the failed "
                        "processes; all begin again at the beginning\n");
    }
    return version;
}

/* Processes without their copy get it from those that hold it, one after the other, so that each
 * waits only for messages that have been sent. */
static int fetch(const struct facts *facts, uint64_t version, MPI_Comm world)
{
    int error = MPI_SUCCESS;
    for (int rank = 0; rank < b.size && error == MPI_SUCCESS; rank++) {
        if (has(facts[rank].own, version)) {
            continue;
        }
        int from = holder(facts, rank, version);
        if (rank == b.rank) {
            struct copy *own = other(b.own, b.own_now);
            error = exchange(NULL, MPI_PROC_NULL, own, from, world);
            own->version = error == MPI_SUCCESS ? version : 0;
        } else if (from == b.rank) {
            for (int i = 0; i < VERSIONS; i++) {
                if (b.held[i].version == version && b.held[i].owner == rank) {
                    error = exchange(&b.held[i], rank, NULL, MPI_PROC_NULL, world);
                    break;
                }
            }
        }
    }
    return error;
}

static int collect(MPI_Comm world, struct facts *all)
{
    struct facts mine = {0};
    for (int i = 0; i < VERSIONS; i++) {
        mine.own[i] = b.own[i].version;
        mine.held[i] = b.held[i].version;
        mine.owner[i] = b.held[i].owner;
    }
    int error = node_number(world, &mine.node);
    if (error == MPI_SUCCESS) {
        error = MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE, world);
    }
    return error;
}

static int refill(MPI_Comm world)
{
    MPI_Comm_rank(world, &b.rank);
    MPI_Comm_size(world, &b.size);
    struct facts *facts = calloc((size_t)b.size, sizeof(*facts));
    if (!facts) {
        recovery_fail("no memory for the facts of %d ranks", b.size);
    }
    int error = collect(world, facts);
    if (error == MPI_SUCCESS) {
        choose_buddies(facts);
        b.coming = newest_complete(facts);
        b.drop = true;
        if (b.coming > 0) {
            error = fetch(facts, b.coming, world);
        }
        if (b.coming > 0 && error == MPI_SUCCESS) {
            error = protect(b.coming, world);
        }
    }
    free(facts);
    return error;
}

static void settle(void)
{
    struct copy *own = own_of(b.coming);
    if (own) {
        b.own_now = (int)(own - b.own);
        b.held_now = 1 - b.held_now;
    }
    for (int i = 0; b.drop && i < VERSIONS; i++) {
        if (!own || i != b.own_now) {
            b.own[i].version = 0;
        }
        if (!own || i != b.held_now) {
            b.held[i].version = 0;
        }
    }
    b.drop = false;
}

/* ---- Checkpoints ---- */

static const void *own_copy(size_t *bytes)
{
    const struct copy *own = &b.own[b.own_now];
    *bytes = own->bytes;
    return own->version > 0 ? own->memory : NULL;
}

static void *next_copy(size_t bytes)
{
    struct copy *own = other(b.own, b.own_now);
    reserve(own, bytes);
    return own->memory;
}

static int save(MPI_Comm world, uint64_t version)
{
    other(b.own, b.own_now)->version = version;
    b.coming = version;
    return protect(version, world);
}

static void close_copies(void)
{
    for (int i = 0; i < VERSIONS; i++) {
        free(b.own[i].memory);
        free(b.held[i].memory);
    }
}

const struct recovery_store recovery_buddy = {refill,    settle, own_copy,
                                              next_copy, save,   close_copies};
#else
typedef int recovery_buddy_is_not_there; /* a file must not be empty */
#endif
