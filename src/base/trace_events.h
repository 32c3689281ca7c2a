/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is traced: the modules, which are folders of the source tree, the levels, and the events.
 * Numbers of events are those of this table: rings of another build are not read.
 */
#ifndef RZ_BASE_TRACE_EVENTS_H
#define RZ_BASE_TRACE_EVENTS_H

/* M(name, group): `group` names several modules at once in RZ_LOG. */
#define RZ_TRACE_MODULES(M)                                                                        \
    M(base, all)                                                                                   \
    M(link, all)                                                                                   \
    M(engine, mpi)                                                                                 \
    M(comm, mpi)                                                                                   \
    M(agree, mpi)                                                                                  \
    M(create, mpi)                                                                                 \
    M(ft, mpi)                                                                                     \
    M(init, mpi)                                                                                   \
    M(monitor, mpi)                                                                                \
    M(state, daemon)                                                                               \
    M(process, daemon)                                                                             \
    M(overlay, daemon)                                                                             \
    M(recovery, daemon)                                                                            \
    M(service, daemon)                                                                             \
    M(launcher, daemon)

/* What happens at most a few times for each failure or connection is a notice, which is always
 * traced; what happens for each step of a protocol is info, for each message of the runtime debug.
 * Nothing is traced for each message of the program. */
#define RZ_TRACE_LEVELS(L) L(off) L(notice) L(info) L(debug)

/*
 * E(NAME, module, level, kind, arg a, arg b, arg c): an argument named "" has no meaning. a and b
 * have 64 bits, c has 32. Kinds: POINT; BEGIN and END, of what lasts: NAME ends in _BEGIN or _END,
 * and the two that belong together have the same module and the same a.
 */
/* clang-format off */
#define RZ_TRACE_EVENTS(E) \
    E(ASSERTION_FAILED, base, notice, POINT, "line", "", "") \
    /* a process: the link to its daemon */ \
    E(JOINED, link, notice, POINT, "slot", "incarnation", "node") \
    E(LEFT, link, notice, POINT, "", "", "") \
    E(TOLD_DAEMON, link, debug, POINT, "type", "", "") \
    E(HEARD_DAEMON, link, debug, POINT, "type", "", "") \
    /* a process: mpi */ \
    E(FAILURE_LEARNT, engine, notice, POINT, "slot", "incarnation", "") \
    E(SPAWN_LEARNT, engine, notice, POINT, "slot", "incarnation", "node") \
    E(ROLL_BACK, engine, notice, POINT, "epoch", "", "") \
    E(EPOCH_LEARNT, engine, notice, POINT, "epoch", "", "phase") \
    E(AT_START, engine, notice, POINT, "epoch", "", "") \
    E(AT_END, engine, notice, POINT, "epoch", "", "") \
    E(CONNECT, engine, notice, POINT, "slot", "incarnation", "status") \
    E(CONNECTION_BROKEN, engine, notice, POINT, "slot", "incarnation", "") \
    E(DISCONNECTED, engine, info, POINT, "slot", "incarnation", "status") \
    E(AGREEMENT_BEGIN, agree, notice, BEGIN, "context", "", "members") \
    E(AGREEMENT_END, agree, notice, END, "context", "number", "failed") \
    E(REVOKE, agree, notice, POINT, "context", "", "") \
    E(REVOKED, comm, notice, POINT, "context", "", "") \
    E(SPAWN_ASK, create, notice, POINT, "processes", "", "") \
    E(CHECKPOINT, ft, info, POINT, "generation", "bytes", "") \
    E(RESTORED, ft, notice, POINT, "generation", "", "") \
    E(REPAIR_BEGIN, ft, notice, BEGIN, "communicators", "", "") \
    E(REPAIR_END, ft, notice, END, "communicators", "", "error") \
    E(REPLACEMENT_ASK, ft, notice, POINT, "slot", "incarnation", "") \
    E(INIT, init, notice, POINT, "", "", "") \
    E(FINALIZE, init, notice, POINT, "", "", "") \
    E(ABORT, init, notice, POINT, "code", "", "") \
    E(VIEW, monitor, notice, POINT, "round", "view", "") \
    /* a daemon: what it records (wire/launch_messages.h) */ \
    E(RECORD_JOINED, state, notice, POINT, "rank", "incarnation", "") \
    E(RECORD_FAILURE_SEEN, state, notice, POINT, "rank", "incarnation", "node") \
    E(RECORD_FAILURE_NEWS, state, notice, POINT, "rank", "incarnation", "node") \
    E(RECORD_EPOCH, state, notice, POINT, "epoch", "generation", "") \
    E(RECORD_READY, state, notice, POINT, "epoch", "", "") \
    E(RECORD_RUN, state, notice, POINT, "epoch", "", "") \
    E(RECORD_RESTORED, state, notice, POINT, "rank", "generation", "") \
    E(RECORD_COMMITTED, state, info, POINT, "epoch", "generation", "") \
    E(RECORD_LEFT, state, notice, POINT, "epoch", "", "") \
    E(RECORD_NOTED, state, notice, POINT, "rank", "incarnation", "node") \
    E(RECORD_INJECTED, state, notice, POINT, "rank", "", "node") \
    E(RECORD_FLAT_NEWS, state, notice, POINT, "rank", "by", "") \
    E(RECORD_EXCLUDED, state, notice, POINT, "node", "epoch", "") \
    E(RECORD_SPAWNED, state, notice, POINT, "rank", "incarnation", "node") \
    E(RECORD_ACKNOWLEDGED, state, notice, POINT, "rank", "incarnation", "by") \
    E(RECORD_ENDED_BY, state, notice, POINT, "rank", "incarnation", "code") \
    E(RECORD_BEGUN, state, notice, POINT, "rank", "incarnation", "") \
    E(RECORD_AT_START, state, notice, POINT, "rank", "epoch", "") \
    E(RECORD_PROTECTED, state, notice, POINT, "epoch", "", "") \
    E(RECORD_FELL_BACK, state, notice, POINT, "epoch", "generation", "") \
    E(RECORD_INTOLERANT, state, notice, POINT, "rank", "incarnation", "") \
    E(RECORD_SNAPSHOT, state, info, POINT, "epoch", "attempt", "") \
    /* a daemon: the rest */ \
    E(PROCESS_STARTED, process, notice, POINT, "rank", "incarnation", "pid") \
    E(PROCESS_FAILED, process, notice, POINT, "rank", "incarnation", "hung") \
    E(PROCESS_LEFT, process, notice, POINT, "rank", "incarnation", "") \
    E(PROCESS_EXITED, process, notice, POINT, "rank", "incarnation", "wait_status") \
    E(PROCESS_HANGS, process, notice, POINT, "rank", "incarnation", "") \
    E(PROCESS_TOLD, process, debug, POINT, "rank", "type", "") \
    E(PROCESS_SAID, process, debug, POINT, "rank", "type", "") \
    E(PEER_CONNECT, overlay, notice, POINT, "node", "", "") \
    E(PEER_CONNECTED, overlay, notice, POINT, "node", "", "") \
    E(PEER_LOST, overlay, notice, POINT, "node", "", "proof") \
    E(PEER_TOLD, overlay, debug, POINT, "node", "type", "") \
    E(PEER_SAID, overlay, debug, POINT, "node", "type", "") \
    E(NODE_SILENT, recovery, notice, POINT, "node", "", "") \
    E(NODE_FOUND_FAILED, recovery, notice, POINT, "node", "", "proof") \
    E(ROLL_CALL, recovery, notice, POINT, "epoch", "", "") \
    E(DECISION_WANTED, recovery, notice, POINT, "epoch", "", "") \
    E(EPOCH_DECIDED, recovery, notice, POINT, "epoch", "generation", "") \
    E(FAILURES_DECIDED, recovery, notice, POINT, "failures", "", "") \
    E(SPAWNS_DECIDED, recovery, notice, POINT, "round", "status", "items") \
    E(REVOCATION, recovery, notice, POINT, "revocation", "", "") \
    E(STOP, recovery, notice, POINT, "status", "", "") \
    E(GROUP_ROUND, service, notice, POINT, "group", "round", "rank") \
    E(SPAWN_WANTED, service, notice, POINT, "rank", "processes", "") \
    E(ABORT_TOLD, service, notice, POINT, "rank", "code", "processes") \
    E(ORDER, launcher, notice, POINT, "type", "", "") \
    E(RZRUN_SAID, launcher, debug, POINT, "type", "", "")
/* clang-format on */

#endif
