/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of times and two of files. */
#include "mpi/rewind/undone_files.h"

#define NS_PER_S UINT64_C(1000000000)

/* So many restorations of one process have times of their own; what comes after them makes the last
 * one longer. */
enum { TIMES_MAX = 32 };

/* Files of each list. */
enum { FILES_MAX = 256 };

struct file_list {
    struct {
        dev_t device;
        ino_t inode;
    } file[FILES_MAX];
    uint32_t n;
    bool all; /* there were more */
};

static struct {
    uint64_t from, to;
} times[TIMES_MAX];
static uint32_t n_times;

static struct file_list opened, streams;
atomic_bool rz_undone_any_open;

/* ---- Times ---- */

void rz_undone_add(uint64_t from_ns, uint64_t to_ns)
{
    uint32_t i = n_times < TIMES_MAX ? n_times++ : TIMES_MAX - 1;
    if (times[i].to == 0 || from_ns < times[i].from) {
        times[i].from = from_ns;
    }
    times[i].to = to_ns;
}

static bool is_undone(uint64_t ns)
{
    bool found = false;
    uint64_t until = ns % NS_PER_S ? ns : ns + NS_PER_S - 1;
    for (uint32_t i = 0; i < n_times; i++) {
        found = found || (until > times[i].from && ns < times[i].to);
    }
    return found;
}

bool rz_undone_has(const struct stat *st)
{
    return is_undone((uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec);
}

bool rz_undone_made(uint64_t made_ns)
{
    return made_ns != 0 && is_undone(made_ns);
}

/* ---- Files ---- */

/* Its place, or n. */
static uint32_t place_of(const struct file_list *list, const struct stat *st)
{
    uint32_t i = 0;
    while (i < list->n &&
           (list->file[i].inode != st->st_ino || list->file[i].device != st->st_dev)) {
        i++;
    }
    return i;
}

static void put(struct file_list *list, const struct stat *st)
{
    uint32_t i = place_of(list, st);
    if (i == FILES_MAX) {
        list->all = true;
    } else {
        list->file[i].device = st->st_dev;
        list->file[i].inode = st->st_ino;
        list->n += i == list->n;
    }
}

void rz_undone_open(const struct stat *st)
{
    put(&opened, st);
    atomic_store(&rz_undone_any_open, true);
}

void rz_undone_emptied(const struct stat *st)
{
    uint32_t i = place_of(&opened, st);
    if (i < opened.n) {
        opened.file[i] = opened.file[--opened.n];
        atomic_store(&rz_undone_any_open, opened.n > 0 || opened.all);
    }
}

bool rz_undone_is_open(const struct stat *st)
{
    return opened.all || place_of(&opened, st) < opened.n;
}

void rz_undone_stream(const struct stat *st)
{
    put(&streams, st);
}

/* The number of the device may be that of another host. */
bool rz_undone_is_stream(const struct stat *st)
{
    bool found = streams.all;
    for (uint32_t i = 0; i < streams.n; i++) {
        found = found || streams.file[i].inode == st->st_ino;
    }
    return found;
}
