/* SPDX-License-Identifier: BSD-3-Clause */
/* Independent reading and writing. */
#include "mpi/io/transfer.h"

#include <stdlib.h>

static int io_error(const struct rz_access *access, int cause)
{
    return rz_file_system_error(cause, access->writes ? "write" : "read", access->file->name);
}

static int read_at(struct rz_access *access, void *to, MPI_Count bytes, MPI_Offset offset,
                   MPI_Count *done)
{
    size_t n;
    int cause = access->file->system->read(access->file->stored, to, (size_t)bytes, offset, &n);
    *done = (MPI_Count)n;
    return io_error(access, cause);
}

static int write_at(struct rz_access *access, const void *from, MPI_Count bytes, MPI_Offset offset)
{
    size_t n;
    return io_error(
        access, access->file->system->write(access->file->stored, from, (size_t)bytes, offset, &n));
}

/* ---- Writing ---- */

/* Writes bytes that lie at `from` to the next pieces of the view. */
static int write_pieces(struct rz_access *access, struct rz_walk *walk, const char *from,
                        MPI_Count bytes, MPI_Count *done)
{
    while (bytes > 0) {
        MPI_Count offset;
        MPI_Count n = rz_walk_next(walk, bytes, &offset);
        int error = write_at(access, from, n, offset);
        if (error != MPI_SUCCESS) {
            return error;
        }
        from += n;
        bytes -= n;
        *done += n;
    }
    return MPI_SUCCESS;
}

static int write_all(struct rz_access *access, struct rz_walk *walk, char *room, MPI_Count room_max,
                     MPI_Count *done)
{
    if (access->row) {
        return write_pieces(access, walk, access->row, access->bytes, done);
    }
    while (*done < access->bytes) {
        MPI_Count rest = access->bytes - *done, n = rest < room_max ? rest : room_max;
        rz_access_get(access, room, n);
        int error = write_pieces(access, walk, room, n, done);
        if (error != MPI_SUCCESS) {
            return error;
        }
    }
    return MPI_SUCCESS;
}

/* ---- Reading ---- */

/* The pieces that are read at once: from the offset `begin` to `end`, with so many bytes of
 * data. */
struct window {
    MPI_Offset begin, end;
    MPI_Count pieces, bytes;
};

static void window_next(struct rz_walk *walk, MPI_Count left, MPI_Count span_max,
                        struct window *window)
{
    *window = (struct window){0};
    while (left > 0) {
        MPI_Count offset;
        MPI_Count before = walk->position;
        MPI_Count n = rz_walk_next(walk, left < span_max ? left : span_max, &offset);
        bool first = window->pieces == 0;
        if (!first && (offset < window->end || offset + n - window->begin > span_max)) {
            rz_walk_seek(walk, before);
            return;
        }
        window->begin = first ? offset : window->begin;
        window->end = offset + n;
        window->pieces++;
        window->bytes += n;
        left -= n;
    }
}

/* Data reach memory: at their place already, or from the room. */
static void deliver(struct rz_access *access, MPI_Count done, const char *from, MPI_Count n)
{
    if (access->row) {
        memcpy(access->row + done, from, (size_t)n);
    } else {
        rz_access_put(access, from, n);
    }
}

/* Reads all that lies in the window, and takes its pieces out of it. */
static int read_sieved(struct rz_access *access, struct rz_walk *walk, const struct window *window,
                       char *room, MPI_Count *done)
{
    MPI_Count got, left = window->bytes;
    int error = read_at(access, room, window->end - window->begin, window->begin, &got);
    while (error == MPI_SUCCESS && left > 0) {
        MPI_Count offset;
        MPI_Count n = rz_walk_next(walk, left, &offset);
        MPI_Count at = offset - window->begin;
        MPI_Count there = at >= got ? 0 : got - at < n ? got - at : n;
        deliver(access, *done, room + at, there);
        *done += there;
        left = there < n ? 0 : left - n;
    }
    return error;
}

static int read_pieces(struct rz_access *access, struct rz_walk *walk, MPI_Count bytes, char *room,
                       MPI_Count room_max, MPI_Count *done)
{
    while (bytes > 0) {
        MPI_Count offset, got;
        MPI_Count max = access->row || bytes < room_max ? bytes : room_max;
        MPI_Count n = rz_walk_next(walk, max, &offset);
        int error = read_at(access, access->row ? access->row + *done : room, n, offset, &got);
        if (error != MPI_SUCCESS) {
            return error;
        }
        if (!access->row) {
            rz_access_put(access, room, got);
        }
        *done += got;
        bytes = got < n ? 0 : bytes - n;
    }
    return MPI_SUCCESS;
}

/* Less than this part of the window is data: its pieces are read one by one. */
#define SIEVE_PART 16

static int read_windows(struct rz_access *access, struct rz_walk *walk, char *room,
                        MPI_Count room_max, MPI_Count *done)
{
    enum rz_file_switch sieve = (enum rz_file_switch)access->file->hints.ds_read;
    struct rz_walk ahead;
    int error = MPI_SUCCESS;
    rz_view_walk(&access->view, access->place, &ahead);
    MPI_Count asked = 0;
    while (error == MPI_SUCCESS && asked < access->bytes && *done == asked) {
        struct window window;
        window_next(&ahead, access->bytes - asked, room_max, &window);
        asked += window.bytes;
        MPI_Count span = window.end - window.begin;
        bool dense = window.pieces > 1 && window.bytes >= span / SIEVE_PART;
        bool sieved =
            window.pieces > 1 && (sieve == RZ_FILE_ENABLE || (sieve == RZ_FILE_AUTOMATIC && dense));
        error = sieved ? read_sieved(access, walk, &window, room, done)
                       : read_pieces(access, walk, window.bytes, room, room_max, done);
    }
    rz_walk_end(&ahead);
    return error;
}

/* ---- Both ---- */

/* No more than the access can use: windows that are not dense are not read at once. */
static MPI_Count room_for(const struct rz_access *access)
{
    const struct rz_file_hints *hints = &access->file->hints;
    MPI_Count most = access->writes ? hints->ind_wr_buffer_size : hints->ind_rd_buffer_size;
    MPI_Count part = access->writes ? 1 : SIEVE_PART;
    bool all = !access->writes && hints->ds_read == RZ_FILE_ENABLE;
    return all || access->bytes > most / part ? most : access->bytes * part;
}

static int transfer(struct rz_access *access, struct rz_walk *walk, MPI_Count *done)
{
    MPI_Count room_max = room_for(access);
    bool direct = access->row && (access->writes || access->view.is_row);
    char *room = direct ? NULL : malloc((size_t)room_max);
    int error;
    if (!direct && !room) {
        return MPI_ERR_NO_MEM;
    }
    if (access->writes) {
        error = write_all(access, walk, room, room_max, done);
    } else if (access->view.is_row || access->file->hints.ds_read == RZ_FILE_DISABLE) {
        error = read_pieces(access, walk, access->bytes, room, room_max, done);
    } else {
        error = read_windows(access, walk, room, room_max, done);
    }
    free(room);
    return error;
}

int rz_transfer(struct rz_access *access, MPI_Count *done)
{
    struct rz_walk walk;
    *done = 0;
    if (access->bytes == 0) {
        return MPI_SUCCESS;
    }
    rz_view_walk(&access->view, access->place, &walk);
    int error = transfer(access, &walk, done);
    rz_walk_end(&walk);
    return error;
}
