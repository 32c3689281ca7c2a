/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows and files. Each cell of a window is written by one process, or added to by all, or left
 * alone, so that there is one right content. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 120, KEPT = 5 };

struct window {
    struct player *player;
    MPI_Win win;
    uint64_t *memory, seed, kept[KEPT]; /* kept: what MPI_PROC_NULL is asked for */
    int n, me;
    bool allocated;
};

/* What happens to a cell: below n: that rank writes it; n: all add; else nothing. */
static int fate(const struct window *w, int target, int cell)
{
    return (int)(mix(w->seed, (uint64_t)(target * CELLS + cell)) % (uint64_t)(w->n + 2));
}

static uint64_t value(const struct window *w, int origin, int target, int cell)
{
    return mix(w->seed + 1 + (uint64_t)origin, (uint64_t)(target * CELLS + cell));
}

static uint64_t initial(const struct window *w, int target, int cell)
{
    return mix(w->seed, ~(uint64_t)(target * CELLS + cell));
}

static uint64_t last(const struct window *w, int target, int cell)
{
    int who = fate(w, target, cell);
    uint64_t result = initial(w, target, cell);
    if (who < w->n) {
        return value(w, who, target, cell);
    }
    for (int i = 0; who == w->n && i < w->n; i++) {
        result += value(w, i, target, cell);
    }
    return result;
}

static bool make_window(struct window *w, struct player *player, struct dice *dice,
                        struct slot *slot)
{
    *w = (struct window){.player = player, .n = slot->n, .me = slot->me};
    w->seed = roll(dice);
    w->allocated = chance(dice, 50);
    if (slot->me < 0) {
        return false;
    }
    if (w->allocated) {
        MPI_Win_allocate(CELLS * 8, 8, MPI_INFO_NULL, slot->comm, &w->memory, &w->win);
    } else {
        w->memory = malloc(CELLS * 8);
        MPI_Win_create(w->memory, CELLS * 8, 8, MPI_INFO_NULL, slot->comm, &w->win);
    }
    return true;
}

static void fill_window(struct window *w)
{
    for (int i = 0; i < CELLS; i++) {
        w->memory[i] = initial(w, w->me, i);
    }
}

static void free_window(struct window *w)
{
    MPI_Win_free(&w->win);
    if (!w->allocated) {
        free(w->memory);
    }
}

/* The origin's part; `from`: what is sent, which stays until the operations are over. */
static void change(struct window *w, int target, uint64_t *from)
{
    for (int cell = 0; cell < CELLS; cell++) {
        int who = fate(w, target, cell), many = 1;
        from[cell] = value(w, w->me, target, cell);
        if (who == w->n) {
            MPI_Accumulate(&from[cell], 1, MPI_UINT64_T, target, cell, 1, MPI_UINT64_T, MPI_SUM,
                           w->win);
        } else if (who == w->me) {
            while (cell + many < CELLS && fate(w, target, cell + many) == who) {
                from[cell + many] = value(w, w->me, target, cell + many);
                many++;
            }
            MPI_Put(&from[cell], many, MPI_UINT64_T, target, cell, many, MPI_UINT64_T, w->win);
            cell += many - 1;
        }
    }
}

/* Nothing comes of what is done to MPI_PROC_NULL; an epoch is needed all the same. */
static void change_nobody(struct window *w, bool passive)
{
    static const uint64_t one = 1;
    MPI_Request request[3];
    uint64_t *got = w->kept;
    for (int i = 0; i < KEPT; i++) {
        got[i] = w->seed;
    }
    if (w->seed % 3 > 0) {
        return;
    }
    MPI_Put(&one, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, w->win);
    MPI_Accumulate(&one, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, MPI_SUM, w->win);
    MPI_Get(&got[0], 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, w->win);
    MPI_Get_accumulate(&one, 1, MPI_UINT64_T, &got[1], 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1,
                       MPI_UINT64_T, MPI_SUM, w->win);
    MPI_Fetch_and_op(&one, &got[2], MPI_UINT64_T, MPI_PROC_NULL, 0, MPI_SUM, w->win);
    MPI_Compare_and_swap(&one, &one, &got[3], MPI_UINT64_T, MPI_PROC_NULL, 0, w->win);
    if (passive) {
        MPI_Rput(&one, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, w->win, &request[0]);
        MPI_Rget(&got[4], 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, w->win, &request[1]);
        MPI_Raccumulate(&one, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, MPI_SUM, w->win,
                        &request[2]);
        MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    }
}

static void check_nobody(const struct window *w)
{
    for (int i = 0; i < KEPT; i++) {
        if (w->kept[i] != w->seed) {
            wrong(w->player->op, "operation %d on MPI_PROC_NULL got %llx", i,
                  (unsigned long long)w->kept[i]);
        }
    }
}

static void check_cells(const struct window *w, int target, const uint64_t *cells,
                        const char *where)
{
    for (int i = 0; i < CELLS; i++) {
        if (cells[i] != last(w, target, i)) {
            wrong(w->player->op, "cell %d of rank %d is %llx for %llx %s (fate %d of %d)", i,
                  target, (unsigned long long)cells[i], (unsigned long long)last(w, target, i),
                  where, fate(w, target, i), w->n);
        }
    }
}

void play_window(struct player *player, struct dice *dice, struct slot *slot)
{
    struct window w;
    if (!make_window(&w, player, dice, slot)) {
        return;
    }
    size_t all = (size_t)w.n * CELLS;
    uint64_t *from = malloc(all * 8), *got = malloc(all * 8);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win);
    fill_window(&w);
    MPI_Win_fence(0, w.win);
    for (int i = 0; i < w.n; i++) {
        int target = (w.me + i) % w.n;
        change(&w, target, from + (size_t)target * CELLS);
    }
    change_nobody(&w, false);
    MPI_Win_fence(0, w.win);
    check_nobody(&w);
    check_cells(&w, w.me, w.memory, "after a fence");
    for (int i = 0; i < w.n; i++) {
        MPI_Get(got + (size_t)i * CELLS, CELLS, MPI_UINT64_T, i, 0, CELLS, MPI_UINT64_T, w.win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    for (int i = 0; i < w.n; i++) {
        check_cells(&w, i, got + (size_t)i * CELLS, "in a get");
    }
    free(from);
    free(got);
    free_window(&w);
}

void play_locks(struct player *player, struct dice *dice, struct slot *slot)
{
    struct window w;
    uint32_t way = below(dice, 3);
    if (!make_window(&w, player, dice, slot)) {
        return;
    }
    size_t all = (size_t)w.n * CELLS;
    uint64_t *from = malloc(all * 8), got[CELLS];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.me, 0, w.win);
    fill_window(&w);
    MPI_Win_unlock(w.me, w.win);
    MPI_Barrier(slot->comm);
    if (way == 0) {
        MPI_Win_lock_all(0, w.win);
    }
    for (int i = 0; i < w.n; i++) {
        int target = (w.me + i) % w.n;
        if (way > 0) {
            MPI_Win_lock(way == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, w.win);
        }
        change(&w, target, from + (size_t)target * CELLS);
        if (i == 0) {
            change_nobody(&w, true);
        }
        if (way > 0) {
            MPI_Win_unlock(target, w.win);
        } else if (i % 2 == 0) {
            MPI_Win_flush(target, w.win);
        }
    }
    if (way == 0) {
        MPI_Win_unlock_all(w.win);
    }
    check_nobody(&w);
    MPI_Barrier(slot->comm);
    int other = (w.me + 1) % w.n;
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w.win);
    MPI_Get_accumulate(from, CELLS, MPI_UINT64_T, got, CELLS, MPI_UINT64_T, other, 0, CELLS,
                       MPI_UINT64_T, MPI_NO_OP, w.win);
    MPI_Win_unlock(other, w.win);
    check_cells(&w, other, got, "after locks");
    free(from);
    free_window(&w);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Each process takes some numbers of a counter: together, each number once. */
void play_counter(struct player *player, struct dice *dice, struct slot *slot)
{
    enum { TIMES = 10 };
    struct window w;
    int owner = (int)below(dice, (uint32_t)slot->n);
    const uint64_t one = 1;
    uint64_t mine[TIMES];
    if (!make_window(&w, player, dice, slot)) {
        return;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.me, 0, w.win);
    memset(w.memory, 0, CELLS * 8);
    MPI_Win_unlock(w.me, w.win);
    MPI_Barrier(slot->comm);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < TIMES; i++) {
        MPI_Fetch_and_op(&one, &mine[i], MPI_UINT64_T, owner, 7, MPI_SUM, w.win);
        MPI_Win_flush(owner, w.win);
    }
    MPI_Win_unlock_all(w.win);
    uint64_t *all = malloc((size_t)w.n * TIMES * 8);
    MPI_Allgather(mine, TIMES, MPI_UINT64_T, all, TIMES, MPI_UINT64_T, slot->comm);
    qsort(all, (size_t)w.n * TIMES, 8, by_value);
    for (int i = 0; i < w.n * TIMES; i++) {
        if (all[i] != (uint64_t)i) {
            wrong(player->op, "number %d of a counter is %llu", i, (unsigned long long)all[i]);
        }
    }
    free(all);
    free_window(&w);
}

/* ---- A file: blocks of all ranks by turns, written by a view, read back by another rank ---- */

/* Errors of files are returned. */
static void need_file(struct player *player, int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code != MPI_SUCCESS) {
        MPI_Error_string(code, text, &length);
        wrong(player->op, "%s: %s", call, text);
    }
}

void play_file(struct player *player, struct dice *dice, struct slot *slot)
{
    int blocks = (int)between(dice, 1, 6), each = (int)between(dice, 1, 300);
    uint32_t way = below(dice, 4);
    uint64_t seed = roll(dice);
    char name[600];
    MPI_File file;
    MPI_Datatype block, tile;
    MPI_Request request;
    MPI_Status status;
    if (slot->me < 0 || !player->folder) {
        return;
    }
    snprintf(name, sizeof(name), "%s/file-%016llx", player->folder, (unsigned long long)seed);
    int words = blocks * each, rank = slot->me, count;
    uint32_t *data = malloc((size_t)words * 4), *back = malloc((size_t)words * 4);
    for (int i = 0; i < words; i++) {
        data[i] = (uint32_t)mix(seed + (uint64_t)rank, (uint64_t)i);
    }
    MPI_Type_contiguous(each, MPI_UINT32_T, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)each * 4 * slot->n, &tile);
    MPI_Type_commit(&tile);
    need_file(
        player,
        MPI_File_open(slot->comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file),
        "MPI_File_open");
    MPI_File_set_view(file, (MPI_Offset)rank * each * 4, MPI_UINT32_T, tile, "native",
                      MPI_INFO_NULL);
    switch (way) {
    case 0:
        need_file(player, MPI_File_write_all(file, data, words, MPI_UINT32_T, &status),
                  "MPI_File_write_all");
        break;
    case 1:
        need_file(player, MPI_File_write_at(file, 0, data, words, MPI_UINT32_T, &status),
                  "MPI_File_write_at");
        break;
    case 2:
        need_file(player, MPI_File_iwrite_at(file, 0, data, words, MPI_UINT32_T, &request),
                  "MPI_File_iwrite_at");
        need_file(player, MPI_Wait(&request, &status), "MPI_Wait");
        break;
    default:
        need_file(player, MPI_File_iwrite_all(file, data, words, MPI_UINT32_T, &request),
                  "MPI_File_iwrite_all");
        need_file(player, MPI_Wait(&request, &status), "MPI_Wait");
        break;
    }
    MPI_Get_count(&status, MPI_UINT32_T, &count);
    MPI_File_sync(file);
    MPI_Barrier(slot->comm);
    MPI_File_sync(file);
    int other = (rank + 1) % slot->n, read;
    MPI_File_set_view(file, (MPI_Offset)other * each * 4, MPI_UINT32_T, tile, "native",
                      MPI_INFO_NULL);
    if (way % 2 == 0) {
        need_file(player, MPI_File_read_at_all(file, 0, back, words, MPI_UINT32_T, &status),
                  "MPI_File_read_at_all");
    } else {
        need_file(player, MPI_File_read(file, back, words, MPI_UINT32_T, &status), "MPI_File_read");
    }
    MPI_Get_count(&status, MPI_UINT32_T, &read);
    for (int i = 0; i < words; i++) {
        if (count != words || read != words ||
            back[i] != (uint32_t)mix(seed + (uint64_t)other, (uint64_t)i)) {
            wrong(player->op, "%d of %d words are written, %d read; word %d of rank %d is %x",
                  count, words, read, i, other, back[i]);
        }
    }
    need_file(player, MPI_File_close(&file), "MPI_File_close");
    if (rank == 0) {
        MPI_File_delete(name, MPI_INFO_NULL);
    }
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
    free(data);
    free(back);
}
