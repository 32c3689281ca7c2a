/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints of every kind of region under random writes: after each roll-back what RZ_Restore
 * brings back is compared, bit for bit, with what the same steps make again from nothing.
 *
 *     checkpoint_bits SEED STEPS [RANK@STEP...]    prints "the same bits after STEPS steps, sum
 * ..."
 *
 * The first incarnation of RANK fails at that step; others fail as rzrun says (--inject,
 * RZ_KILL_AT).
 *
 * Regions: where the run is; memory with few random writes (pages stay as they were); memory of
 * another size at each step, allocated for what is to be restored; a stream written again at each
 * step, its head last; a stream written once, long before.
 */
#include "reinit.h"

#include <rhizome/checkpoint.h>
#include <string.h>

enum { STEADY_BYTES = 1 << 20, SIZE_MAX_OF_VARYING = 300000, LINES_MAX = 400, ONCE_AT = 3 };
enum { WHERE, STEADY, LINES, ONCE, VARYING };

static uint64_t seed;
static int steps, rank;

/* What a run consists of, as a function of seed, rank and steps made. */
struct world {
    uint64_t step;
    uint8_t *steady; /* [STEADY_BYTES] */
    uint8_t *varying;
    size_t varying_bytes;
    uint64_t sum;
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t *dice)
{
    return mix(*dice += 0x9e3779b97f4a7c15u);
}

static uint64_t dice_of(uint64_t step)
{
    return mix(seed * 1000003 + (uint64_t)rank * 1009 + step);
}

static size_t varying_bytes_at(uint64_t step)
{
    uint64_t dice = dice_of(step) ^ 1;
    return step == 0 ? 1 : draw(&dice) % SIZE_MAX_OF_VARYING; /* 0 is possible */
}

static void make_varying(struct world *world)
{
    uint64_t dice = dice_of(world->step) ^ 2;
    world->varying_bytes = varying_bytes_at(world->step);
    world->varying = realloc(world->varying, world->varying_bytes + 1);
    for (size_t i = 0; i < world->varying_bytes; i++) {
        world->varying[i] = (uint8_t)(i % 64 ? i : draw(&dice));
    }
}

static void make_step(struct world *world)
{
    uint64_t dice = dice_of(world->step);
    for (uint64_t writes = draw(&dice) % 200; writes > 0; writes--) {
        world->steady[draw(&dice) % STEADY_BYTES] += (uint8_t)(1 + draw(&dice) % 255);
    }
    world->sum = mix(world->sum + draw(&dice));
    world->step++;
    make_varying(world);
}

static void begin(struct world *world)
{
    *world = (struct world){.steady = calloc(1, STEADY_BYTES), .varying = malloc(1)};
    make_varying(world);
}

static void end(struct world *world)
{
    free(world->steady);
    free(world->varying);
}

/* ---- streams ---- */

static int lines_at(uint64_t step)
{
    return (int)(dice_of(step) % LINES_MAX);
}

static void write_streams(uint64_t step)
{
    FILE *stream;
    CHECK(RZ_Checkpoint_stream_open(LINES, "w", &stream) == MPI_SUCCESS);
    fprintf(stream, "%8s lines\n", "?");
    for (int i = 0; i < lines_at(step); i++) {
        fprintf(stream, "%d %llx\n", i, (unsigned long long)mix(dice_of(step) + (uint64_t)i));
    }
    CHECK(fseek(stream, 0, SEEK_SET) == 0);
    fprintf(stream, "%8d", lines_at(step));
    CHECK(fclose(stream) == 0);
    if (step == ONCE_AT) {
        CHECK(RZ_Checkpoint_stream_open(ONCE, "w", &stream) == MPI_SUCCESS);
        CHECK(fwrite(&seed, sizeof(seed), 1, stream) == 1);
        CHECK(fclose(stream) == 0);
    }
}

static void check_streams(uint64_t step)
{
    FILE *stream;
    int n, index;
    unsigned long long value;
    uint64_t once;
    CHECK(RZ_Checkpoint_stream_open(LINES, "r", &stream) == MPI_SUCCESS);
    CHECK(fscanf(stream, "%d lines", &n) == 1 && n == lines_at(step));
    for (int i = 0; i < n; i++) {
        CHECK(fscanf(stream, "%d %llx", &index, &value) == 2 && index == i);
        CHECK(value == mix(dice_of(step) + (uint64_t)i));
    }
    CHECK(fscanf(stream, "%d", &n) == EOF);
    CHECK(fclose(stream) == 0);
    if (step < ONCE_AT) {
        return;
    }
    CHECK(RZ_Checkpoint_stream_open(ONCE, "r", &stream) == MPI_SUCCESS);
    CHECK(fread(&once, 1, sizeof(once), stream) == sizeof(once) && once == seed);
    CHECK(fgetc(stream) == EOF);
    CHECK(fclose(stream) == 0);
}

/* ---- the run ---- */

static void protect_varying(struct world *world)
{
    CHECK(RZ_Checkpoint_protect(VARYING, world->varying, world->varying_bytes) == MPI_SUCCESS);
}

static void check_restored(const struct world *world)
{
    struct world again;
    begin(&again);
    while (again.step < world->step) {
        make_step(&again);
    }
    CHECK(memcmp(again.steady, world->steady, STEADY_BYTES) == 0);
    CHECK(again.varying_bytes == world->varying_bytes);
    CHECK(memcmp(again.varying, world->varying, world->varying_bytes) == 0);
    CHECK(again.sum == world->sum);
    check_streams(world->step);
    end(&again);
}

/* All ranks go back to the same step. */
static void check_together(uint64_t step)
{
    uint64_t least;
    CHECK(MPI_Allreduce(&step, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(least == step);
}

static void restore(struct world *world)
{
    size_t bytes;
    uint64_t generation;
    struct {
        uint64_t step, sum;
    } where = {0};
    CHECK(RZ_Checkpoint_protect(WHERE, &where, sizeof(where)) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_protect(STEADY, world->steady, STEADY_BYTES) == MPI_SUCCESS);
    CHECK(RZ_Checkpoint_region_bytes(VARYING, &bytes) == MPI_SUCCESS);
    CHECK(bytes <= SIZE_MAX_OF_VARYING);
    world->varying = realloc(world->varying, bytes + 1);
    world->varying_bytes = bytes;
    protect_varying(world);
    CHECK(RZ_Restore(&generation) == MPI_SUCCESS);
    CHECK(generation > 0 || bytes == 0);
    if (generation == 0) {
        make_varying(world);
        check_together(0);
        return;
    }
    world->step = where.step;
    world->sum = where.sum;
    check_together(world->step);
    check_restored(world);
}

static void take(struct world *world)
{
    static struct {
        uint64_t step, sum;
    } where;
    where.step = world->step;
    where.sum = world->sum;
    CHECK(RZ_Checkpoint_protect(WHERE, &where, sizeof(where)) == MPI_SUCCESS);
    protect_varying(world);
    write_streams(world->step);
    CHECK(RZ_Checkpoint(NULL) == MPI_SUCCESS);
}

static int point(int argc, char **argv, MPIX_Reinit_state_t state)
{
    struct world world;
    uint64_t all;
    (void)state;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin(&world);
    restore(&world);
    while (world.step < (uint64_t)steps) {
        RZ_Progress_mark(world.step);
        fail_perhaps(argc, argv, rank, world.step);
        make_step(&world);
        CHECK(MPI_Allreduce(&world.sum, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        take(&world);
    }
    CHECK(MPI_Allreduce(&world.sum, &all, 1, MPI_UINT64_T, MPI_BXOR, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    if (rank == 0) {
        printf("the same bits after %d steps, sum %llx\n", steps, (unsigned long long)all);
    }
    end(&world);
    return 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    steps = argc > 2 ? atoi(argv[2]) : 20;
    int result = MPIX_Reinit(argc, argv, point);
    CHECK(result == 0);
    MPI_Finalize();
    return 0;
}
