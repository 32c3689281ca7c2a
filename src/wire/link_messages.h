/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link between a process and the daemon of its node: one SOCK_SEQPACKET datagram per message,
 * descriptors beside it (SCM_RIGHTS) where the table says so.
 */
#ifndef RZ_WIRE_LINK_MESSAGES_H
#define RZ_WIRE_LINK_MESSAGES_H

#include "wire/schema.h"

/* The version of the link protocol; a peer with another one is refused with a reason. */
#define RZ_LINK_VERSION 20

/* The largest message. */
#define RZ_LINK_MESSAGE_MAX 65536

/* The requests of a process to the name service. */
enum rz_name_question { RZ_NAME_PUBLISH, RZ_NAME_UNPUBLISH, RZ_NAME_LOOK_UP };

/* The requests of a process to the keeper of a shared file pointer. */
enum rz_pointer_question { RZ_POINTER_SET, RZ_POINTER_ADD, RZ_POINTER_DROP };

/*
 * A process is a pair of slot and incarnation. Slots 0..n_ranks-1 are the ranks of the job; those
 * behind serve processes that the program spawns. Fields named `rank` mean the slot. Fields named
 * `processes` or `spawns` are pairs: slot (u32), incarnation (u32), little-endian, one after
 * another.
 */
#define RZ_LINK_PAIR_BYTES 8u

/* RZ_LINK_FD of a process of rzrun --mpi pmi1 or pmix, which has no link; and why. */
#define RZ_LINK_FD_NONE "none"
#define RZ_LINK_OTHER_MPI                                                                          \
    "the job serves programs of another MPI (--mpi pmi1, --mpi pmix), and this program has "       \
    "loaded Rhizome's library: start it without --mpi, or with --mpi rhizome"

/* clang-format off */
#define RZ_LINK_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    /* process -> daemon */ \
    MESSAGE(HELLO, hello) U32(version) U64(job) U32(rank) U32(incarnation) U32(pid) BYTES(key) END(HELLO, hello) \
    MESSAGE(PUT_EP_ADDRESS, put_ep_address) U32(epoch) BYTES(ep_address) END(PUT_EP_ADDRESS, put_ep_address) /* \
           how processes of other nodes reach this one */ \
    MESSAGE(GET_EP_ADDRESS, get_ep_address) U32(rank) U32(epoch) END(GET_EP_ADDRESS, get_ep_address) \
    MESSAGE(OPEN, open) U32(rank) END(OPEN, open)                    /* a process of this node, for shared memory */ \
    MESSAGE(REPAIRING, repairing) END(REPAIRING, repairing)          /* MPIX_Reinit was entered */ \
    MESSAGE(REACHED, reached) U32(epoch) U32(phase) END(REACHED, reached) \
    MESSAGE(MARK, mark) U64(iteration) END(MARK, mark) \
    MESSAGE(STORE, store) U32(epoch) U64(number) U64(bytes) U64(hash) U32(back) END(STORE, store) \
        /* number: 1, 2, ... in each epoch; fd: the piece, and behind it, at the next multiple of 8, a bitmap of its pages (ckpt/pages.h); \
           those not in it are as they were `back` generations ago, in a piece of as many bytes; back 0: in none */ \
    MESSAGE(WANT_PIECE, want_piece) U32(epoch) END(WANT_PIECE, want_piece) \
    MESSAGE(SNAPSHOT_WANTED, snapshot_wanted) END(SNAPSHOT_WANTED, snapshot_wanted) /* RZ_Rewind_now: answered on the board */ \
    MESSAGE(SNAPSHOT_OVER, snapshot_over) U32(epoch) U32(attempt) U64(number) END(SNAPSHOT_OVER, snapshot_over) /* number: of STORE; 0: without a snapshot */ \
    MESSAGE(OUTPUT_MARK, output_mark) END(OUTPUT_MARK, output_mark) /* answered by OUTPUT_MARKED: what this process has written so far */ \
    MESSAGE(OUTPUT_AT, output_at) U64(out) U64(error) END(OUTPUT_AT, output_at) /* what this process writes from now on begins there */ \
    MESSAGE(FILE_MARK, file_mark) U64(moment) U64(host) U64(device) U64(inode) U64(made_ns) U64(bytes) \
        U64(changed_ns) U32(mode) U32(flags) TEXT(path) BYTES(content) END(FILE_MARK, file_mark) \
        /* how long a file was before this process wrote to it, or what was in it (port/file_mark.h); moment: of the snapshot before \
           (epoch << 32 | attempt; 0: none); fd: one of a pair of sockets, signalled when another node knows it, too */ \
    MESSAGE(FILE_MARK_ASK, file_mark_ask) U32(epoch) U64(since) U64(after) END(FILE_MARK_ASK, file_mark_ask) /* the next mark behind number \
           `after` of that moment or later, which this process is to restore; answered by FILE_MARK_IS */ \
    MESSAGE(FILES_RESTORED, files_restored) U32(epoch) END(FILES_RESTORED, files_restored) /* this process has restored all of these files; \
           answered by ALL_FILES_RESTORED when the processes of all ranks have */ \
    MESSAGE(SNAPSHOT_REFUSED, snapshot_refused) TEXT(reason) END(SNAPSHOT_REFUSED, snapshot_refused) /* this process cannot be saved */ \
    MESSAGE(RESTORED, restored) U32(epoch) U64(generation) END(RESTORED, restored)  /* for the record */ \
    MESSAGE(UNRESTORED, unrestored) TEXT(reason) END(UNRESTORED, unrestored) /* this process cannot continue from the image in PIECE, and ends */ \
    MESSAGE(NAME, name) U64(question) U32(what) TEXT(service) TEXT(port) END(NAME, name) /* enum rz_name_question */ \
    MESSAGE(POINTER, pointer) U64(question) U32(what) U32(node) U64(key) U64(generation) U64(initial) U64(value) \
        END(POINTER, pointer) /* enum rz_pointer_question: the shared pointer `key` of a file, which that node's daemon keeps \
           (daemon/service/pointers.h); answered by POINTED, but for DROP */ \
    MESSAGE(SILENT, silent) U32(epoch) U32(rank) U32(incarnation) END(SILENT, silent) /* with --detector flat: detected by this process */ \
    MESSAGE(HEARD, heard) U32(epoch) U32(rank) U32(incarnation) U64(at_ns) END(HEARD, heard) /* with --detector flat: \
           reported to this process by others; for the record */ \
    MESSAGE(REPLACE, replace) U64(question) BYTES(spawns) END(REPLACE, replace) \
        /* the requested incarnation: the failed one + 1; answered by REPLACED */ \
    MESSAGE(SPAWN, spawn) U64(question) U32(count) BYTES(commands) BYTES(parent) END(SPAWN, spawn) \
        /* commands: wire/spawn_order.h; parent: for COHORT; answered by SPAWNED */ \
    MESSAGE(ACKNOWLEDGED, acknowledged) BYTES(processes) END(ACKNOWLEDGED, acknowledged) \
        /* the program knows of these failures and continues: they do not affect the exit status */ \
    MESSAGE(LANE_CLOSED, lane_closed) U32(lane) U32(rank) U32(incarnation) END(LANE_CLOSED, lane_closed) \
        /* as in LANE_OVER: this process uses it no more */ \
    MESSAGE(REVOKE, revoke) U64(revocation) END(REVOKE, revoke)      /* must appear on the boards of all processes of the job */ \
    MESSAGE(REVOKED_ASK, revoked_ask) U64(revocation) END(REVOKED_ASK, revoked_ask) \
        /* answered by REVOKED if it was; for a process that joined too late for the board's log */ \
    MESSAGE(NUDGE, nudge) END(NUDGE, nudge)                          /* wakes a daemon that has not renewed its lease */ \
    MESSAGE(DECISION_ASK, decision_ask) U64(communicator) U64(number) U32(rank) U32(incarnation) END(DECISION_ASK, decision_ask) \
        /* the decision of that process, which may be computing (link/decisions.h); answered by
         * DECISION once there is one */ \
    MESSAGE(GROUP_JOIN, group_join) U64(question) END(GROUP_JOIN, group_join) /* requests a socket for \
           datagrams, and a stream to the daemon; answered by GROUP_SOCKET */ \
    MESSAGE(GROUP_ARRIVE, group_arrive) U64(group) U32(round) U32(rank) U64(progress) TEXT(name) BYTES(processes) BYTES(counters) \
        END(GROUP_ARRIVE, group_arrive) /* waits for a computing round later than this one \
           (proto/view_change); counters: u64 each; answered by GROUP_ROUND. Sent again when the counters \
           change */ \
    MESSAGE(GROUP_LEAVE, group_leave) U64(group) U32(rank) END(GROUP_LEAVE, group_leave) \
    MESSAGE(ABORT, abort) U32(code) BYTES(processes) TEXT(reason) END(ABORT, abort) \
        /* processes: only these are ended; none: the whole job */ \
    MESSAGE(BYE, bye) END(BYE, bye)                                  /* MPI_Finalize is complete: an exit is no failure */ \
    /* daemon -> process */ \
    MESSAGE(WELCOME, welcome) U32(version) U32(n_ranks) U32(n_slots) U32(n_nodes) U32(node) U32(epoch) U32(lane) U32(lanes_max) \
        U32(watch_slot) U64(job) U32(job_token) U32(restarted) BYTES(node_ip) BYTES(net_key) U64(hb_timeout_ns) BYTES(ring_key) \
        U32(trace_ring) END(WELCOME, welcome) /* node_ip (port/address.h), net_key: where to listen for processes of other nodes, and the key \
           of their mutual authentication (net/tcp); fds: board, own inbox, own doorbell's eventfd, watch \
           page, wait objects; unless trace_ring is 0 the memory of traces, in which it has this ring
         * (port/trace_memory.h); with a ring_key (--detector flat) the socket for heartbeats */ \
    MESSAGE(REFUSED, refused) TEXT(reason) END(REFUSED, refused) \
    MESSAGE(OPEN_NET, open_net) U32(epoch) END(OPEN_NET, open_net) /* a process of another node requests \
           this process's endpoint address */ \
    MESSAGE(EP_ADDRESS, ep_address) U32(rank) U32(incarnation) U32(epoch) BYTES(ep_address) END(EP_ADDRESS, ep_address) \
    MESSAGE(OPENED, opened) U32(rank) U32(incarnation) U32(pid) U32(lane) END(OPENED, opened) /* fds: inbox, eventfd */ \
    MESSAGE(OUTPUT_MARKED, output_marked) U64(out) U64(error) U64(in) END(OUTPUT_MARKED, output_marked) /* bytes of standard output and \
        error written, and of standard input read */ \
    MESSAGE(FILE_MARK_IS, file_mark_is) U64(number) U32(rank) U64(moment) U64(host) U64(device) U64(inode) U64(made_ns) U64(bytes) \
        U64(changed_ns) U32(mode) U32(flags) TEXT(path) BYTES(content) \
        END(FILE_MARK_IS, file_mark_is) /* of that rank; number 0: there are no more */ \
    MESSAGE(ALL_FILES_RESTORED, all_files_restored) U32(epoch) END(ALL_FILES_RESTORED, all_files_restored) \
    MESSAGE(NAMED, named) U64(question) U32(status) TEXT(port) END(NAMED, named) /* rz_status_t */ \
    MESSAGE(POINTED, pointed) U64(question) U32(status) U64(value) END(POINTED, pointed) /* rz_status_t; the value before */ \
    MESSAGE(COHORT, cohort) BYTES(processes) U32(index) U32(command) BYTES(parent) END(COHORT, cohort) \
        /* directly after WELCOME, to a process in a slot behind the ranks: the processes of its
         * world, its rank there, the number of its command, the parent field of SPAWN */ \
    MESSAGE(REPLACED, replaced) U64(question) U32(status) END(REPLACED, replaced) /* rz_status_t; the \
           spawned processes are on the board before this message */ \
    MESSAGE(SPAWNED, spawned) U64(question) U32(status) BYTES(processes) END(SPAWNED, spawned) /* in order \
           of rank in the new world; they are on the board before this message */ \
    MESSAGE(LANE_OVER, lane_over) U32(lane) U32(rank) U32(incarnation) END(LANE_OVER, lane_over) /* its \
           process was reaped: answered by LANE_CLOSED */ \
    MESSAGE(REVOKED, revoked) U64(revocation) END(REVOKED, revoked) \
    MESSAGE(DECISION, decision) U64(communicator) U64(number) U32(rank) U32(incarnation) BYTES(value) END(DECISION, decision) \
        /* value: u64 each, as in link/decisions.h */ \
    MESSAGE(GROUP_SOCKET, group_socket) U64(question) U32(status) BYTES(ip) U32(port) BYTES(key) END(GROUP_SOCKET, group_socket) \
        /* rz_status_t; fds: a bound UDP socket of this node's address, a stream to the daemon
         * (ARRIVE and ROUND of voters); key: of the job's datagrams among processes, from which
         * others are derived */ \
    MESSAGE(GROUP_ROUND, group_round) U64(group) U32(round) U32(status) U64(progress) BYTES(view) END(GROUP_ROUND, group_round) \
        /* status not RZ_OK: refused; view: a bit set of ranks in u64 words */ \
    MESSAGE(PIECE, piece) U32(epoch) U64(generation) U64(base) U64(bytes) U64(hash) U32(source_node) \
        END(PIECE, piece)                                            /* generation 0: none; else fd: the piece. base: before the first of this epoch */
/* clang-format on */

#define RZ_LINK_NAME(NAME, name) RZ_LINK_##NAME,
enum rz_link_type {
    RZ_LINK_TABLE(RZ_LINK_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                  RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_LINK_TYPE_COUNT
};
#undef RZ_LINK_NAME

/* One struct for all messages: type selects the member of the union. */
#define RZ_LINK_OPEN(NAME, name)                                                                   \
    struct rz_link_##name {                                                                        \
        char empty_;
#define RZ_LINK_CLOSE(NAME, name)                                                                  \
    }                                                                                              \
    name;
struct rz_link_message {
    enum rz_link_type type;
    union {
        RZ_LINK_TABLE(RZ_LINK_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                      RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_LINK_CLOSE)
    };
};
#undef RZ_LINK_OPEN
#undef RZ_LINK_CLOSE

/* Writes message into buffer; returns the number of bytes, or 0 if they do not fit. TEXT fields
 * must not be NULL. */
size_t rz_link_encode(const struct rz_link_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers in it refer to buffer. RZ_ERR_MALFORMED: *message
 * must not be used. */
rz_status_t rz_link_decode(struct rz_link_message *message, const void *buffer, size_t bytes);

/* One process of a job. */
struct rz_link_process {
    uint32_t slot, incarnation;
};

/* Pairs of processes in the form of messages: out has RZ_LINK_PAIR_BYTES for each. Reading returns
 * their number; at most max are written to processes. */
void rz_link_put_pairs(uint8_t *out, const struct rz_link_process *processes, uint32_t n);
uint32_t rz_link_get_pairs(const uint8_t *bytes, uint32_t length, struct rz_link_process *processes,
                           uint32_t max);

/* The name of a type, for logs; never NULL. */
const char *rz_link_type_name(enum rz_link_type type);

#endif
