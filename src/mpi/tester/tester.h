/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread in which a group monitor (mpi/monitor) tests other processes and answers tests. It
 * hosts two cores that the simulator runs as well: diagnose, which decides which members answer in
 * time, and paxos, by which the members of the group vote on rejoins. Its datagrams are
 * authenticated. It takes no lock of the library and calls no function of it; its results are in a
 * snapshot of atomic words.
 *
 * The daemons decide which members vote (proto/view_change), in a group of its own beside the
 * computing rounds, which may never come: the thread has a connection to its daemon on which it
 * requests other voters.
 *
 * The thread is a module (rhizome-tester.so), so that only programs that use it load what it needs
 * to authenticate its datagrams.
 */
#ifndef RZ_MPI_TESTER_H
#define RZ_MPI_TESTER_H

#include "link/link.h"
#include "port/kill_point.h"
#include "port/socket.h"
#include "proto/diagnose/diagnose.h"

#include <stdatomic.h>

/* What the thread knows of a member; only the thread writes it. */
struct rz_tester_member {
    _Atomic uint32_t counter; /* of the core diagnose: even is recommended */
    /* number of consecutive tests that it has answered in time since it was excluded */
    _Atomic uint32_t passed;
    _Atomic uint64_t test_time; /* of its last test, ns; RZ_TIME_NEVER: none was answered */
    _Atomic uint64_t threshold; /* of its last test, ns; 0: this process has not tested it */
};

struct rz_tester_snapshot {
    /* grows after each change of a counter; the process's doorbell is rung then */
    _Atomic uint64_t news;
    _Atomic uint64_t sent, received; /* datagrams */
    struct rz_tester_member member[];
};

#define RZ_TESTER_KEY_BYTES 32u

struct rz_tester_peer {
    uint32_t slot, incarnation;
    struct rz_address address;
};

struct rz_tester_config {
    const struct rz_link_info *info;   /* its board and doorbell; valid until close */
    uint32_t n, self;                  /* 2 or more members, in order of rank */
    const struct rz_tester_peer *peer; /* [n], copied */
    const uint32_t *counter;           /* [n]: the first counters, equal at all members; copied */
    int fd;                            /* a bound UDP socket; taken over on success */
    int line_fd; /* to the daemon (daemon/service/groups.h); taken over on success; -1: the first
                    voters stay */
    const uint8_t *key; /* RZ_TESTER_KEY_BYTES, of the job; copied */
    uint64_t number;    /* unique among the groups of the job */
    /* n_members, view, start, by_host, report are set by the thread */
    struct rz_diagnose_config terms;
    int (*test)(void *arg); /* the work of a tested process; NULL: prime numbers */
    void *arg;
    /* the library's plan: the module has its own copy of port/kill_point */
    struct rz_kill_plan *kill_plan;
};

struct rz_tester;

/* The interface of the module, found by the name of its symbol, rz_tester_entry. */
#define RZ_TESTER_MODULE_VERSION 3
struct rz_tester_entry {
    uint32_t version;
    /* Starts the thread. RZ_ERR_NO_MEMORY, RZ_ERR_SYSTEM: it could not be started. */
    rz_status_t (*open)(struct rz_tester **tester, const struct rz_tester_config *config);
    /* Ends the thread, after the test that it may be running. */
    void (*close)(struct rz_tester *tester);
    /* Valid until close. */
    const struct rz_tester_snapshot *(*snapshot)(const struct rz_tester *tester);
};

/* Computes all prime numbers up to 1000 by division; returns their number. */
int rz_tester_primes(void);

#endif
