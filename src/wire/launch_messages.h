/*
 * Between rzrun and a daemon, over a stream: each frame is its length (u32), then one message.
 */
#ifndef RZ_WIRE_LAUNCH_MESSAGES_H
#define RZ_WIRE_LAUNCH_MESSAGES_H

#include "wire/schema.h"

#define RZ_LAUNCH_VERSION 1

/* What happened, for the record (case files, the terminal, the demo's table). */
enum rz_event_record {
    RZ_EVENT_RECORD_JOINED,     /* rank has called MPI_Init */
    RZ_EVENT_RECORD_DEATH_SEEN, /* rank or node; note: how (robust mutex, pidfd, connection,
                                   silence); at_ns: when seen */
    RZ_EVENT_RECORD_DEATH_NEWS, /* the news reached this daemon */
    RZ_EVENT_RECORD_EPOCH, /* agreement on epoch was reached here; value: generation to restore */
    RZ_EVENT_RECORD_READY, /* all processes of this node stand at the start of epoch */
    RZ_EVENT_RECORD_RUN,   /* epoch's barrier opened here */
    RZ_EVENT_RECORD_RESTORED,  /* rank has its piece; value: generation; note: from where */
    RZ_EVENT_RECORD_COMMITTED, /* value: generation */
    RZ_EVENT_RECORD_LEFT,      /* all have left */
    RZ_EVENT_RECORD_NOTED,     /* death of rank, or (RZ_ID_NONE) node, agreed; nobody repairs it */
    RZ_EVENT_RECORD_INJECTED,  /* a fault was injected: note says which */
    RZ_EVENT_RECORD_COUNT
};

enum rz_inject {
    RZ_INJECT_KILL_RANK,
    RZ_INJECT_KILL_NODE,
    RZ_INJECT_STOP_RANK,
    RZ_INJECT_STOP_NODE
};

/* JOB.flags */
#define RZ_JOB_REPAIR_NEVER 1u /* deaths are noted, never repaired, even after MPIX_Reinit */

/* No message is longer than this many bytes. */
#define RZ_LAUNCH_FRAME_MAX (1u << 20)

/* clang-format off */
#define RZ_LAUNCH_TABLE(MESSAGE, U32, U64, BYTES, TEXT, END) \
    /* daemon -> rzrun */ \
    MESSAGE(LISTENING, listening) U32(version) U32(node) U32(pid) TEXT(address) U32(tcp_port) U32(udp_port) \
        END(LISTENING, listening) \
    MESSAGE(REFUSED, refused) TEXT(reason) END(REFUSED, refused) \
    MESSAGE(STARTED, started) U32(rank) U32(incarnation) U32(node) U32(pid) END(STARTED, started) \
    MESSAGE(OUTPUT, output) U32(rank) U32(stream) U32(epoch) BYTES(data) END(OUTPUT, output) /* 1 stdout, 2 stderr */ \
    MESSAGE(STDIN_WANTED, stdin_wanted) U32(bytes) END(STDIN_WANTED, stdin_wanted)      /* rank 0's credit */ \
    MESSAGE(MARK, mark) U32(rank) U64(iteration) U32(epoch) U64(at_ns) END(MARK, mark) \
    MESSAGE(EXITED, exited) U32(rank) U32(incarnation) U32(status) U32(clean) U32(hello) END(EXITED, exited) /* wait status */ \
    MESSAGE(ABORTED, aborted) U32(rank) U32(code) TEXT(reason) END(ABORTED, aborted) \
    MESSAGE(EVENT, event) U32(kind) U32(epoch) U32(rank) U32(node) U32(incarnation) U64(value) U64(at_ns) TEXT(note) \
        END(EVENT, event)                           /* enum rz_event_record, for the record and the terminal */ \
    MESSAGE(STOPPING, stopping) U32(status) TEXT(reason) END(STOPPING, stopping)        /* rz_status_t: we give up */ \
    MESSAGE(WAITING, waiting) TEXT(line) END(WAITING, waiting)                          /* who waits for whom */ \
    MESSAGE(WAITING_END, waiting_end) END(WAITING_END, waiting_end) \
    /* rzrun -> daemon */ \
    MESSAGE(JOB, job) U64(job) BYTES(key) U32(n_nodes) U32(n_ranks) U32(node) U64(hb_period_ns) U64(hb_timeout_ns) \
        U32(restarts_max) U32(flags) U32(verbosity) BYTES(placement) BYTES(slots) BYTES(addresses) BYTES(arguments) \
        BYTES(environment) TEXT(directory) \
        END(JOB, job) /* placement, slots: u32 each; addresses: per node text, tcp u32, udp u32; the rest: texts */ \
    MESSAGE(STDIN, stdin_data) BYTES(data) U32(end) END(STDIN, stdin_data) \
    MESSAGE(INJECT, inject) U32(what) U32(rank) U64(for_ns) END(INJECT, inject)         /* enum rz_inject */ \
    MESSAGE(SIGNAL, signal) U32(number) END(SIGNAL, signal) \
    MESSAGE(DUMP_WAITING, dump_waiting) END(DUMP_WAITING, dump_waiting) \
    MESSAGE(SHUTDOWN, shutdown) U32(grace_ms) END(SHUTDOWN, shutdown) /* end all processes, then yourself */
/* clang-format on */

#define RZ_LAUNCH_NAME(NAME, name) RZ_LAUNCH_##NAME,
enum rz_launch_type {
    RZ_LAUNCH_TABLE(RZ_LAUNCH_NAME, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING,
                    RZ_SCHEMA_NOTHING, RZ_SCHEMA_NOTHING) RZ_LAUNCH_TYPE_COUNT
};
#undef RZ_LAUNCH_NAME

/* One struct for all: type says which member of the union counts. */
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

/* Writes message into buffer; the number of bytes, or 0 when they do not fit. TEXT fields must not
 * be NULL. */
size_t rz_launch_encode(const struct rz_launch_message *message, void *buffer, size_t bytes);

/* Reads one message that fills buffer; pointers lead into buffer. RZ_ERR_MALFORMED: nothing of it
 * may be used. */
rz_status_t rz_launch_decode(struct rz_launch_message *message, const void *buffer, size_t bytes);

/* The name of a type, for logs; never NULL. */
const char *rz_launch_type_name(enum rz_launch_type type);

#endif
