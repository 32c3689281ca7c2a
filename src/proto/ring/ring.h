/*
 * The heartbeat ring: each member is watched by exactly one other, who finds its failure by silence
 * (Bosilca et al., SC'16 / IJHPCA'18; RDaemon#, "ring").
 *
 * Member i sends a heartbeat each hb_period to its observer, at first i+1, and watches i-1. When
 * nothing came from there for hb_timeout, it is held for failed; its closest predecessor not known
 * failed is asked for heartbeats instead and gets 2 * hb_timeout. Spreading the news is not done
 * here: the host does it on RZ_RING_SUSPECT (room spread) and tells all members by
 * RZ_EVENT_FAILURE, which mends the ring at once.
 *
 * Lateness. A member that waits for a processor sends late, and is not failed. Each measures by how
 * much its own ticks come late, is told by its host what else that knows (RZ_RING_LATENESS), and
 * says so in each heartbeat. Silence must last longer by twice the greater of what the observed
 * said last and what the observer knows of itself (both may share a machine). What was measured
 * fades: it halves every 10 s.
 *
 * Nobody is suspected in error as long as hb_period + jitter + (slowest - fastest transfer) + timer
 * lateness < hb_timeout + twice the lateness told. k contiguous members that fail together are
 * found one by one: within 2k-1 timeouts and the transfer time.
 *
 * Host's duties: stop at once when told RZ_RING_FENCED (others hold this member for failed:
 * whatever it did from now on would break what they agreed on); serve the deadline; deliver queued
 * messages before a late tick.
 */
#ifndef RZ_PROTO_RING_H
#define RZ_PROTO_RING_H

#include <rhizome/protocol.h>

/* Faults put in on purpose, to show that the checkers find them; 0 in production. The numbers are
 * those of docs/protocols/ring.md. */
enum rz_ring_mutation {
    RZ_RING_KEEP_OBSERVED = 1, /* 5: goes on watching one known failed */
    RZ_RING_KEEP_OBSERVER = 2, /* goes on serving one known failed */
    RZ_RING_ANY_REQUEST = 4,   /* 6: takes a stale request */
    RZ_RING_NOT_FENCED = 8,    /* goes on when it is declared failed */
    RZ_RING_QUIT_ASTRAY = 16,  /* 9: QUIT goes to the leaving member itself */
    RZ_RING_HASTY = 32,        /* 10: lateness told by the observed is dropped */
    RZ_RING_KEEP_HEARD = 64    /* 4: counts heartbeats of a new observed on from the old one's */
};

struct rz_ring_config {
    uint32_t n_members;   /* >= 1 */
    uint32_t view;        /* written into every message; others are dropped */
    rz_time hb_period;    /* between two heartbeats, > 0 */
    rz_time hb_timeout;   /* of silence until suspicion, > hb_period */
    rz_time start_slack;  /* more patience with the first one: processes take time to start */
    rz_time lateness_max; /* no more of it is believed; 0: lateness counts for nothing */
    uint32_t mutations;   /* enum rz_ring_mutation, or 0 */
};

/*
 * RZ_EVENT_FAILURE: the members in ids are out of the ring, failed or gone; own id: fenced. Known
 * ones are ignored.
 *
 * RZ_EVENT_CALL, call = RZ_RING_LEAVE: tell the observer that the coming silence is no failure;
 * then be silent for ever.
 *
 * call = RZ_RING_LATENESS: this member did not run for arg[0] ns although it was to.
 */
enum rz_ring_call { RZ_RING_LEAVE, RZ_RING_LATENESS };

/*
 * RZ_ACTION_NOTIFY, what =
 *
 * RZ_RING_SUSPECT: arg[0] = member held for failed for its silence (no proof). Told once; not for
 * failures told by events.
 *
 * RZ_RING_LEFT: arg[0] = member that left cleanly; the host tells the others by RZ_EVENT_FAILURE,
 * as of a failure. Told to the host of the leaving member itself, too, when it is done.
 *
 * RZ_RING_FENCED: this member was declared failed.
 */
enum rz_ring_notice { RZ_RING_SUSPECT, RZ_RING_LEFT, RZ_RING_FENCED };

/* Messages. seq of a heartbeat grows with each; others have seq 0. No payload. */
enum rz_ring_message {
    RZ_RING_HEARTBEAT, /* to the observer; word[0]: the sender's lateness */
    RZ_RING_REQUEST,   /* to the member that is watched from now on */
    RZ_RING_QUIT       /* to the observer: the sender leaves */
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

/* Whom this member watches, and who watches it; RZ_ID_NONE: it is alone, has left or is fenced. */
rz_id rz_ring_observing(const struct rz_ring *ring);
rz_id rz_ring_observer(const struct rz_ring *ring);

/* How late this member's own steps have come lately, in ns. */
rz_time rz_ring_lateness(const struct rz_ring *ring, rz_time now);

/* Members known out of the ring (failed or gone), sorted, as items; *n of them; valid until the
 * next step. */
const uint64_t *rz_ring_out(const struct rz_ring *ring, uint32_t *n);

/* Whether this member takes no part any more: it has left, or is fenced. */
bool rz_ring_silent(const struct rz_ring *ring);

#endif
