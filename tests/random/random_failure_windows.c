/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows and files while processes fail: made at all members or at none, by agreement; used in
 * one of several ways; ended by all that live.
 */
#include "random_failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Windows: cell i of each member is written by member i ---- */

struct window {
    struct game *game;
    struct comm *comm;
    MPI_Win win;
    uint64_t *memory, *from, seed;
    bool allocated, revocable;
};

static uint64_t cell(const struct window *w, int origin, int target)
{
    return mix(w->seed, (uint64_t)origin << 8 | (uint64_t)target);
}

static bool win_well(struct window *w, int peer, int error, const char *call)
{
    int class = class_of(error), flag = 0, n = 0;
    MPI_Group failed;
    if (class == MPIX_ERR_REVOKED) {
        MPIX_Win_is_revoked(w->win, &flag);
        if (!w->revocable || !flag) {
            wrong(number_of(w->game), "%s: REVOKED, and the window is not", call);
        }
        return false;
    }
    if (class != MPI_SUCCESS && class != MPIX_ERR_PROC_FAILED) {
        refused(w->game, error, call);
    }
    if (class == MPIX_ERR_PROC_FAILED) {
        check_failed(w->game, w->comm, peer < 0 ? ALL : w->comm->member[peer], call);
        must(w->game, MPIX_Win_get_failed(w->win, &failed), "MPIX_Win_get_failed");
        MPI_Group_size(failed, &n);
        MPI_Group_free(&failed);
    }
    if (class == MPIX_ERR_PROC_FAILED && n == 0) {
        wrong(number_of(w->game), "%s: PROC_FAILED, and no member has failed", call);
    }
    return class == MPI_SUCCESS;
}

/* False: not all members have it, and then none. */
static bool make_window(struct window *w)
{
    struct comm *comm = w->comm;
    size_t bytes = (size_t)comm->n * sizeof(uint64_t);
    int error, flag;
    w->win = MPI_WIN_NULL;
    w->memory = w->allocated ? NULL : calloc((size_t)comm->n, sizeof(uint64_t));
    if (w->allocated) {
        error =
            MPI_Win_allocate((MPI_Aint)bytes, 8, MPI_INFO_NULL, comm->comm, &w->memory, &w->win);
    } else {
        error = MPI_Win_create(w->memory, (MPI_Aint)bytes, 8, MPI_INFO_NULL, comm->comm, &w->win);
    }
    flag = went_well(w->game, comm, ALL, error, "a call that makes a window");
    for (int i = 0; flag && i < comm->n; i++) {
        w->memory[i] = 0;
    }
    if (flag) {
        MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    }
    agree(w->game, w->game->op, comm, true, &flag);
    return flag & 1;
}

static void free_window(struct window *w)
{
    if (w->win != MPI_WIN_NULL) {
        must(w->game, MPI_Win_free(&w->win), "MPI_Win_free");
    }
    if (!w->allocated) {
        free(w->memory);
    }
    free(w->from);
}

/* Never fails, but for a revocation. */
static bool put(struct window *w, int target)
{
    w->from[target] = cell(w, w->comm->me, target);
    int error =
        MPI_Put(&w->from[target], 1, MPI_UINT64_T, target, w->comm->me, 1, MPI_UINT64_T, w->win);
    if (class_of(error) == MPIX_ERR_PROC_FAILED) {
        refused(w->game, error, "MPI_Put");
    }
    return win_well(w, target, error, "MPI_Put");
}

static void check_cell(struct window *w, int origin, int target, uint64_t found)
{
    if (found != cell(w, origin, target)) {
        wrong(number_of(w->game), "cell %d of rank %d is %llx for %llx", origin, target,
              (unsigned long long)found, (unsigned long long)cell(w, origin, target));
    }
}

/* A second fence that succeeds has all that was put before it. */
static void use_fences(struct window *w)
{
    int n = w->comm->n;
    bool good = win_well(w, ALL, MPI_Win_fence(0, w->win), "MPI_Win_fence");
    for (int i = 0; i < n && good; i++) {
        good = put(w, (w->comm->me + i) % n);
    }
    if (win_well(w, ALL, MPI_Win_fence(0, w->win), "the second MPI_Win_fence")) {
        for (int i = 0; i < n; i++) {
            check_cell(w, i, w->comm->me, w->memory[i]);
        }
    }
}

static void use_lock(struct window *w, int target, int type)
{
    uint64_t found = 0;
    if (!win_well(w, target, MPI_Win_lock(type, target, 0, w->win), "MPI_Win_lock")) {
        return;
    }
    bool good = put(w, target);
    good = win_well(w, target, MPI_Win_unlock(target, w->win), "MPI_Win_unlock") && good;
    if (!good || !win_well(w, target, MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win),
                           "the second MPI_Win_lock")) {
        return;
    }
    MPI_Get(&found, 1, MPI_UINT64_T, target, w->comm->me, 1, MPI_UINT64_T, w->win);
    if (win_well(w, target, MPI_Win_unlock(target, w->win), "the second MPI_Win_unlock")) {
        check_cell(w, w->comm->me, target, found);
    }
}

static void use_lock_all(struct window *w)
{
    int n = w->comm->n, me = w->comm->me;
    if (!win_well(w, ALL, MPI_Win_lock_all(0, w->win), "MPI_Win_lock_all")) {
        return;
    }
    for (int i = 0; i < n; i++) {
        int target = (me + i) % n;
        uint64_t found = 0;
        if (put(w, target) && win_well(w, target, MPI_Win_flush(target, w->win), "MPI_Win_flush")) {
            MPI_Get(&found, 1, MPI_UINT64_T, target, me, 1, MPI_UINT64_T, w->win);
            if (win_well(w, target, MPI_Win_flush(target, w->win), "the second MPI_Win_flush")) {
                check_cell(w, me, target, found);
            }
        }
    }
    win_well(w, ALL, MPI_Win_unlock_all(w->win), "MPI_Win_unlock_all");
}

/* All post to all, and start with all. */
static void use_posts(struct window *w)
{
    int n = w->comm->n;
    MPI_Group all;
    MPI_Comm_group(w->comm->comm, &all);
    bool posted = win_well(w, ALL, MPI_Win_post(all, 0, w->win), "MPI_Win_post");
    bool good = win_well(w, ALL, MPI_Win_start(all, 0, w->win), "MPI_Win_start");
    for (int i = 0; i < n && good; i++) {
        put(w, i);
    }
    if (good) {
        win_well(w, ALL, MPI_Win_complete(w->win), "MPI_Win_complete");
    }
    if (posted && win_well(w, ALL, MPI_Win_wait(w->win), "MPI_Win_wait")) {
        for (int i = 0; i < n; i++) {
            check_cell(w, i, w->comm->me, w->memory[i]);
        }
    }
    MPI_Group_free(&all);
}

void fail_window(struct game *game, struct dice *dice, struct comm *comm)
{
    struct window w = {.game = game, .comm = comm, .allocated = chance(dice, 50)};
    uint32_t way = below(dice, 5);
    w.revocable = chance(dice, 15);
    w.seed = roll(dice);
    int revoker = (int)below(dice, (uint32_t)comm->n);
    if (comm->me < 0) {
        return;
    }
    w.from = calloc((size_t)comm->n, sizeof(uint64_t));
    if (make_window(&w)) {
        if (w.revocable && comm->me == revoker) {
            must(game, MPIX_Win_revoke(w.win), "MPIX_Win_revoke");
        }
        if (way == 0) {
            use_fences(&w);
        } else if (way == 1) {
            use_lock_all(&w);
        } else if (way == 2) {
            use_posts(&w);
        }
        for (int i = 0; i < comm->n && way > 2; i++) {
            use_lock(&w, (comm->me + i) % comm->n, way == 3 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE);
        }
    }
    free_window(&w);
}

/* ---- Files ---- */

/* Each member writes some words: a block, or, if they are `mixed`, each n-th one. */
struct file {
    struct game *game;
    struct comm *comm;
    MPI_File file;
    char name[600];
    uint64_t seed;
    int words;
    bool mixed;
};

static uint32_t word(const struct file *f, int member, int i)
{
    return (uint32_t)mix(f->seed + (uint64_t)member, (uint64_t)i);
}

/* An access that is no collective one needs no failed process. */
static void check_own(struct file *f)
{
    uint32_t *back = malloc((size_t)f->words * 4 + 4);
    MPI_Status status;
    int count;
    must(f->game, MPI_File_read_at(f->file, 0, back, f->words, MPI_UINT32_T, &status),
         "MPI_File_read_at");
    MPI_Get_count(&status, MPI_UINT32_T, &count);
    for (int i = 0; i < f->words; i++) {
        if (count != f->words || back[i] != word(f, f->comm->me, i)) {
            wrong(number_of(f->game), "word %d of my %d is %x, and %d were read", i, f->words,
                  back[i], count);
        }
    }
    free(back);
}

/* If the words of several members lie among each other, a collective write that succeeds at one has
 * been written by all (docs/files.md). */
static void check_file(struct file *f)
{
    int n = f->comm->n;
    FILE *file = fopen(f->name, "rb");
    if (!file) {
        wrong(number_of(f->game), "%s is not there", f->name);
    }
    for (int i = 0; i < f->words * n; i++) {
        uint32_t found = 0;
        if (fread(&found, 4, 1, file) != 1 || found != word(f, i % n, i / n)) {
            wrong(number_of(f->game), "word %d of %d of rank %d is %x", i / n, f->words, i % n,
                  found);
        }
    }
    fclose(file);
}

static int set_view(const struct file *f)
{
    int n = f->comm->n, me = f->comm->me;
    MPI_Datatype tile;
    MPI_Type_create_resized(MPI_UINT32_T, 0, (MPI_Aint)(f->mixed ? n : 1) * 4, &tile);
    MPI_Type_commit(&tile);
    int error = MPI_File_set_view(f->file, (MPI_Offset)me * 4 * (f->mixed ? 1 : f->words),
                                  MPI_UINT32_T, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&tile);
    return error;
}

static int write_words(const struct file *f, uint32_t way, const uint32_t *data)
{
    MPI_Request request;
    int error;
    switch (way) {
    case 0:
        return MPI_File_write_at_all(f->file, 0, data, f->words, MPI_UINT32_T, MPI_STATUS_IGNORE);
    case 1:
        error = MPI_File_iwrite_at_all(f->file, 0, data, f->words, MPI_UINT32_T, &request);
        return error != MPI_SUCCESS ? error : MPI_Wait(&request, MPI_STATUS_IGNORE);
    default:
        return MPI_File_write_at(f->file, 0, data, f->words, MPI_UINT32_T, MPI_STATUS_IGNORE);
    }
}

static void use_file(struct file *f, uint32_t way)
{
    uint32_t *data = malloc((size_t)f->words * 4 + 4);
    for (int i = 0; i < f->words; i++) {
        data[i] = word(f, f->comm->me, i);
    }
    if (went_well(f->game, f->comm, ALL, set_view(f), "MPI_File_set_view")) {
        int error = write_words(f, way, data);
        if (way == 2) {
            must(f->game, error, "MPI_File_write_at");
        }
        if (went_well(f->game, f->comm, ALL, error, "a collective write")) {
            check_own(f);
            if (way != 2 && f->mixed && f->words > 1) {
                check_file(f);
            }
        }
    }
    went_well(f->game, f->comm, ALL, MPI_File_sync(f->file), "MPI_File_sync");
    free(data);
}

void fail_file(struct game *game, struct dice *dice, struct comm *comm)
{
    struct file f = {.game = game, .comm = comm, .file = MPI_FILE_NULL, .mixed = chance(dice, 50)};
    uint32_t way = below(dice, 3), most = chance(dice, 20) ? 100000 : 300;
    f.words = (int)below(dice, most);
    f.seed = roll(dice);
    if (comm->me < 0 || !game->folder || comm->revocable || comm->revoked) {
        return;
    }
    snprintf(f.name, sizeof(f.name), "%s/failure-%016llx", game->folder,
             (unsigned long long)f.seed);
    int error =
        MPI_File_open(comm->comm, f.name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f.file);
    int flag = went_well(game, comm, ALL, error, "MPI_File_open");
    agree(game, game->op, comm, true, &flag);
    if (flag & 1) {
        use_file(&f, way);
    }
    if (f.file != MPI_FILE_NULL) {
        went_well(game, comm, ALL, MPI_File_close(&f.file), "MPI_File_close");
        if (f.file != MPI_FILE_NULL) {
            wrong(number_of(game), "MPI_File_close leaves the handle");
        }
    }
    agree(game, game->op, comm, true, &flag); /* nobody looks at it any more */
    unlink(f.name);
}
