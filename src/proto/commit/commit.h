/*
 * Checkpoint generations: when one exists, who holds what, what may be overwritten.
 *
 * A generation holds one piece per rank. Each piece has two holders: the owner (the daemon of the rank) and its buddy
 * (the next live daemon in the ring of ids; none when the owner is alone). A generation is committed by agreement (room
 * agree, inside this object, one object per epoch) once every daemon has all pieces of its ranks in both places.
 *
 *   - generation g+1 may overwrite g-1 only after g is committed as far as the writer knows;
 *   - a message about generation g+1 proves that g is committed;
 *   - after deaths, a generation can be restored iff each rank has a live holder: a pure function of the placement it
 *     was protected under and the daemons dead since; all daemons compute the same answer;
 *   - a restored generation is protected anew under the new placement before the barrier of the new epoch.
 *
 * None restorable: the program begins at iteration 0 and is told so.
 */
#ifndef RZ_PROTO_COMMIT_H
#define RZ_PROTO_COMMIT_H

#include <rhizome/protocol.h>

struct rz_commit_config {
    uint32_t n_daemons, n_ranks;
    uint32_t view;
    uint32_t agree_mutations; /* 0 in production */
};

/*
 * RZ_EVENT_DEATH: as in agree. RZ_EVENT_CALL, call =
 * RZ_COMMIT_EPOCH   arg[0] = epoch, arg[1] = generation all daemons agreed on as the newest committed (0: none);
 *                   items[n_ranks] = daemon of each rank in this epoch, then n_items - n_ranks ids of daemons agreed dead
 *                   (all of them, sorted). Everything of the old epoch is dropped. Emits RESTORE.
 * RZ_COMMIT_STORED  arg[0] = epoch, arg[1] = generation, arg[2] = rank: the piece of an own rank lies with us, whole.
 * RZ_COMMIT_COPIED  the same arguments: its buddy has acknowledged a whole copy.
 * RZ_COMMIT_PROOF   arg[0] = epoch, arg[1] = generation: another daemon speaks of writing generation + 1.
 */
enum rz_commit_call { RZ_COMMIT_EPOCH, RZ_COMMIT_STORED, RZ_COMMIT_COPIED, RZ_COMMIT_PROOF };

/*
 * RZ_ACTION_NOTIFY, what =
 * RZ_COMMIT_COMMITTED  arg[0] = epoch, arg[1] = generation: it exists; the one before the previous may be overwritten.
 * RZ_COMMIT_RESTORE    arg[0] = epoch, arg[1] = generation to restore, or 0: begin at iteration 0.
 * RZ_COMMIT_PROTECTED  arg[0] = epoch: every piece of our own ranks that must be restored is with us and with its buddy
 *                      again (at once after RESTORE where nothing is to be done). The host holds its REACHED until then.
 */
enum rz_commit_notice { RZ_COMMIT_COMMITTED, RZ_COMMIT_RESTORE, RZ_COMMIT_PROTECTED };

struct rz_commit;

size_t rz_commit_size(const struct rz_commit_config *config);
void rz_commit_init(struct rz_commit *commit, const struct rz_commit_config *config, rz_id self, rz_time now,
                    uint64_t seed);
enum rz_more rz_commit_step(struct rz_commit *commit, const struct rz_event *event, struct rz_actions *out);
rz_time rz_commit_deadline(const struct rz_commit *commit);
uint64_t rz_commit_hash(const struct rz_commit *commit);
void rz_commit_grow(struct rz_commit *commit, size_t bytes);

uint32_t rz_commit_epoch(const struct rz_commit *commit);
uint64_t rz_commit_generation(const struct rz_commit *commit); /* newest known committed in this epoch, 0: none */

/* In the current epoch: the buddy of rank's owner, or RZ_ID_NONE. */
rz_id rz_commit_buddy_of(const struct rz_commit *commit, uint32_t rank);

/* For the generation being restored: a live daemon that holds rank's piece (the owner of this epoch where it holds it
 * itself, else the old owner, else the old buddy), or RZ_ID_NONE. */
rz_id rz_commit_holder_of(const struct rz_commit *commit, uint32_t rank);

#endif
