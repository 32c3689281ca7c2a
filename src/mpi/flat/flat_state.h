/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ring among processes share; all of it belongs to their thread. */
#ifndef RZ_MPI_FLAT_FLAT_STATE_H
#define RZ_MPI_FLAT_FLAT_STATE_H

#include "host/embedded.h"
#include "mpi/flat/flat.h"
#include "net/datagram/datagram_post.h"

#include <pthread.h>

/* Something the cores found, kept until they may be stepped again. */
enum rz_flat_what {
    RZ_FLAT_SUSPECT, /* by us */
    RZ_FLAT_HEARD,   /* from others, that they suspect it */
    RZ_FLAT_LEFT     /* by itself, in order */
};
struct rz_flat_find {
    enum rz_flat_what what;
    uint32_t rank, incarnation;
};

/* A message to the daemon that is not on its way yet. */
struct rz_flat_report {
    struct rz_flat_find find; /* SUSPECT or HEARD */
    uint32_t epoch;
    rz_time at;
};

struct rz_flat {
    const struct rz_link_info *info;
    pthread_t thread;
    int end_fd; /* an eventfd: readable when the thread shall end */

    uint32_t epoch; /* of the ring; 0: there is none */
    struct rz_embedded ring, spread;
    struct rz_post post; /* its datagrams: of the epoch */
    bool *out;           /* [n_ranks]: told to the cores */
    uint64_t news;       /* of the board, as of the last look */

    rz_time meant; /* until when we meant to sleep */
    rz_time slept; /* so much passed while we could not listen: the cores' clock is behind */
    rz_time late;  /* of that, what the ring has not been told yet */

    struct rz_flat_find *finds;
    uint32_t n_finds, finds_max;
    struct rz_flat_report *reports;
    uint32_t n_reports, reports_max;
};

/* The module's face, by the name of its symbol. */
#define RZ_FLAT_MODULE_VERSION 1
struct rz_flat_entry {
    uint32_t version;
    rz_status_t (*open)(struct rz_flat **flat, const struct rz_link_info *info);
    void (*close)(struct rz_flat *flat);
};

/* Where rank's newest process is reached (net/datagram/datagram_post.h); arg: the rz_flat. */
bool rz_flat_address(const void *arg, rz_id rank, struct rz_address *address);

/* Tells the daemon, soon; and what waits for room in the socket. */
void rz_flat_report(struct rz_flat *flat, const struct rz_flat_report *report);
void rz_flat_flush(struct rz_flat *flat);

#endif
