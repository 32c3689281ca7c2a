/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any one-sided operation against a naive reference. In each round every region of every window is
 * the target of one operation, or of several accumulates of one kind; all is drawn from (seed,
 * trial), so that each rank knows what the others do to its memory. Datatypes have holes, negative
 * bounds and extents at both ends (coll_any_layout.c).
 *
 *     windows_any SEED [TRIALS [FIRST]]
 */
#include "coll_any.h"

#include <stdlib.h>
#include <string.h>

enum { REGIONS = 6, REGION = 768, BYTES = REGIONS * REGION, ROUNDS = 3, SHARERS_MAX = 4 };
enum flavor { CREATED, ALLOCATED, SHARED, DYNAMIC, FLAVORS };
enum way { FENCE, POST, LOCK, LOCK_ALL, WAYS };
enum what { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, WHATS };

static int rank, size;
static uint64_t seed;
static struct chance chance;

struct scene {
    enum flavor flavor;
    enum way way;
    int unit;
    MPI_Comm comm;
    MPI_Win win;
    unsigned char *memory;
    MPI_Aint bases[RANKS_MAX]; /* of dynamic windows */
    unsigned char model[RANKS_MAX][BYTES];
};
static struct scene scene;

struct operation {
    enum what what;
    int origin, target, blocks;
    bool alone; /* no other operation on its region */
    MPI_Op op;
    struct signature signature;
    struct layout here, there, back;
    ptrdiff_t place; /* of the target's data, from the begin of its window */
    struct image data, result;
    MPI_Request request;
};

/* ---- Items of a message ---- */

static int count_of(const struct operation *o, const struct layout *layout)
{
    return o->blocks * layout->per_block;
}

static int items(const struct operation *o)
{
    return count_of(o, &o->here) * o->here.n;
}

static ptrdiff_t item_at(const struct layout *layout, int k)
{
    return k / layout->n * layout->extent + layout->at[k % layout->n];
}

static void reach(const struct operation *o, const struct layout *layout, ptrdiff_t *low,
                  ptrdiff_t *high)
{
    ptrdiff_t last = (count_of(o, layout) - 1) * layout->extent;
    *low = layout->low + (last < 0 ? last : 0);
    *high = layout->high + (last > 0 ? last : 0);
}

static void combine(MPI_Op op, int bytes, const unsigned char *data, unsigned char *to)
{
    uint32_t a = 0, b = 0;
    memcpy(&a, data, (size_t)bytes);
    memcpy(&b, to, (size_t)bytes);
    uint32_t sum = a + b, bits = a ^ b;
    if (op == MPI_SUM || op == MPI_BXOR) {
        memcpy(to, op == MPI_SUM ? &sum : &bits, (size_t)bytes);
    } else if (op == MPI_REPLACE) {
        memcpy(to, data, (size_t)bytes);
    }
}

/* What the operation does, to the models. */
static void expect(struct operation *o)
{
    for (int k = 0; k < items(o); k++) {
        int bytes = o->here.bytes[k % o->here.n];
        unsigned char *there = &scene.model[o->target][o->place + item_at(&o->there, k)];
        const unsigned char *here = image_at(&o->data, IS) + item_at(&o->here, k);
        unsigned char *back = image_at(&o->result, SHOULD_BE) + item_at(&o->back, k);
        if (o->what == GET || o->what >= GET_ACCUMULATE) {
            memcpy(back, there, (size_t)bytes);
        }
        if (o->what == PUT) {
            memcpy(there, here, (size_t)bytes);
        } else if (o->what == SWAP) {
            if (memcmp(here + 4, there, 4) == 0) {
                memcpy(there, here, 4);
            }
        } else if (o->what != GET) {
            combine(o->op, bytes, here, there);
        }
    }
}

/* ---- Drawing ---- */

static void draw_data(struct operation *o)
{
    ptrdiff_t low, high;
    reach(o, &o->here, &low, &high);
    image_make(&o->data, low, high + 8);
    for (size_t i = 0; i < o->data.bytes; i++) {
        o->data.memory[IS][i] = (unsigned char)chance_below(&chance, 256);
    }
    image_settle(&o->data);
    reach(o, &o->back, &low, &high);
    image_make(&o->result, low, high);
}

static MPI_Op draw_op(bool alone)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
    return ops[chance_below(&chance, alone ? 4 : 2)];
}

static struct layout single(void)
{
    return (struct layout){
        .type = MPI_INT, .per_block = 1, .n = 1, .bytes = {4}, .extent = 4, .high = 4};
}

/* Layouts that fit the region. */
static void draw_layouts(struct operation *o)
{
    ptrdiff_t low, high;
    for (int most = 3;; most--) {
        o->blocks = most > 0 ? chance_below(&chance, most) + 1 : 0;
        layout_draw(&o->there, &o->signature, &chance);
        reach(o, &o->there, &low, &high);
        if (o->blocks == 0 || high - low + 16 <= REGION) {
            break;
        }
        layout_free(&o->there);
    }
    layout_draw(&o->here, &o->signature, &chance);
    layout_draw(&o->back, &o->signature, &chance);
}

static void draw_place(struct operation *o, int region)
{
    ptrdiff_t low = 0, high = 0;
    if (o->blocks > 0) {
        reach(o, &o->there, &low, &high);
    }
    ptrdiff_t room = REGION - 16 - (high - low);
    ptrdiff_t shift = room > 16 ? chance_below(&chance, (int)room / 16) * 16 : 0;
    ptrdiff_t place = region * REGION + shift - (low & -(ptrdiff_t)16);
    if (place < 0 && scene.flavor != DYNAMIC) { /* target_disp would be negative */
        o->blocks = 0;
        place = 0;
    }
    o->place = place;
}

static void draw_operation(struct operation *o, int region, int bytes)
{
    signature_draw(&o->signature, &chance);
    if (o->what == ACCUMULATE || o->what == GET_ACCUMULATE) {
        o->signature = (struct signature){1, {bytes}};
    }
    if (o->what >= FETCH) {
        o->here = o->there = o->back = single();
        o->signature = (struct signature){1, {4}};
        o->blocks = 1;
    } else {
        draw_layouts(o);
    }
    /* a single element is no whole block */
    draw_place(o, region);
    draw_data(o);
}

/* ---- Calls ---- */

static MPI_Aint disp_of(const struct operation *o)
{
    return scene.flavor == DYNAMIC ? MPI_Aint_add(scene.bases[o->target], o->place)
                                   : o->place / scene.unit;
}

static void call_fetch(struct operation *o, const void *data, void *result)
{
    if (o->what == FETCH) {
        MPI_Fetch_and_op(data, result, MPI_INT, o->target, disp_of(o), o->op, scene.win);
    } else {
        MPI_Compare_and_swap(data, (const char *)data + 4, result, MPI_INT, o->target, disp_of(o),
                             scene.win);
    }
}

static void call_operation(struct operation *o, bool requests)
{
    const void *data = image_at(&o->data, IS);
    void *result = image_at(&o->result, IS);
    int here = count_of(o, &o->here), there = count_of(o, &o->there), back = count_of(o, &o->back);
    MPI_Datatype h = o->here.type, t = o->there.type, b = o->back.type;
    MPI_Aint at = disp_of(o);
    MPI_Win w = scene.win;
    switch (o->what) {
    case PUT:
        requests ? MPI_Rput(data, here, h, o->target, at, there, t, w, &o->request)
                 : MPI_Put(data, here, h, o->target, at, there, t, w);
        break;
    case GET:
        requests ? MPI_Rget_c(result, back, b, o->target, at, there, t, w, &o->request)
                 : MPI_Get(result, back, b, o->target, at, there, t, w);
        break;
    case ACCUMULATE:
        requests ? MPI_Raccumulate(data, here, h, o->target, at, there, t, o->op, w, &o->request)
                 : MPI_Accumulate_c(data, here, h, o->target, at, there, t, o->op, w);
        break;
    case GET_ACCUMULATE:
        requests
            ? MPI_Rget_accumulate(data, here, h, result, back, b, o->target, at, there, t, o->op, w,
                                  &o->request)
            : MPI_Get_accumulate(data, here, h, result, back, b, o->target, at, there, t, o->op, w);
        break;
    default:
        call_fetch(o, data, result);
    }
}

static void epoch_begins(MPI_Group all)
{
    if (scene.way == FENCE) {
        MPI_Win_fence(chance_below(&chance, 2) ? MPI_MODE_NOPRECEDE : 0, scene.win);
    } else if (scene.way == POST) {
        MPI_Win_post(all, 0, scene.win);
        MPI_Win_start(all, 0, scene.win);
    } else {
        MPI_Barrier(scene.comm);
        if (scene.way == LOCK_ALL) {
            MPI_Win_lock_all(0, scene.win);
        }
    }
}

static void epoch_ends(void)
{
    if (scene.way == FENCE) {
        MPI_Win_fence(MPI_MODE_NOSUCCEED, scene.win);
    } else if (scene.way == POST) {
        MPI_Win_complete(scene.win);
        for (int flag = 0; chance.state % 2 && !flag;) {
            MPI_Win_test(scene.win, &flag);
            if (flag) {
                return;
            }
        }
        MPI_Win_wait(scene.win);
    } else {
        if (scene.way == LOCK_ALL) {
            MPI_Win_unlock_all(scene.win);
        }
        MPI_Barrier(scene.comm);
    }
}

static void do_operation(struct operation *o)
{
    bool requests = scene.way >= LOCK && chance_below(&chance, 2);
    bool exclusive = chance_below(&chance, 2), flushes = chance_below(&chance, 4) == 0;
    if (o->origin != rank) {
        return;
    }
    if (scene.way == LOCK) {
        MPI_Win_lock(exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, o->target, 0, scene.win);
    }
    call_operation(o, requests);
    if (scene.way >= LOCK && flushes) {
        MPI_Win_flush(o->target, scene.win);
    }
    if (scene.way == LOCK) {
        MPI_Win_unlock(o->target, scene.win);
    }
}

/* ---- Rounds ---- */

static struct operation operations[RANKS_MAX * REGIONS * SHARERS_MAX];
static int n;

static void draw_round(void)
{
    n = 0;
    for (int target = 0; target < size; target++) {
        for (int region = 0; region < REGIONS; region++) {
            enum what what = (enum what)chance_below(&chance, WHATS);
            int sharers = what == ACCUMULATE ? 1 + chance_below(&chance, SHARERS_MAX) : 1;
            MPI_Op op = draw_op(sharers == 1);
            op = what == ACCUMULATE && op == MPI_NO_OP ? MPI_SUM : op;
            int bytes = 1 << chance_below(&chance, 3); /* the same of all that share a region */
            for (int i = 0; i < sharers; i++) {
                operations[n] = (struct operation){.what = what,
                                                   .target = target,
                                                   .origin = chance_below(&chance, size),
                                                   .op = op,
                                                   .alone = sharers == 1,
                                                   .request = MPI_REQUEST_NULL};
                draw_operation(&operations[n], region, bytes);
                expect(&operations[n++]);
            }
        }
    }
}

static void compare(int trial, const struct operation *o)
{
    ptrdiff_t at;
    if (o->origin == rank && o->what != PUT && o->what != ACCUMULATE && o->alone &&
        image_differs(&o->result, &at)) {
        fprintf(stderr, "trial %d: rank %d: kind %d: the result differs at %td\n", trial, rank,
                o->what, at);
        CHECK(false);
    }
    if (o->origin == rank && image_differs(&o->data, &at)) {
        CHECK(!"the data of the origin have changed");
    }
}

static void run_round(int trial, MPI_Group all)
{
    draw_round();
    epoch_begins(all);
    for (int i = 0; i < n; i++) {
        do_operation(&operations[i]);
    }
    for (int i = 0; i < n; i++) {
        MPI_Wait(&operations[i].request, MPI_STATUS_IGNORE);
    }
    epoch_ends();
    if (scene.way >= LOCK) {
        MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, scene.win);
    }
    for (int i = 0; i < BYTES; i++) {
        if (scene.memory[i] != scene.model[rank][i]) {
            fprintf(stderr, "trial %d: rank %d: flavor %d, way %d: byte %d is %d, not %d\n", trial,
                    rank, scene.flavor, scene.way, i, scene.memory[i], scene.model[rank][i]);
            CHECK(false);
        }
    }
    if (scene.way >= LOCK) {
        MPI_Win_unlock(rank, scene.win);
    }
    for (int i = 0; i < n; i++) {
        compare(trial, &operations[i]);
        image_free(&operations[i].data);
        image_free(&operations[i].result);
        layout_free(&operations[i].here);
        layout_free(&operations[i].there);
        layout_free(&operations[i].back);
    }
    MPI_Barrier(scene.comm);
}

static void make_window(void)
{
    MPI_Aint at;
    int unit = scene.unit;
    switch (scene.flavor) {
    case CREATED:
        scene.memory = malloc(BYTES);
        MPI_Win_create(scene.memory, BYTES, unit, MPI_INFO_NULL, scene.comm, &scene.win);
        break;
    case ALLOCATED:
        MPI_Win_allocate_c(BYTES, unit, MPI_INFO_NULL, scene.comm, &scene.memory, &scene.win);
        break;
    case SHARED:
        MPI_Win_allocate_shared(BYTES, unit, MPI_INFO_NULL, scene.comm, &scene.memory, &scene.win);
        break;
    default:
        scene.memory = malloc(BYTES);
        MPI_Win_create_dynamic(MPI_INFO_NULL, scene.comm, &scene.win);
        MPI_Win_attach(scene.win, scene.memory, BYTES);
        MPI_Get_address(scene.memory, &at);
        MPI_Allgather(&at, 1, MPI_AINT, scene.bases, 1, MPI_AINT, scene.comm);
    }
}

static void run_trial(int trial, bool one_node)
{
    MPI_Group all;
    chance.state = chance_mix(seed, (uint64_t)trial);
    scene.flavor = (enum flavor)chance_below(&chance, FLAVORS);
    scene.flavor = scene.flavor == SHARED && !one_node ? ALLOCATED : scene.flavor;
    scene.way = (enum way)chance_below(&chance, WAYS);
    scene.unit = 1 << chance_below(&chance, 4);
    scene.comm = MPI_COMM_WORLD;
    make_window();
    for (int i = 0; i < size; i++) {
        for (int k = 0; k < BYTES; k++) {
            scene.model[i][k] = (unsigned char)chance_below(&chance, 256);
        }
    }
    memcpy(scene.memory, scene.model[rank], BYTES);
    MPI_Win_get_group(scene.win, &all);
    MPI_Barrier(scene.comm);
    for (int round = 0; round < ROUNDS; round++) {
        run_round(trial, all);
    }
    MPI_Group_free(&all);
    if (scene.flavor == DYNAMIC) {
        MPI_Win_detach(scene.win, scene.memory);
    }
    MPI_Win_free(&scene.win);
    if (scene.flavor == CREATED || scene.flavor == DYNAMIC) {
        free(scene.memory);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    int here;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int trials = argc > 2 ? atoi(argv[2]) : 40, first = argc > 3 ? atoi(argv[3]) : 0;
    CHECK(size <= RANKS_MAX);
    for (int trial = first; trial < first + trials; trial++) {
        run_trial(trial, here == size);
    }
    MPI_Finalize();
    return 0;
}
