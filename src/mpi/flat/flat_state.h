/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the ring among processes share; all of it belongs to the thread.
 */
#ifndef RZ_MPI_FLAT_FLAT_STATE_H
#define RZ_MPI_FLAT_FLAT_STATE_H

#include "host/embedded.h"
#include "mpi/flat/flat.h"
#include "net/datagram/datagram_post.h"

#include <pthread.h>

/* An event that the cores reported, kept until they may be stepped again. */
enum rz_flat_what {
    RZ_FLAT_SUSPECT, /* this process suspects a member */
    RZ_FLAT_HEARD,   /* other processes report that they suspect it */
    RZ_FLAT_LEFT     /* the member itself has left, in order */
};
struct rz_flat_find {
    enum rz_flat_what what;
    uint32_t rank, incarnation;
};

/* A message to the daemon that was not sent yet. */
struct rz_flat_report {
    struct rz_flat_find find; /* SUSPECT or HEARD */
    uint32_t epoch;
    rz_time at;
};

struct rz_flat {
    const struct rz_link_info *info;
    pthread_t thread;
    int end_fd; /* an eventfd: readable when the thread is to end */

    uint32_t epoch; /* of the ring; 0: there is none */
    struct rz_embedded ring, spread;
    struct rz_post post; /* its datagrams: of the epoch */
    bool *out;           /* [n_ranks]: the cores were told that this rank is out */
    uint64_t news;       /* the board's news counter at the last look */

    rz_time meant; /* until when the thread meant to sleep */
    rz_time slept; /* total time in which the thread could not receive; the clock of the cores is
                      behind by it */
    rz_time late;  /* the part of it that the ring was not told of yet */

    struct rz_flat_find *finds;
    uint32_t n_finds, finds_max;
    struct rz_flat_report *reports;
    uint32_t n_reports, reports_max;
};

/* The interface of the module, found by the name of its symbol. */
#define RZ_FLAT_MODULE_VERSION 2
struct rz_flat_entry {
    uint32_t version;
    rz_status_t (*open)(struct rz_flat **flat, const struct rz_link_info *info);
    void (*close)(struct rz_flat *flat);
};

/* The address of rank's present process (net/datagram/datagram_post.h); arg: the rz_flat. */
bool rz_flat_address(const void *arg, rz_id rank, struct rz_address *address);

/* rz_flat_report queues a message to the daemon; rz_flat_flush sends what waits for space in the
 * socket. */
void rz_flat_report(struct rz_flat *flat, const struct rz_flat_report *report);
void rz_flat_flush(struct rz_flat *flat);

#endif
