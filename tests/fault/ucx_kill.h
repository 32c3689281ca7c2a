/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of the UCX kill campaign share: one page per run, and the roles. */
#ifndef RZ_TESTS_UCX_KILL_H
#define RZ_TESTS_UCX_KILL_H

#include "../patience.h"
#include "internode.h"
#include "port/doorbell.h"

#include <stdatomic.h>
#include <sys/types.h>

#define KILL_CASES(X)                                                                              \
    X(BEFORE, "failed before the first message")                                                   \
    X(CONNECTING, "killed while both connect")                                                     \
    X(IDLE, "connected, silent")                                                                   \
    X(EAGER, "after small messages")                                                               \
    X(SENDING, "survivor sends 64 MiB")                                                            \
    X(RECEIVING, "survivor receives 64 MiB")                                                       \
    X(FLOOD_SMALL, "victim floods, 64 B")                                                          \
    X(FLOOD_MEDIUM, "victim floods, 20 kB")                                                        \
    X(FLOOD_LARGE, "victim floods, 1 MiB")                                                         \
    X(STOPPED, "victim stopped and flooded")                                                       \
    X(FETCH_LATE, "payload fetched after failure")                                                 \
    X(DROP_LATE, "payload dropped after failure")                                                  \
    X(ZOMBIE, "stopped, excluded, continued")

#define KILL_CASE_ENUM(name, text) KILL_##name,
enum kill_case { KILL_CASES(KILL_CASE_ENUM) KILL_CASE_COUNT };
#undef KILL_CASE_ENUM

enum kill_role { KILL_SURVIVOR, KILL_VICTIM, KILL_BYSTANDER, KILL_ROLES };

#define KILL_HANG (TEST_HANG_S * RZ_SECOND)
#define KILL_BIG (64u << 20)
#define KILL_LARGE (1u << 20)
#define KILL_MEDIUM 20000u
#define KILL_EP_ADDRESS_MAX 1024

struct kill_ep_address {
    _Atomic uint32_t ready;
    uint32_t bytes;
    unsigned char ep_address[KILL_EP_ADDRESS_MAX];
};

struct kill_page {
    struct rz_doorbell bell; /* of the killer */
    enum kill_case kind;
    bool drain; /* whether the survivor takes what lies there before the end */
    uint64_t seed;
    struct kill_ep_address ep_addresses[KILL_ROLES];
    /* Steps, each set once. */
    _Atomic uint32_t victim_ready;   /* the victim has done what precedes its failure */
    _Atomic uint32_t victim_stopped; /* by a signal */
    _Atomic uint32_t survivor_ready; /* the victim may fail */
    _Atomic uint32_t failed;         /* reaped */
    _Atomic uint32_t reported;
    _Atomic uint32_t all_ended; /* at the survivor, after its disconnect */
    _Atomic uint32_t zombie_spoke;
    _Atomic uint32_t quit;
    rz_time reported_at;
    /* What the survivor reports. */
    uint64_t ended_ns; /* from the failure report to the end of the last operation */
    unsigned pending, ended_well, exchanged, late_arrivals, told_broken;
    char complaint[200];
};

void kill_survivor_run(struct kill_page *page);
void kill_victim_run(struct kill_page *page);
void kill_bystander_run(struct kill_page *page);

/* ---- shared by the roles: ucx_kill_member.c ---- */

/* The user's header of each message of the campaign. */
struct kill_header {
    uint32_t from; /* enum kill_role */
    uint32_t check;
    uint64_t number, bytes;
};

/* One operation and what became of it. */
struct kill_flight {
    struct rz_net_op op;
    unsigned calls;
    rz_status_t status;
    void (*ended)(struct kill_flight *flight);
};

/* This process's transport, between kill_member_open and close. */
extern struct rz_net *kill_net;
extern const struct rz_net_ops *kill_ops;

/* Receives messages and news by `arrived` and `broken`. */
struct kill_member {
    struct kill_page *page;
    enum kill_role role;
    void (*arrived)(const struct kill_header *header, const void *data, rz_net_token_t token);
    void (*broken)(rz_peer_t peer);
};

void kill_member_open(const struct kill_member *member);
void kill_member_connect(struct kill_page *page, enum kill_role to, rz_peer_t number);
void kill_member_turn(void);

/* Ends the run as an error. */
_Noreturn void kill_complain(struct kill_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Starts an operation; what ends at once has ended when this returns. */
void kill_send(struct kill_flight *flight, rz_peer_t to, uint64_t number, const void *data,
               size_t bytes);
void kill_fetch(struct kill_flight *flight, rz_net_token_t token, void *data, size_t bytes);

/* Payloads are a function of their number; a shorter one is the beginning of a longer one. */
void kill_fill(void *data, size_t bytes, uint64_t number);
bool kill_holds(const void *data, size_t bytes, uint64_t number);

/* Sets a step and wakes the killer. */
void kill_step(struct kill_page *page, _Atomic uint32_t *step);

/* Turns until a step is set, the condition holds, or the bound is reached (then complains). */
#define KILL_TURN_UNTIL(page, condition)                                                           \
    do {                                                                                           \
        rz_time limit_ = rz_clock_now() + KILL_HANG;                                               \
        while (!(condition)) {                                                                     \
            kill_member_turn();                                                                    \
            if (rz_clock_now() > limit_) {                                                         \
                kill_complain(page, "never: %s", #condition);                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
