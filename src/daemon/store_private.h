/* What recovery and store share; nobody else includes this. */
#ifndef RZ_DAEMON_STORE_PRIVATE_H
#define RZ_DAEMON_STORE_PRIVATE_H

#include "daemon/core.h"
#include "daemon/daemon.h"
#include "daemon/own_lateness.h"
#include "daemon/peer_lateness.h"
#include "daemon/recovery.h"
#include "daemon/store.h"
#include "daemon/store_files.h"
#include "proto/commit/commit.h"

struct rz_store;

struct rz_recovery {
    struct rz_daemon *daemon;
    const struct rz_recovery_hooks *hooks;
    struct rz_core_host core_host;
    struct rz_core_notices notices;
    struct event *noticing;
    struct rz_own_lateness lateness;
    struct rz_peer_lateness observed;
    struct rz_core detector, spread, recover, commit;
    struct rz_store *store;
    struct rz_store_files *files; /* NULL: pieces are in no files */
    uint64_t *known;              /* sorted items of all failures known here (rz_recover_pack_*) */
    uint32_t n_known, known_max;
    uint32_t epoch;            /* for which hooks->epoch was called */
    uint32_t restored_epoch;   /* whose PROTECTED has come */
    uint32_t round;            /* of spawns, the newest that was told to hooks->spawns */
    uint32_t entered_epoch;    /* whose ENTER our processes have reached */
    uint64_t posted_committed; /* generation last given to hooks->committed in this epoch */
    uint64_t *scratch;         /* items of a message being decoded */
    uint32_t scratch_max;
    struct rz_roll_call *roll_call; /* silence.c; NULL: nobody was silent yet */
    bool ending;
};

/* One line of the job's story (rz_launch_event). */
void rz_recovery_record(struct rz_recovery *recovery, enum rz_event_record kind, uint32_t epoch,
                        uint32_t rank, rz_id node, uint32_t incarnation, uint64_t value,
                        const char *note);

/* An own observation (rz_recover_pack_*): everybody must hear of it. */
void rz_recovery_observe(struct rz_recovery *recovery, uint64_t item);

/* Why this node stops, for the user. */
const char *rz_recovery_stop_words(rz_status_t why);

/* ---- silence.c */

/* Others hold this node for failed: it stops, where they can go on without it. */
void rz_recovery_fenced(struct rz_recovery *recovery);

/* A node is said to be silent: by this node's detector, or by news. Begins to ask the others
 * whether they are there, unless that is under way. Nothing while the job ends. */
void rz_recovery_silence_told(struct rz_recovery *recovery, rz_id reported);

/* Something has come from that node; it is proved to be failed. */
void rz_recovery_heard(struct rz_recovery *recovery, rz_id node);
void rz_recovery_gone(struct rz_recovery *recovery, rz_id node);

void rz_recovery_roll_call_close(struct rz_recovery *recovery);

rz_status_t rz_store_open(struct rz_store **store, struct rz_recovery *recovery);
void rz_store_close(struct rz_store *store);

/* commit said RESTORE: keep only generation, get and protect the pieces of our ranks. */
void rz_store_restore(struct rz_store *store, uint32_t epoch, uint64_t generation);

/* Generations before the first of this epoch: processes count their checkpoints from 1 in each
 * epoch. */
uint64_t rz_store_base(const struct rz_store *store);

/* The barrier of the epoch has opened, and commit knows it. */
void rz_store_opened(struct rz_store *store);

/* PIECE, PIECE_KEPT, GET_PIECE, PIECE_GONE, SHARE, GET_BLOCK, BLOCK, BLOCK_GONE. */
void rz_store_message(struct rz_store *store, rz_id from, const struct rz_overlay_message *message);

/* The piece of an own rank was read from its file; fd is taken over. Generation 0: as
 * store_files.h. */
void rz_store_file_came(struct rz_store *store, uint32_t rank, uint64_t generation, int fd,
                        uint64_t bytes, uint64_t hash);

/* The queue towards a peer has room again; a peer failed. */
void rz_store_writable(struct rz_store *store, rz_id peer);
void rz_store_peer_failed(struct rz_store *store, rz_id peer);

#endif
