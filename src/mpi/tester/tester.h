/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread in which a group monitor (mpi/monitor) tests the others and is tested: it hosts the
 * cores diagnose, which decides who answers in time, and paxos, in which the members of the group
 * vote on who comes back: the objects that the simulator runs. Its datagrams are authenticated. It
 * takes no lock of the library and calls nothing of it; what it finds stands in a snapshot of
 * atomic words.
 *
 * Who votes is settled by the daemons (proto/view_change), in a row of its own beside the computing
 * rounds, which need never come: the thread has a line to its daemon on which it asks for other
 * voters.
 *
 * The thread is a module (rhizome-tester.so), so that no other program needs what it needs to
 * authenticate its datagrams.
 */
#ifndef RZ_MPI_TESTER_H
#define RZ_MPI_TESTER_H

#include "link/link.h"
#include "port/kill_point.h"
#include "port/socket.h"
#include "proto/diagnose/diagnose.h"

#include <stdatomic.h>

/* What the thread knows of a member; it alone writes. */
struct rz_tester_member {
    _Atomic uint32_t counter;   /* of the core diagnose: even is recommended */
    _Atomic uint32_t passed;    /* tests in a row that it has answered in time since it is out */
    _Atomic uint64_t test_time; /* of its last test, ns; RZ_TIME_NEVER: none was answered */
    _Atomic uint64_t threshold; /* of its last test, ns; 0: this process has not tested it */
};

struct rz_tester_snapshot {
    _Atomic uint64_t news; /* grows after each change of a counter; rings the own doorbell */
    _Atomic uint64_t sent, received; /* datagrams */
    struct rz_tester_member member[];
};

#define RZ_TESTER_KEY_BYTES 32u

struct rz_tester_peer {
    uint32_t slot, incarnation;
    struct rz_address address;
};

struct rz_tester_config {
    const struct rz_link_info *info;   /* its board and doorbell; valid until the close */
    uint32_t n, self;                  /* 2 or more members, in order of rank */
    const struct rz_tester_peer *peer; /* [n], copied */
    const uint32_t *counter;           /* [n], to begin with, the same at all; copied */
    int fd;                            /* a bound UDP socket; taken over on success */
    int line_fd; /* to the daemon (daemon/service/groups.h); taken over on success; -1: the first
                    voters stay */
    const uint8_t *key;              /* RZ_TESTER_KEY_BYTES, of the job; copied */
    uint64_t number;                 /* no other group of the job has it */
    struct rz_diagnose_config terms; /* n_members, view, start, by_host, report: set here */
    int (*test)(void *arg);          /* what a tested process does; NULL: prime numbers */
    void *arg;
    struct rz_kill_plan *kill_plan; /* the library's: the module has a copy of port/kill_point */
};

struct rz_tester;

/* The module's face, by the name of its symbol, rz_tester_entry. */
#define RZ_TESTER_MODULE_VERSION 2
struct rz_tester_entry {
    uint32_t version;
    /* Starts the thread. RZ_ERR_NO_MEMORY, RZ_ERR_SYSTEM: it could not be started. */
    rz_status_t (*open)(struct rz_tester **tester, const struct rz_tester_config *config);
    /* Ends it, after the test that it may be at. */
    void (*close)(struct rz_tester *tester);
    /* Valid until the close. */
    const struct rz_tester_snapshot *(*snapshot)(const struct rz_tester *tester);
};

/* Divides until all prime numbers up to 1000 are found: their number. */
int rz_tester_primes(void);

#endif
