/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The heartbeat ring: each member is watched by exactly one other, its observer, which detects its
 * failure by silence (Bosilca et al., SC'16 / IJHPCA'18; RDaemon#, "ring").
 *
 * Member i sends a heartbeat each hb_period to its observer, at first i+1, and watches i-1. If no
 * heartbeat arrives from i-1 for hb_timeout, i suspects it, requests heartbeats from the closest
 * predecessor not known failed, and gives that one 2 * hb_timeout. The ring does not spread the
 * news: on RZ_RING_SUSPECT the host does (component spread), and reports the failure to all members
 * by RZ_EVENT_FAILURE, which repairs the ring at once.
 *
 * Lateness. A member that waits for a processor sends late, and has not failed. Each member
 * measures how late its own ticks are, gets other measured lateness from its host
 * (RZ_RING_LATENESS), and sends its lateness in each heartbeat. The timeout grows by twice the
 * greater of the observed member's last lateness and the observer's own (both may share a machine).
 * Measured lateness decays: it halves every 10 s.
 *
 * No member is suspected in error as long as hb_period + jitter + (slowest - fastest transfer) +
 * timer lateness < hb_timeout + twice the reported lateness. If k contiguous members fail together,
 * they are detected one by one: within 2k-1 timeouts and the transfer time.
 *
 * Duties of the host: stop at once on RZ_RING_FENCED (the others consider this member failed: any
 * further action of it could contradict their agreement); serve the deadline; deliver queued
 * messages before a late tick.
 */
#ifndef RZ_PROTO_RING_H
#define RZ_PROTO_RING_H

#include <rhizome/protocol.h>

/* Deliberate faults, which prove that the checkers find them; 0 in production. The numbers are
 * those of docs/protocols/ring.md. */
enum rz_ring_mutation {
    RZ_RING_KEEP_OBSERVED = 1, /* 5: still watches a member known failed */
    RZ_RING_KEEP_OBSERVER = 2, /* still serves a member known failed */
    RZ_RING_ANY_REQUEST = 4,   /* 6: accepts a stale request */
    RZ_RING_NOT_FENCED = 8,    /* continues after it was declared failed */
    RZ_RING_QUIT_ASTRAY = 16,  /* 9: QUIT is sent to the leaving member itself */
    RZ_RING_HASTY = 32,        /* 10: the lateness in a heartbeat is ignored */
    RZ_RING_KEEP_HEARD = 64 /* 4: compares the sequence numbers of a new observed member with those
                               of the former one */
};

struct rz_ring_config {
    uint32_t n_members;   /* >= 1 */
    uint32_t view;        /* written into every message; others are dropped */
    rz_time hb_period;    /* between two heartbeats, > 0 */
    rz_time hb_timeout;   /* of silence until suspicion, > hb_period */
    rz_time start_slack;  /* more patience with the first one: processes take time to start */
    rz_time lateness_max; /* no more of it is believed; 0: lateness counts for nothing */
    bool held;            /* a silent member is watched on until the host says that it is out */
    uint32_t mutations;   /* enum rz_ring_mutation, or 0 */
};

/*
 * RZ_EVENT_FAILURE: the members in ids are out of the ring, failed or left; own id: this member is
 * fenced. Known ones are ignored.
 *
 * RZ_EVENT_CALL, call = RZ_RING_LEAVE: tell the observer that the coming silence is no failure;
 * then be silent for ever.
 *
 * call = RZ_RING_LATENESS: this member was ready to run for arg[0] ns and did not get a processor.
 */
enum rz_ring_call { RZ_RING_LEAVE, RZ_RING_LATENESS };

/*
 * RZ_ACTION_NOTIFY, what =
 *
 * RZ_RING_SUSPECT: arg[0] = member held for failed for its silence (no proof). Told once; not for
 * failures told by events. Where `held`: only silent, for the host to look into; told again after
 * each further timeout of silence, until RZ_EVENT_FAILURE.
 *
 * RZ_RING_LEFT: member arg[0] left in order; the host reports it to the others by RZ_EVENT_FAILURE,
 * as a failure. Also reported to the host of the leaving member, when it is done.
 *
 * RZ_RING_FENCED: this member was declared failed.
 */
enum rz_ring_notice { RZ_RING_SUSPECT, RZ_RING_LEFT, RZ_RING_FENCED };

/* Messages. seq grows with each heartbeat; other messages have seq 0. No payload. */
enum rz_ring_message {
    RZ_RING_HEARTBEAT, /* to the observer; word[0]: the sender's lateness */
    RZ_RING_REQUEST,   /* to the member that is observed from now on */
    RZ_RING_QUIT       /* to the observer: the sender leaves the ring */
};

struct rz_ring;

size_t rz_ring_size(const struct rz_ring_config *config);
void rz_ring_init(struct rz_ring *ring, const struct rz_ring_config *config, rz_id self,
                  rz_time now, uint64_t seed);

/* Never returns RZ_MORE: at most four actions. */
enum rz_more rz_ring_step(struct rz_ring *ring, const struct rz_event *event,
                          struct rz_actions *out);
rz_time rz_ring_deadline(const struct rz_ring *ring);
uint64_t rz_ring_hash(const struct rz_ring *ring);
void rz_ring_grow(struct rz_ring *ring, size_t bytes);

/* The member that this one observes, and its observer; RZ_ID_NONE: it is alone, has left or is
 * fenced. */
rz_id rz_ring_observing(const struct rz_ring *ring);
rz_id rz_ring_observer(const struct rz_ring *ring);

/* The recent lateness of this member's own steps, in ns. */
rz_time rz_ring_lateness(const struct rz_ring *ring, rz_time now);

/* The members known to be out of the ring (failed or left), sorted, as items; *n of them; valid
 * until the next step. */
const uint64_t *rz_ring_out(const struct rz_ring *ring, uint32_t *n);

/* Whether this member takes part no more: it has left, or is fenced. */
bool rz_ring_silent(const struct rz_ring *ring);

#endif
