/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages between rzrun and a daemon, over a stream: each frame is its length (u32), then one
 * message.
 */
#ifndef RZ_WIRE_LAUNCH_MESSAGES_H
#define RZ_WIRE_LAUNCH_MESSAGES_H

#include "wire/schema.h"

#define RZ_LAUNCH_VERSION 17

/* Kinds of events, for the record (the report, case files, the terminal). */
enum rz_event_record {
    RZ_EVENT_RECORD_JOINED,       /* rank has called MPI_Init */
    RZ_EVENT_RECORD_FAILURE_SEEN, /* rank or node; note: how (robust mutex, pidfd, connection,
                                   silence, no progress); value: enum rz_failure; at_ns: when seen
                                 */
    RZ_EVENT_RECORD_FAILURE_NEWS, /* the failure report has reached this daemon */
    RZ_EVENT_RECORD_EPOCH, /* the agreement on epoch has reached this daemon; value: generation to
                              restore */
    RZ_EVENT_RECORD_READY, /* all processes of this node are at the start of epoch */
    RZ_EVENT_RECORD_RUN,   /* epoch's barrier opened here */
    RZ_EVENT_RECORD_RESTORED,  /* rank has its piece; value: generation; note: its source */
    RZ_EVENT_RECORD_COMMITTED, /* value: generation; note: "N bytes", of the pieces of this node */
    RZ_EVENT_RECORD_LEFT,      /* all ranks have left */
    RZ_EVENT_RECORD_NOTED, /* failure of rank, or (RZ_ID_NONE) node, agreed; it is not repaired */
    RZ_EVENT_RECORD_INJECTED,  /* a fault was injected: see note */
    RZ_EVENT_RECORD_FLAT_NEWS, /* with --detector flat: rank `value` heard from the other processes,
                                  at_ns, that rank is silent */
    RZ_EVENT_RECORD_EXCLUDED,  /* by agreement the others continue without node: from now on its
                             actions  are no part of the job */
    RZ_EVENT_RECORD_SPAWNED, /* by decision, the process (rank, incarnation) begins on node; value:
                                enum rz_start_kind */
    RZ_EVENT_RECORD_ACKNOWLEDGED, /* the program knows of the failure of (rank, incarnation), and
                                     continues */
    RZ_EVENT_RECORD_ENDED_BY,     /* MPI_Abort of some processes only: (rank, incarnation) is ended,
                                     value: the code; note: the caller and its reason */
    RZ_EVENT_RECORD_BEGUN,        /* the process (rank, incarnation) was started */
    RZ_EVENT_RECORD_AT_START,   /* rank is at the start of epoch: it has rolled back, or has reached
                                   it for the first time */
    RZ_EVENT_RECORD_PROTECTED,  /* all pieces of this node are where their ranks run in epoch, and
                                   protected as the scheme requires */
    RZ_EVENT_RECORD_FELL_BACK,  /* value: the generation that is given up in epoch, because a
                                   piece of it is damaged or of no use; all roll back to the one
                                   before, or to the start of the program */
    RZ_EVENT_RECORD_INTOLERANT, /* rank has failed, and processes of node, which are of another MPI,
                                   cannot be told: it ends the job; value: enum rz_intolerant_kind
                                 */
    RZ_EVENT_RECORD_SNAPSHOT,   /* all ranks are asked for a snapshot; value: which attempt of epoch
                                 */
    RZ_EVENT_RECORD_COUNT
};

/* The programs have not asked to be told; or the process that failed had not connected. */
enum rz_intolerant_kind { RZ_INTOLERANT_PROGRAM, RZ_INTOLERANT_START };

enum rz_start_kind { RZ_START_REPLACES, RZ_START_SPAWNED };

enum rz_failure { RZ_FAILURE_PLAIN, RZ_FAILURE_HUNG, RZ_FAILURE_SILENT };

enum rz_inject {
    RZ_INJECT_KILL_RANK,
    RZ_INJECT_KILL_NODE,
    RZ_INJECT_STOP_RANK,
    RZ_INJECT_STOP_NODE,
    /* Network faults between the daemons, sent to all: on the links between the nodes named in
     * `nodes` and the others; amount 0 ends the fault. */
    RZ_INJECT_CUT,
    RZ_INJECT_DELAY, /* amount: ns */
    RZ_INJECT_LOSE,  /* amount: thousandths of the datagrams */
    RZ_INJECT_HEAL   /* ends all network faults, everywhere */
};

/* The detector of silent nodes (docs/protocols). */
enum rz_detector { RZ_DETECTOR_RING, RZ_DETECTOR_SWIM, RZ_DETECTOR_FLAT, RZ_DETECTOR_COUNT };

/* The state of a process, in a WAITING message; one that waits in several calls has several. */
enum rz_waiting_state {
    RZ_WAITING_NOT_JOINED, /* it has not called MPI_Init */
    RZ_WAITING_COMPUTES,
    RZ_WAITING_UNKNOWN, /* its MPI is another one */
    RZ_WAITING_LEFT,    /* it has finalized MPI */
    RZ_WAITING_FAILED,
    RZ_WAITING_IN_CALL,
    RZ_WAITING_STATE_COUNT
};

/* waited_ns of a process that does not say for how long its calls have waited, or is stopped. */
#define RZ_WAITED_UNKNOWN UINT64_MAX

/* JOB.flags */
#define RZ_JOB_REPAIR_NEVER 1u /* failures are noted, never repaired, even after MPIX_Reinit */
/* The nodes have networks and host names of their own, but share the processors of one machine. */
#define RZ_JOB_ONE_MACHINE 16u
#define RZ_JOB_BIND_CORE 2u    /* each process gets a free core of its node, if there is one */
#define RZ_JOB_TELL_BINDING 4u /* STARTED says where a process may run */
#define RZ_JOB_NO_FT 8u        /* no failure detection; rzrun ends the job at the first one */
#define RZ_JOB_REPAIRS 1024u   /* the program enters MPIX_Reinit, even if it has not done so yet */
#define RZ_JOB_REPLACE_NEVER 64u /* failed processes are not replaced by RZ_Comm_replace either */
#define RZ_JOB_ABORT 128u        /* rzrun ends the job at the first failure */
#define RZ_JOB_LOST_TOGETHER                                                                       \
    256u /* the ranks of a lost node go to one node, if it has enough slots */
#define RZ_JOB_SLOTS_LIMIT 512u     /* no node ever has more processes than slots */
#define RZ_JOB_PTY 2048u            /* processes write to pseudo-terminals */
#define RZ_JOB_OVERSUBSCRIBED 4096u /* the ranks outnumber the processors */
#define RZ_JOB_PMIX 8192u           /* programs that speak PMIx, or PMI-1: gateway/README.md */
#define RZ_JOB_PMI1 16384u
#define RZ_JOB_TOLERANT 32768u         /* these programs handle failures, as the user says */
#define RZ_JOB_REWIND 65536u           /* ranks are restored from images of their memory */
#define RZ_JOB_REWIND_OR_ABORT 131072u /* the job ends where no image can be made */
#define RZ_JOB_TRAFFIC 262144u         /* processes count what they send to each other */
#define RZ_JOB_HOLD_OUTPUT 524288u     /* daemons say OUTPUT_SAFE: rzrun shows nothing before */
#define RZ_JOB_ACCEPT_FAILURES                                                                     \
    1048576u                /* they do not affect the exit status of a job that ends               \
                             */
#define RZ_JOB_DETACHED 32u /* rzrun will exit; the daemons keep output and outcome */

/* OUTPUT.at of what is shown in any case. */
#define RZ_OUTPUT_ANYWHERE UINT64_MAX

/* How the reason of an ABORTED begins with which a rank that cannot be saved ends a job. */
#define RZ_ABORTED_UNSAVED "it cannot be saved (--rewind-or-abort): "

/* The largest message; JOB holds command lines, which a system limits to 6 MiB. */
#define RZ_LAUNCH_FRAME_MAX (1u << 20)
#define RZ_LAUNCH_JOB_MAX (32u << 20)

/* The largest FILE_PART. So many may be on their way to a daemon that has not acknowledged them. */
#define RZ_LAUNCH_FILE_PART_MAX (256u << 10)
#define RZ_LAUNCH_FILE_PARTS 4u

/* clang-format off */
#define RZ_LAUNCH_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    /* daemon -> rzrun */ \
    MESSAGE(LISTENING, listening) U32(version) U32(node) U32(pid) BYTES(ip) U32(tcp_port) U32(udp_port) \
        BYTES(other_ip) U32(other_tcp_port) U32(other_udp_port) END(LISTENING, listening) \
        /* ip: port/address.h; other_ip: of the other family (IPv4, IPv6), or empty: JOB has one of both */ \
    MESSAGE(REFUSED, refused) TEXT(reason) END(REFUSED, refused) \
    MESSAGE(STARTED, started) U32(rank) U32(incarnation) U32(node) U32(pid) TEXT(binding) END(STARTED, started) \
    MESSAGE(OUTPUT, output) U32(rank) U32(stream) U32(epoch) U64(at) BYTES(data) END(OUTPUT, output) /* 1 stdout, 2 stderr; \
        at: where data begins in all that the rank writes there, or RZ_OUTPUT_ANYWHERE; what was shown already is not shown again; \
        epoch: in which its process was started */ \
    MESSAGE(OUTPUT_SAFE, output_safe) U32(rank) U64(out) U64(error) END(OUTPUT_SAFE, output_safe) /* RZ_JOB_HOLD_OUTPUT: up to there \
        what the rank has written to standard output and error is in images that are committed */ \
    MESSAGE(STDIN_WANTED, stdin_wanted) U32(bytes) U32(reader) END(STDIN_WANTED, stdin_wanted) /* credit for rank 0; reader: 0, or where \
        each process of it reads from the beginning (RZ_JOB_REWIND) its incarnation */ \
    MESSAGE(MARK, mark) U32(rank) U64(iteration) U32(epoch) U64(at_ns) END(MARK, mark) \
    MESSAGE(EXITED, exited) U32(rank) U32(incarnation) U32(status) U32(clean) U32(hello) U64(waited_ns) \
        U32(starved) END(EXITED, exited) /* status: a wait status; waited_ns: as in WAITING; starved: meanwhile the kernel \
        has killed a process of the machine for lack of memory */ \
    MESSAGE(ABORTED, aborted) U32(rank) U32(code) TEXT(reason) END(ABORTED, aborted) \
    MESSAGE(EVENT, event) U32(kind) U32(epoch) U32(rank) U32(node) U32(incarnation) U64(value) U64(at_ns) TEXT(note) \
        END(EVENT, event)                           /* enum rz_event_record, for the record and the terminal */ \
    MESSAGE(STOPPING, stopping) U32(status) TEXT(reason) END(STOPPING, stopping)        /* rz_status_t: this daemon gives up */ \
    MESSAGE(WAITING, waiting) U32(rank) U32(pid) U32(state) TEXT(call) TEXT(communicator) U64(context) U32(members) \
        U64(operation) U32(peer) U32(tag) U32(flags) U64(for_ns) U64(waited_ns) U64(still_ns) END(WAITING, waiting) /* enum rz_waiting_state; \
        waited_ns: for which calls of the process have waited since it began; still_ns: for which it has handed over no message \
        and got none (UINT64_MAX: it never has); the rest as in wait_text.h */ \
    MESSAGE(UNDER_WAY, under_way) BYTES(balance) END(UNDER_WAY, under_way) /* after DUMP_WAITING with ranks, before WAITING_END: \
        this node's part of what is under way (wire/message_balance.h) */ \
    MESSAGE(WAITING_END, waiting_end) END(WAITING_END, waiting_end) \
    MESSAGE(TRAFFIC, traffic) U32(rank) U32(incarnation) BYTES(sent) END(TRAFFIC, traffic) /* what the process has sent since \
        it began (wire/traffic_groups.h): after DUMP_WAITING with traffic, and when it has ended */ \
    MESSAGE(STALLED, stalled) U64(for_ns) END(STALLED, stalled)           /* a process here has waited for hang_report_ns */ \
    MESSAGE(CAN_DETACH, can_detach) END(CAN_DETACH, can_detach)           /* all processes run; if rzrun exits now, the job still ends */ \
    MESSAGE(DETACHED, detached) END(DETACHED, detached)                   /* from now on the job continues without rzrun */ \
    MESSAGE(MISSED, missed) U64(bytes) END(MISSED, missed)                /* of older output are not kept any more */ \
    MESSAGE(RESULT, result) U32(code) U32(cut_off) U32(n_nodes) TEXT(cause) END(RESULT, result) /* of the job; the last message */ \
    MESSAGE(SAVED, saved) U64(generation) END(SAVED, saved) /* the newest one in files, after SAVE; from one daemon */ \
    MESSAGE(DONE, done) U64(strangers) END(DONE, done) /* the job is over, no process is left at this daemon; so many messages were refused */ \
    MESSAGE(FILES_TAKEN, files_taken) U64(bytes) U32(files) END(FILES_TAKEN, files_taken) /* so many bytes are written; so many files are whole */ \
    /* both ways: request; answer */ \
    MESSAGE(ALIVE, alive) END(ALIVE, alive) \
    MESSAGE(CLOCK, clock) U64(asked_ns) U64(now_ns) END(CLOCK, clock)     /* when rzrun asked; the daemon's time */ \
    /* rzrun -> daemon */ \
    /* before JOB, for each file of --preload: BEGIN, PARTs, END; FILES_TAKEN answers PARTs and ENDs, REFUSED what fails */ \
    MESSAGE(FILE_BEGIN, file_begin) TEXT(name) U32(mode) U64(bytes) END(FILE_BEGIN, file_begin) \
    MESSAGE(FILE_PART, file_part) BYTES(data) END(FILE_PART, file_part) \
    MESSAGE(FILE_END, file_end) U64(checksum) END(FILE_END, file_end)     /* XXH3, 64 bits */ \
    MESSAGE(JOB, job) U64(job) BYTES(key) U32(n_nodes) U32(n_ranks) U32(node) U64(hb_period_ns) U64(hb_timeout_ns) \
        U32(detector) U64(hang_timeout_ns) U64(hang_report_ns) /* enum rz_detector; 0: never hung; 0: no report */ \
        U32(share) U32(shares) /* of its machine's cores the node has the share-th of so many shares */ \
        U32(restarts_max) U32(scheme) U32(scheme_data) U32(scheme_parity) /* struct rz_scheme: ckpt/scheme.h */ \
        TEXT(checkpoint_folder) TEXT(checkpoint_name) U32(checkpoint_run) U32(checkpoint_keep) /* folder "": none; ckpt/file.h */ \
        U32(restored_run) U32(restored_epoch) U64(restored_number) /* the generation to begin from; number 0: none */ \
        U64(rewind_ns) /* the time from one image of the ranks' memory to the next */ \
        U32(flags) U32(verbosity) U64(output_wait_ns) U64(spool_bytes) U64(linger_ns) U64(timeout_ns) \
        BYTES(placement) BYTES(slots) BYTES(addresses) BYTES(arguments) \
        BYTES(environment) TEXT(directory) BYTES(contexts) \
        /* contexts: none, or of each program ranks u32, directory text, number of arguments u32, texts, of variables u32, texts */ \
        /* placement, slots: u32 each; addresses: per node ip (bytes), tcp, udp, pid of its daemon (0: on another machine), u32 each; */ \
        END(JOB, job) /* the rest: texts; output_wait: see SHUTDOWN; spool, linger, timeout: of a detached job */ \
    MESSAGE(STDIN, stdin_data) BYTES(data) U32(end) U32(reader) END(STDIN, stdin_data) /* reader: as STDIN_WANTED said */ \
    MESSAGE(INJECT, inject) U32(what) U32(rank) U64(for_ns) BYTES(nodes) U64(amount) \
        END(INJECT, inject) /* enum rz_inject; nodes: u32 each */ \
    MESSAGE(SIGNAL, signal) U32(number) END(SIGNAL, signal) \
    MESSAGE(DUMP_WAITING, dump_waiting) U32(traffic) BYTES(ranks) END(DUMP_WAITING, dump_waiting) /* traffic: 1: TRAFFIC of each \
        process, too; ranks: none, or a bit for each slot: messages between these, as UNDER_WAY */ \
    MESSAGE(HOLD_OUTPUT, hold_output) U32(hold) END(HOLD_OUTPUT, hold_output) /* 1: send none; 0: go on */ \
    MESSAGE(DETACH, detach) END(DETACH, detach)                           /* once all processes run, send CAN_DETACH */ \
    MESSAGE(LET_GO, let_go) END(LET_GO, let_go)                           /* the user knows the job's number: send DETACHED */ \
    MESSAGE(FINISH, finish) U32(code) TEXT(reason) END(FINISH, finish)    /* ends the whole job, a detached one */ \
    MESSAGE(SAVE, save) END(SAVE, save)                               /* one daemon says SAVED when the newest generation is in files */ \
    MESSAGE(SHUTDOWN, shutdown) U32(grace_ms) U32(complete) END(SHUTDOWN, shutdown) /* the job is over: end all processes, then say DONE; \
        complete: all ranks have ended by themselves: the output of what they have left is awaited, at most for output_wait */ \
    MESSAGE(LEAVE, leave) END(LEAVE, leave)                           /* all others know that it is over: exit */
/* clang-format on */

#define RZ_LAUNCH_NAME(NAME, name) RZ_LAUNCH_##NAME,
enum rz_launch_type {
    RZ_LAUNCH_TABLE(RZ_LAUNCH_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                    RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_LAUNCH_TYPE_COUNT
};
#undef RZ_LAUNCH_NAME

/* One struct for all messages: type selects the member of the union. */
#define RZ_LAUNCH_OPEN(NAME, name)                                                                 \
    struct rz_launch_##name {                                                                      \
        char empty_;
#define RZ_LAUNCH_CLOSE(NAME, name)                                                                \
    }                                                                                              \
    name;
struct rz_launch_message {
    enum rz_launch_type type;
    union {
        RZ_LAUNCH_TABLE(RZ_LAUNCH_OPEN, RZ_SCHEMA_STRUCT_U32, RZ_SCHEMA_STRUCT_U64,
                        RZ_SCHEMA_STRUCT_BYTES, RZ_SCHEMA_STRUCT_TEXT, RZ_LAUNCH_CLOSE)
    };
};
#undef RZ_LAUNCH_OPEN
#undef RZ_LAUNCH_CLOSE

/* Writes message into buffer; returns the number of bytes, or 0 if they do not fit. TEXT fields
 * must not be NULL. */
size_t rz_launch_encode(const struct rz_launch_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers in it refer to buffer. RZ_ERR_MALFORMED: *message
 * must not be used. */
rz_status_t rz_launch_decode(struct rz_launch_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_launch_type_name(enum rz_launch_type type);

#endif
