/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job around one process, for tests of the engine: the daemon's link, board and doorbell, and one
 * transport, played by the test. The process is rank 0; what others do is what the test injects.
 */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include "link/link.h"
#include "net/net.h"
#include "wire/envelope.h"

struct rz_comm;
struct rz_datatype;

#define FAKE_SLOTS 16 /* the ranks come first */
#define FAKE_SENT_MAX 4096

/* What the process has sent. */
struct fake_sent {
    rz_peer_t peer;
    uint32_t world; /* its process: found by the order of introductions */
    struct rz_envelope envelope;
    unsigned char data[256]; /* the first bytes */
    size_t bytes;
};

struct fake_world {
    struct rz_board *board;
    uint32_t n;
    /* How the transport behaves. */
    bool slow_sends; /* sends end only in a later round of progress */
    bool slow_fetches;
    bool mute_daemon;         /* introductions are not answered */
    rz_status_t lane_refusal; /* of rz_shm_lane_over */
    /* Opening the network fails with this status, this number of times; RZ_OK: never. */
    rz_status_t net_refusal;
    unsigned net_refusals;
    /* What has happened. */
    struct fake_sent sent[FAKE_SENT_MAX];
    size_t n_sent;
    size_t tokens_out; /* payloads offered and neither fetched nor dropped */
    size_t ops_pending;
    struct rz_link_message last_link; /* the last message to the daemon */
    size_t n_reached;
    struct rz_link_reached last_reached;
    size_t lanes_given_back; /* by rz_shm_lane_over */
    unsigned net_tries;      /* to open the network */
    bool quiet_daemon; /* what it says waits without a ring of the doorbell, until it is looked for
                        */
    /* Called before what the daemon has said is read. May be NULL. */
    void (*before_read)(void);
    /* Called with each message to the daemon. May be NULL. */
    void (*heard)(const struct rz_link_message *message);
    /* Called in a round of progress in which nothing else happens, or in each: the test's turn to
     * let something happen. May be NULL. */
    void (*turn)(void *arg);
    bool turns_always;
    void *turn_arg;
    size_t rounds_without_turn; /* more than a bound: nothing will ever happen, the test has hung */
};

extern struct fake_world fake;

/* Begins a job of n ranks, epoch 1, phase RUN, all incarnation 1 on node 0, with MPI initialised.
 */
void fake_world_begin(uint32_t n);
void fake_world_end(void);

/* A test in such a job of 8 ranks. */
int fake_world_setup(void **state);
int fake_world_teardown(void **state);
#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, fake_world_setup, fake_world_teardown)

/* MPI_COMM_WORLD and MPI_BYTE. */
struct rz_comm *fake_comm(void);
struct rz_datatype *fake_bytes(void);

/* A message of a collective operation: sent or received, and waited for. */
int fake_send_inside(const void *data, size_t bytes, int dest, int tag, struct rz_comm *comm);
int fake_recv_inside(void *data, size_t bytes, int source, int tag, struct rz_comm *comm);

/* A communicator of the same processes, made without the others. */
struct rz_comm *fake_duplicate(void);

/* This number of rounds of progress. */
void fake_rounds(int rounds);

/* The same as that incarnation; a later one than the first has come in place of a failed one. */
void fake_world_begin_as(uint32_t n, uint32_t incarnation);

/* The daemon says something, with the next round of progress. */
void fake_say(const struct rz_link_message *message);

/* The envelope of a message from that rank on a context, of the present epoch and incarnation. */
struct rz_envelope fake_envelope(uint32_t from, uint64_t context, int tag);

/* A message from another process arrives with the next round of progress. by_token: its payload
 * must be fetched. */
void fake_inject(const struct rz_envelope *envelope, const void *data, size_t bytes, bool by_token);

/* How many failed members MPIX_Comm_get_failed names. */
int fake_failed_count(struct rz_comm *comm);

/* The board says something new. */
void fake_process_state(uint32_t rank, enum rz_process_state state);
void fake_epoch(uint32_t epoch, uint32_t phase);
void fake_reincarnate(uint32_t rank, uint32_t incarnation); /* on node 0 */
void fake_reincarnate_on(uint32_t rank, uint32_t incarnation, uint32_t node);

/* A process of this node that we never sent to writes to us. */
void fake_stranger(uint32_t slot, uint32_t incarnation);

/* The number of the process that the board shows there. */
uint32_t fake_process(uint32_t slot);

#endif
