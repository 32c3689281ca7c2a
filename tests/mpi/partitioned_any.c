/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Partitioned communication with random numbers of partitions, counts and datatypes on both sides,
 * against a model: the numbers of one channel in their order. What lies between them must not
 * change.
 */
#include "check.h"
#include "coll_random.h"

#include <stdbool.h>
#include <string.h>

enum { CHANNELS = 3, ROUNDS = 4, WORDS_MAX = 40000, TYPES = 5 };

/* ---- Datatypes: element e has n numbers; number j of it is at place(e, j) ---- */

static const struct layout {
    int n, extent, at[3];
} layouts[TYPES] = {
    {1, 1, {0}}, {3, 5, {0, 2, 4}}, {2, 4, {0, 1}}, {2, 3, {2, 0}}, {3, 3, {0, 1, 2}}};

static MPI_Datatype types[TYPES];

static void make_types(void)
{
    for (int i = 0; i < TYPES; i++) {
        MPI_Datatype data;
        MPI_Type_create_indexed_block(layouts[i].n, 1, layouts[i].at, MPI_INT, &data);
        MPI_Type_create_resized(data, 0, (MPI_Aint)sizeof(int) * layouts[i].extent, &types[i]);
        MPI_Type_free(&data);
        MPI_Type_commit(&types[i]);
    }
}

/* ---- Channels ---- */

struct side {
    int rank, partitions, count, type;
    int *words;
    MPI_Request request;
};

struct channel {
    int numbers; /* in all partitions */
    int tag, salt;
    struct side from, to;
};

static int me, size;

static size_t words_of(const struct side *side)
{
    return (size_t)side->partitions * (size_t)side->count * (size_t)layouts[side->type].extent;
}

/* Number i of the channel. */
static int *place(const struct side *side, int i)
{
    const struct layout *layout = &layouts[side->type];
    return &side->words[i / layout->n * layout->extent + layout->at[i % layout->n]];
}

static int multiple(int a, int b)
{
    int m = a;
    while (m % b != 0) {
        m += a;
    }
    return m;
}

static void draw_side(struct side *side, int rank)
{
    *side =
        (struct side){.rank = rank, .partitions = 1 + draw(draw(4) ? 9 : 70), .type = draw(TYPES)};
}

static void draw_channel(struct channel *channel, int from, int to)
{
    draw_side(&channel->from, from);
    draw_side(&channel->to, to);
    int a = channel->from.partitions * layouts[channel->from.type].n;
    int b = channel->to.partitions * layouts[channel->to.type].n;
    int least = multiple(a, b), most = WORDS_MAX / least;
    channel->numbers = least * (draw(8) == 0 ? 0 : 1 + draw(draw(3) == 0 && most > 0 ? most : 3));
    channel->from.count = channel->numbers / a;
    channel->to.count = channel->numbers / b;
    channel->tag = draw(2); /* so that channels have the same */
    channel->salt = draw(1 << 20);
}

static void open_side(struct channel *channel, struct side *side, const struct side *other)
{
    if (side->rank != me) {
        return;
    }
    size_t n = words_of(side) + 1;
    side->words = malloc(n * sizeof(int));
    memset(side->words, 0x55, n * sizeof(int));
    bool sends = side == &channel->from;
    if (channel->salt & 1 && sends) {
        MPI_Psend_init_c(side->words, side->partitions, side->count, types[side->type], other->rank,
                         channel->tag, MPI_COMM_WORLD, MPI_INFO_NULL, &side->request);
    } else if (channel->salt & 1) {
        MPI_Precv_init_c(side->words, side->partitions, side->count, types[side->type], other->rank,
                         channel->tag, MPI_COMM_WORLD, MPI_INFO_NULL, &side->request);
    } else if (sends) {
        MPI_Psend_init(side->words, side->partitions, side->count, types[side->type], other->rank,
                       channel->tag, MPI_COMM_WORLD, MPI_INFO_NULL, &side->request);
    } else {
        MPI_Precv_init(side->words, side->partitions, side->count, types[side->type], other->rank,
                       channel->tag, MPI_COMM_WORLD, MPI_INFO_NULL, &side->request);
    }
}

static int number(const struct channel *channel, int round, int i)
{
    return (int)(mix((uint64_t)channel->salt << 40 | (uint64_t)round << 32 | (uint64_t)i) &
                 0xffffff);
}

/* ---- One round ---- */

static void start_send(struct channel *channel, int round)
{
    for (int i = 0; i < channel->numbers; i++) {
        *place(&channel->from, i) = number(channel, round, i);
    }
    MPI_Start(&channel->from.request);
}

static int random_below(unsigned *state, int n)
{
    return (int)(mix(++*state) % (uint64_t)n);
}

/* All partitions in any order, by all three calls. */
static void all_ready(struct channel *channel, unsigned *state)
{
    int n = channel->from.partitions, order[128], done = 0;
    for (int i = 0; i < n; i++) {
        order[i] = i;
    }
    if (random_below(state, 4) == 0) {
        MPI_Pready_range(0, n - 1, channel->from.request);
        return;
    }
    for (int i = n - 1; i > 0; i--) {
        int j = random_below(state, i + 1), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    while (done < n) {
        int some = 1 + random_below(state, n - done);
        if (some == 1) {
            MPI_Pready(order[done], channel->from.request);
        } else {
            MPI_Pready_list(some, &order[done], channel->from.request);
        }
        done += some;
    }
}

static void has_arrived(const struct channel *channel, int round, int partition)
{
    int each = channel->numbers / channel->to.partitions;
    for (int i = partition * each; i < (partition + 1) * each; i++) {
        CHECK(*place(&channel->to, i) == number(channel, round, i));
    }
}

static void end_receive(struct channel *channel, int round, unsigned *state)
{
    MPI_Status status;
    int flag = 0, numbers, some = random_below(state, 4);
    for (int i = 0; i < some; i++) {
        int partition = random_below(state, channel->to.partitions);
        do {
            MPI_Parrived(channel->to.request, partition, &flag);
        } while (!flag);
        has_arrived(channel, round, partition);
    }
    MPI_Wait(&channel->to.request, &status);
    MPI_Get_elements(&status, types[channel->to.type], &numbers);
    CHECK(status.MPI_SOURCE == channel->from.rank && status.MPI_TAG == channel->tag &&
          numbers == channel->numbers);
    for (int i = 0; i < channel->to.partitions; i++) {
        MPI_Parrived(channel->to.request, i, &flag);
        CHECK(flag);
        has_arrived(channel, round, i);
    }
    for (int i = 0; i < channel->numbers; i++) {
        *place(&channel->to, i) = 0x55555555;
    }
    for (size_t i = 0; i <= words_of(&channel->to); i++) {
        CHECK(channel->to.words[i] == 0x55555555);
    }
}

static void run(struct channel *channels, int n, int round, unsigned *state)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < n; k++) {
            struct channel *channel = &channels[k];
            if (channel->to.rank == me && pass == (channel->salt >> 3) % 2) {
                MPI_Start(&channel->to.request);
            }
            if (channel->from.rank == me && pass == 0) {
                start_send(channel, round);
                all_ready(channel, state);
            }
        }
    }
    for (int k = 0; k < n; k++) {
        if (channels[k].to.rank == me) {
            end_receive(&channels[k], round, state);
        }
    }
    for (int k = 0; k < n; k++) {
        if (channels[k].from.rank == me) {
            MPI_Wait(&channels[k].from.request, MPI_STATUS_IGNORE);
        }
    }
}

static void one_set(unsigned *state)
{
    int n = CHANNELS * size, shift = draw(size);
    struct channel *channels = calloc((size_t)n, sizeof(*channels));
    for (int k = 0; k < n; k++) {
        draw_channel(&channels[k], k % size, (k + shift + k / size) % size);
    }
    for (int k = 0; k < n; k++) {
        open_side(&channels[k], &channels[k].to, &channels[k].from);
        open_side(&channels[k], &channels[k].from, &channels[k].to);
    }
    int rounds = draw(ROUNDS);
    for (int round = 0; round < rounds; round++) {
        run(channels, n, round, state);
    }
    for (int k = 0; k < n; k++) {
        struct side *sides[] = {&channels[k].from, &channels[k].to};
        for (int i = 0; i < 2; i++) {
            if (sides[i]->rank == me) {
                MPI_Request_free(&sides[i]->request);
                free(sides[i]->words);
            }
        }
    }
    free(channels);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int sets = arguments(argc, argv, 50);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned state = (unsigned)me * 7919 + (unsigned)random_state;
    make_types();
    for (int i = 0; i < sets; i++) {
        one_set(&state);
    }
    for (int i = 0; i < TYPES; i++) {
        MPI_Type_free(&types[i]);
    }
    MPI_Finalize();
    return 0;
}
