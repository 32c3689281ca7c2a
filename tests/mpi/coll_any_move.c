/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks that move data: each part of a buffer holds a message; its bytes follow from sender and
 * receiver. */
#include "coll_any.h"

#include <string.h>

static bool is_neighbourly(const struct task *task)
{
    return task->kind >= NEIGHBOR_ALLGATHER && task->kind <= NEIGHBOR_ALLTOALLW;
}

static bool is_gathering(const struct task *task)
{
    return task->kind == ALLGATHER || task->kind == ALLGATHERV ||
           task->kind == NEIGHBOR_ALLGATHER || task->kind == NEIGHBOR_ALLGATHERV;
}

static bool is_exchange(const struct task *task)
{
    return task->kind >= ALLTOALL && task->kind <= ALLTOALLW;
}

static bool has_types(const struct task *task)
{
    return task->kind == ALLTOALLW || task->kind == NEIGHBOR_ALLTOALLW;
}

/* ---- What is sent ---- */

/* Alike at both ends; a message that goes to several is one. */
static uint64_t edge_of(const struct task *task, int from, int to, int label)
{
    bool one =
        task->kind == BCAST || task->kind == GATHER || task->kind == GATHERV || is_gathering(task);
    return (uint64_t)from << 20 | (one ? 0 : (uint64_t)to << 8 | (uint64_t)label);
}

static uint64_t key_of(const struct task *task, int from, int to, int label)
{
    return chance_mix(task->contents, edge_of(task, from, to, label));
}

/* In blocks; between two ranks the same both ways where data are exchanged in place. */
static int blocks_of(const struct task *task, int from, int to, int label)
{
    if (task->regular) {
        return task->blocks_max;
    }
    bool turned = task->in_place && is_exchange(task) && from > to;
    uint64_t edge = edge_of(task, turned ? to : from, turned ? from : to, label);
    struct chance chance = {chance_mix(~task->salt, edge)};
    return chance_length(&chance, task->blocks_max);
}

/* ---- Buffers ---- */

static void part_write(const struct parts *parts, int side, int i, uint64_t key)
{
    const struct part *part = &parts->part[i];
    const struct layout *layout = part->layout;
    unsigned char *element = image_at(&parts->image, side) + part->place;
    uint64_t word = 0;
    unsigned position = 0;
    for (int k = 0; k < part->count; k++, element += layout->extent) {
        for (int item = 0; item < layout->n; item++) {
            for (int byte = 0; byte < layout->bytes[item]; byte++, position++) {
                word = position % 8 == 0 ? chance_mix(key, position) : word >> 8;
                element[layout->at[item] + byte] = (unsigned char)word;
            }
        }
    }
}

/* Offsets of a part's first and last element. */
static void part_reach(const struct part *part, ptrdiff_t *low, ptrdiff_t *high)
{
    ptrdiff_t last = part->place + (part->count - 1) * part->layout->extent;
    if (part->count > 0) {
        ptrdiff_t first = part->place < last ? part->place : last;
        ptrdiff_t end = part->place < last ? last : part->place;
        *low = first + part->layout->low < *low ? first + part->layout->low : *low;
        *high = end + part->layout->high > *high ? end + part->layout->high : *high;
    }
}

/* The place of a part with a type of its own: all of it lies at `next` or behind. */
static ptrdiff_t place_behind(const struct part *part, ptrdiff_t next)
{
    ptrdiff_t extent = part->layout->extent;
    ptrdiff_t down = extent < 0 && part->count > 0 ? (part->count - 1) * -extent : 0;
    return ((next + down - part->layout->low) / 16 + 1) * 16;
}

/* Whether the call takes places of these parts. */
static bool has_places(const struct task *task, const struct parts *parts)
{
    bool one =
        parts == &task->out ? task->kind == GATHERV || is_gathering(task) : task->kind == SCATTERV;
    return !task->regular && !one;
}

/* One part behind the other, or in any order with holes between them. */
static void parts_place(struct task *task, struct parts *parts, struct chance *chance)
{
    int order[PARTS_MAX];
    bool apart = has_places(task, parts);
    ptrdiff_t next = apart ? chance_below(chance, 9) - 4 : 0, low = 0, high = 0;
    for (int i = 0; i < parts->n; i++) {
        order[i] = i;
    }
    if (apart) {
        chance_shuffle(chance, order, parts->n);
    }
    for (int k = 0; k < parts->n; k++) {
        struct part *part = &parts->part[order[k]];
        if (has_types(task)) { /* next: in bytes */
            ptrdiff_t unused = next;
            part->place = place_behind(part, next + chance_below(chance, 40));
            part_reach(part, &unused, &next);
        } else { /* next: in extents */
            part->place = next * part->layout->extent;
            next += part->count + (apart ? chance_below(chance, 3) : 0);
        }
        part_reach(part, &low, &high);
    }
    image_make(&parts->image, low, high);
    for (int i = 0; i < parts->n; i++) {
        const struct part *part = &parts->part[i];
        parts->counts[i] = part->count;
        parts->wide_counts[i] = part->count;
        parts->wide_displs[i] = has_types(task) ? part->place : part->place / part->layout->extent;
        parts->displs[i] = (int)parts->wide_displs[i];
        parts->types[i] = part->layout->type;
    }
}

static void part_add(struct task *task, struct parts *parts, int peer)
{
    struct part *part = &parts->part[parts->n];
    bool out = parts == &task->out;
    CHECK(parts->n < PARTS_MAX);
    *part = (struct part){.peer = peer};
    part->layout = &task->layouts[(out ? 0 : 2) + (has_types(task) ? parts->n % 2 : 0)];
    for (int i = 0; i < parts->n; i++) {
        part->label += parts->part[i].peer == peer;
    }
    part->count = part->layout->per_block *
                  blocks_of(task, out ? task->rank : peer, out ? peer : task->rank, part->label);
    parts->n++;
}

static void parts_add_all(struct task *task, struct parts *parts)
{
    for (int i = 0; i < task->size; i++) {
        part_add(task, parts, i);
    }
}

/* ---- Neighbourhoods ---- */

enum { EDGES_SAME_MAX = 2 };

static int edges_between(const struct task *task, int from, int to)
{
    int drawn = (int)(chance_mix(task->salt, (uint64_t)(from * RANKS_MAX + to)) % 8);
    return drawn < 5 ? 0 : drawn < 7 ? 1 : EDGES_SAME_MAX;
}

/* The neighbours on one side in an order of their own, and a communicator that knows both. */
static int list_edges(const struct task *task, bool out, struct chance *chance, int *peers)
{
    int n = 0;
    for (int i = 0; i < task->size; i++) {
        int edges = out ? edges_between(task, task->rank, i) : edges_between(task, i, task->rank);
        for (int k = 0; k < edges; k++) {
            peers[n++] = i;
        }
    }
    chance_shuffle(chance, peers, n);
    return n;
}

static void draw_neighbours(struct task *task, struct chance *chance)
{
    int from[PARTS_MAX], to[PARTS_MAX];
    MPI_Comm base = task->comm;
    int n_from = list_edges(task, false, chance, from), n_to = list_edges(task, true, chance, to);
    MPI_Dist_graph_create_adjacent(base, n_from, from, MPI_UNWEIGHTED, n_to, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &task->comm);
    task->own_comm = true;
    for (int i = 0; i < n_from; i++) {
        part_add(task, &task->in, from[i]);
    }
    for (int i = 0; i < (is_gathering(task) ? 1 : n_to); i++) {
        part_add(task, &task->out, is_gathering(task) ? task->rank : to[i]);
    }
}

/* ---- Drawing ---- */

static void add_parts(struct task *task, struct chance *chance)
{
    bool root = task->rank == task->root;
    switch (task->kind) {
    case BARRIER:
        break;
    case BCAST:
        part_add(task, root ? &task->out : &task->in, task->root);
        break;
    case GATHER:
    case GATHERV:
        part_add(task, &task->out, task->root);
        if (root) {
            parts_add_all(task, &task->in);
        }
        break;
    case SCATTER:
    case SCATTERV:
        part_add(task, &task->in, task->root);
        if (root) {
            parts_add_all(task, &task->out);
        }
        break;
    case ALLGATHER:
    case ALLGATHERV:
        part_add(task, &task->out, 0);
        parts_add_all(task, &task->in);
        break;
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        parts_add_all(task, &task->out);
        parts_add_all(task, &task->in);
        break;
    default:
        draw_neighbours(task, chance);
    }
}

/* The layout is the affair of each rank; all else is alike at all ranks. */
static void move_draw(struct task *task, struct chance *chance)
{
    bool listed = task->kind == GATHERV || task->kind == SCATTERV || task->kind == ALLGATHERV ||
                  task->kind == ALLTOALLV || task->kind == NEIGHBOR_ALLGATHERV ||
                  task->kind == NEIGHBOR_ALLTOALLV || has_types(task);
    task->regular = !listed;
    task->in_place = chance_below(chance, 3) == 0 && task->kind != BCAST && !is_neighbourly(task);
    signature_draw(&task->signature, chance);
    bool many = task->kind == ALLTOALL || task->kind == ALLTOALLV || has_types(task) ||
                is_neighbourly(task) || is_gathering(task);
    int bytes = signature_bytes(&task->signature) * (many ? task->size : 1);
    static const int mosts[] = {1 << 9, 1 << 12, 1 << 12, 1 << 15, 1 << 18, 3 << 20};
    int most = mosts[chance_below(chance, 6)] / bytes + 1;
    task->blocks_max = chance_below(chance, 3) ? chance_length(chance, most) : most;
    struct chance own = {chance_mix(chance->state, (uint64_t)task->rank)};
    for (int i = 0; i < 4; i++) {
        layout_draw(&task->layouts[i], &task->signature, &own);
    }
    add_parts(task, &own);
    parts_place(task, &task->out, &own);
    parts_place(task, &task->in, &own);
}

/* ---- One start ---- */

/* Whether a part of the receive buffer holds what this process gives. */
static bool lies_in_place(const struct task *task, int i)
{
    bool own = task->in.part[i].peer == task->rank &&
               (is_gathering(task) || task->kind == GATHER || task->kind == GATHERV);
    return task->in_place && (is_exchange(task) || own);
}

static void move_fill(struct task *task)
{
    for (int i = 0; i < task->out.n; i++) {
        const struct part *part = &task->out.part[i];
        part_write(&task->out, IS, i, key_of(task, task->rank, part->peer, part->label));
    }
    for (int i = 0; i < task->in.n; i++) {
        const struct part *part = &task->in.part[i];
        bool there = lies_in_place(task, i);
        part_write(&task->in, IS, i,
                   there ? key_of(task, task->rank, part->peer, part->label) : ~task->contents);
    }
    image_settle(&task->out.image);
    image_settle(&task->in.image);
    bool untouched = task->in_place && task->rank == task->root &&
                     (task->kind == SCATTER || task->kind == SCATTERV);
    for (int i = 0; i < task->in.n && !untouched; i++) {
        const struct part *part = &task->in.part[i];
        part_write(&task->in, SHOULD_BE, i, key_of(task, part->peer, task->rank, part->label));
    }
}

static void call_barrier(struct task *task)
{
    if (task->form == BLOCKING || task->form == BLOCKING_C) {
        MPI_Barrier(task->comm);
    } else if (task->form == LATER || task->form == LATER_C) {
        MPI_Ibarrier(task->comm, &task->request);
    } else {
        MPI_Barrier_init(task->comm, MPI_INFO_NULL, &task->request);
    }
}

/* An argument that counts at the root alone is no good elsewhere. */
static void call_rooted(struct task *t)
{
    struct parts *out = &t->out, *in = &t->in;
    bool root = t->rank == t->root, gather = t->kind == GATHER || t->kind == GATHERV;
    bool here = t->in_place && root;
    void *from = here && gather ? MPI_IN_PLACE : image_at(&out->image, IS);
    void *to = here && !gather ? MPI_IN_PLACE : image_at(&in->image, IS);
    int n_out = out->n > 0 ? out->counts[0] : -1, n_in = in->n > 0 ? in->counts[0] : -1;
    MPI_Datatype sent = out->n > 0 ? out->types[0] : MPI_DATATYPE_NULL;
    MPI_Datatype got = in->n > 0 ? in->types[0] : MPI_DATATYPE_NULL;
    if (!root) {
        from = gather ? from : NULL;
        to = gather ? NULL : to;
    }
    int *counts = root ? (gather ? in : out)->counts : NULL;
    int *displs = root ? (gather ? in : out)->displs : NULL;
    MPI_Count *wide = root ? (gather ? in : out)->wide_counts : NULL;
    MPI_Aint *places = root ? (gather ? in : out)->wide_displs : NULL;
    if (t->kind == GATHER) {
        CALL_SAME(t, Gather, gather, (from, n_out, sent, to, n_in, got, t->root, t->comm))
    } else if (t->kind == SCATTER) {
        CALL_SAME(t, Scatter, scatter, (from, n_out, sent, to, n_in, got, t->root, t->comm))
    } else if (gather) {
        CALL(t, Gatherv, gatherv, (from, n_out, sent, to, counts, displs, got, t->root, t->comm),
             (from, n_out, sent, to, wide, places, got, t->root, t->comm))
    } else {
        CALL(t, Scatterv, scatterv, (from, counts, displs, sent, to, n_in, got, t->root, t->comm),
             (from, wide, places, sent, to, n_in, got, t->root, t->comm))
    }
}

/* From or to no neighbour there is still a type. */
static MPI_Datatype type_of(const struct parts *parts)
{
    return parts->n > 0 ? parts->types[0] : MPI_INT;
}

static void call_all(struct task *t)
{
    struct parts *out = &t->out, *in = &t->in;
    void *from = t->in_place ? MPI_IN_PLACE : image_at(&out->image, IS);
    void *to = image_at(&in->image, IS);
    MPI_Datatype sent = t->in_place ? MPI_DATATYPE_NULL : type_of(out), got = type_of(in);
    int n_out = t->in_place  ? -1
                : out->n > 0 ? out->counts[0]
                             : 0,
        n_in = in->n > 0 ? in->counts[0] : 0;
    if (t->kind == ALLGATHER) {
        CALL_SAME(t, Allgather, allgather, (from, n_out, sent, to, n_in, got, t->comm))
    } else if (t->kind == ALLGATHERV) {
        CALL(t, Allgatherv, allgatherv,
             (from, n_out, sent, to, in->counts, in->displs, got, t->comm),
             (from, n_out, sent, to, in->wide_counts, in->wide_displs, got, t->comm))
    } else if (t->kind == ALLTOALL) {
        CALL_SAME(t, Alltoall, alltoall, (from, n_out, sent, to, n_in, got, t->comm))
    } else if (t->kind == ALLTOALLV) {
        CALL(t, Alltoallv, alltoallv,
             (from, out->counts, out->displs, sent, to, in->counts, in->displs, got, t->comm),
             (from, out->wide_counts, out->wide_displs, sent, to, in->wide_counts, in->wide_displs,
              got, t->comm))
    } else {
        CALL(t, Alltoallw, alltoallw,
             (from, out->counts, out->displs, out->types, to, in->counts, in->displs, in->types,
              t->comm),
             (from, out->wide_counts, out->wide_displs, out->types, to, in->wide_counts,
              in->wide_displs, in->types, t->comm))
    }
}

static void call_neighbours(struct task *t)
{
    struct parts *out = &t->out, *in = &t->in;
    void *from = image_at(&out->image, IS), *to = image_at(&in->image, IS);
    MPI_Datatype sent = type_of(out), got = type_of(in);
    int n_out = out->n > 0 ? out->counts[0] : 0, n_in = in->n > 0 ? in->counts[0] : 0;
    if (t->kind == NEIGHBOR_ALLGATHER) {
        CALL_SAME(t, Neighbor_allgather, neighbor_allgather,
                  (from, n_out, sent, to, n_in, got, t->comm))
    } else if (t->kind == NEIGHBOR_ALLGATHERV) {
        CALL(t, Neighbor_allgatherv, neighbor_allgatherv,
             (from, n_out, sent, to, in->counts, in->displs, got, t->comm),
             (from, n_out, sent, to, in->wide_counts, in->wide_displs, got, t->comm))
    } else if (t->kind == NEIGHBOR_ALLTOALL) {
        CALL_SAME(t, Neighbor_alltoall, neighbor_alltoall,
                  (from, n_out, sent, to, n_in, got, t->comm))
    } else if (t->kind == NEIGHBOR_ALLTOALLV) {
        CALL(t, Neighbor_alltoallv, neighbor_alltoallv,
             (from, out->counts, out->displs, sent, to, in->counts, in->displs, got, t->comm),
             (from, out->wide_counts, out->wide_displs, sent, to, in->wide_counts, in->wide_displs,
              got, t->comm))
    } else {
        CALL(t, Neighbor_alltoallw, neighbor_alltoallw,
             (from, out->counts, out->wide_displs, out->types, to, in->counts, in->wide_displs,
              in->types, t->comm),
             (from, out->wide_counts, out->wide_displs, out->types, to, in->wide_counts,
              in->wide_displs, in->types, t->comm))
    }
}

static void move_call(struct task *task)
{
    if (task->kind == BARRIER) {
        call_barrier(task);
    } else if (task->kind == BCAST) {
        struct parts *parts = task->rank == task->root ? &task->out : &task->in;
        CALL_SAME(task, Bcast, bcast,
                  (image_at(&parts->image, IS), parts->counts[0], parts->types[0], task->root,
                   task->comm))
    } else if (task->kind <= SCATTERV) {
        call_rooted(task);
    } else if (is_neighbourly(task)) {
        call_neighbours(task);
    } else {
        call_all(task);
    }
}

static void move_wipe(struct task *task)
{
    (void)task; /* the standard leaves nothing open */
}

static void move_end(struct task *task)
{
    for (int i = 0; i < 4; i++) {
        layout_free(&task->layouts[i]);
    }
    image_free(&task->out.image);
    image_free(&task->in.image);
}

const struct task_ops move_ops = {move_draw, move_fill, move_call, move_wipe, move_end};
