/* SPDX-License-Identifier: BSD-3-Clause */
/* The window of an aggregator. */
#include "mpi/io/file_window.h"

#include "port/kill_point.h"

#include <stdlib.h>

#define WORD_BITS 64

static size_t words(MPI_Count bytes)
{
    return (size_t)((bytes + WORD_BITS - 1) / WORD_BITS);
}

bool rz_file_window_make(struct rz_file_window *window, struct rz_file *file, MPI_Count bytes_max)
{
    *window = (struct rz_file_window){.file = file, .bytes_max = bytes_max};
    window->bytes = malloc((size_t)bytes_max);
    window->marked = malloc(words(bytes_max) * sizeof(uint64_t));
    return window->bytes && window->marked;
}

void rz_file_window_free(struct rz_file_window *window)
{
    free(window->bytes);
    free(window->marked);
}

void rz_file_window_move(struct rz_file_window *window, MPI_Offset begin, MPI_Offset end)
{
    rz_assert(end - begin <= window->bytes_max);
    window->begin = begin;
    window->end = end;
    memset(window->marked, 0, words(end - begin) * sizeof(uint64_t));
}

/* Sets the bits [from, to). */
static void mark(uint64_t *marked, MPI_Count from, MPI_Count to)
{
    MPI_Count first = from / WORD_BITS, last = (to - 1) / WORD_BITS;
    uint64_t head = UINT64_MAX << (from % WORD_BITS);
    uint64_t tail = UINT64_MAX >> (WORD_BITS - 1 - (to - 1) % WORD_BITS);
    if (first == last) {
        marked[first] |= head & tail;
        return;
    }
    marked[first] |= head;
    memset(&marked[first + 1], 0xff, (size_t)(last - first - 1) * sizeof(uint64_t));
    marked[last] |= tail;
}

void rz_file_window_mark(struct rz_file_window *window, const struct rz_file_piece *piece,
                         const char *data)
{
    MPI_Count at = piece->offset - window->begin;
    rz_assert(at >= 0 && piece->bytes > 0 && piece->offset + piece->bytes <= window->end);
    mark(window->marked, at, at + piece->bytes);
    if (data) {
        memcpy(window->bytes + at, data, (size_t)piece->bytes);
    }
}

/* The first place from `at` on whose bit is `set`; bytes: there is none. */
static MPI_Count find(const uint64_t *marked, MPI_Count at, MPI_Count bytes, bool set)
{
    while (at < bytes) {
        uint64_t word = set ? marked[at / WORD_BITS] : ~marked[at / WORD_BITS];
        word >>= at % WORD_BITS;
        if (word != 0) {
            at += __builtin_ctzll(word);
            return at < bytes ? at : bytes;
        }
        at = (at / WORD_BITS + 1) * WORD_BITS;
    }
    return bytes;
}

int rz_file_window_write(struct rz_file_window *window)
{
    MPI_Count bytes = window->end - window->begin;
    const struct rz_file *file = window->file;
    for (MPI_Count at = find(window->marked, 0, bytes, true); at < bytes;) {
        MPI_Count to = find(window->marked, at, bytes, false);
        size_t done;
        rz_kill_here(RZ_KILL_DATA_FILE_WRITE);
        int error =
            rz_file_system_error(file->system->write(file->stored, window->bytes + at,
                                                     (size_t)(to - at), window->begin + at, &done),
                                 "write", file->name);
        if (error != MPI_SUCCESS) {
            return error;
        }
        at = find(window->marked, to, bytes, true);
    }
    return MPI_SUCCESS;
}

/* Smaller gaps are read with what surrounds them. */
#define GAP_MAX 65536

static int read_run(struct rz_file_window *window, MPI_Count at, MPI_Count to,
                    MPI_Offset *end_of_file)
{
    size_t done, bytes = (size_t)(to - at);
    const struct rz_file *file = window->file;
    int cause =
        file->system->read(file->stored, window->bytes + at, bytes, window->begin + at, &done);
    if (cause == 0 && done < bytes) {
        MPI_Offset end = window->begin + at + (MPI_Offset)done;
        *end_of_file = end < *end_of_file ? end : *end_of_file;
    }
    return rz_file_system_error(cause, "read", file->name);
}

int rz_file_window_read(struct rz_file_window *window, MPI_Offset *end_of_file)
{
    MPI_Count bytes = window->end - window->begin;
    bool sieves = window->file->hints.ds_read != RZ_FILE_DISABLE;
    int error = MPI_SUCCESS;
    for (MPI_Count at = find(window->marked, 0, bytes, true); at < bytes && error == MPI_SUCCESS;) {
        MPI_Count to = find(window->marked, at, bytes, false);
        MPI_Count next = find(window->marked, to, bytes, true);
        while (sieves && next < bytes && next - to <= GAP_MAX) {
            to = find(window->marked, next, bytes, false);
            next = find(window->marked, to, bytes, true);
        }
        error = read_run(window, at, to, end_of_file);
        at = next;
    }
    return error;
}
