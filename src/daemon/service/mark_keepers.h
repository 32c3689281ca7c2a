/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes have the marks of which (file_marks.h). A mark is with its owner and one keeper: if
 * both fail, nobody can restore the file, and the others must know that there was one. So a daemon
 * tells all others when it gives a keeper the first mark of a moment, before the process writes;
 * and when marks have got another owner or keeper, after that one has them.
 *
 * A pair (owner, keeper) has the greatest moment of its marks: an image of an earlier one, or of
 * that, is of no use when both have failed.
 */
#ifndef RZ_DAEMON_MARK_KEEPERS_H
#define RZ_DAEMON_MARK_KEEPERS_H

#include "daemon/state/membership.h"

struct rz_mark_keepers {
    struct rz_mark_pair {
        rz_id owner, keeper;
        uint64_t moment;
    } * pairs; /* [n], allocated; without memory the daemon ends */
    uint32_t n;
};

/* keeper: RZ_ID_NONE if all nodes have them, so that nothing can be lost. */
void rz_mark_keepers_note(struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper,
                          uint64_t moment);

/* The marks of this pair are with another one, too. */
void rz_mark_keepers_drop(struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper);

/* Whether it was noted for that moment or a later one. */
bool rz_mark_keepers_has(const struct rz_mark_keepers *keepers, rz_id owner, rz_id keeper,
                         uint64_t moment);

/* A pair whose marks of that moment or later are lost; NULL: none. */
const struct rz_mark_pair *rz_mark_keepers_lost(const struct rz_mark_keepers *keepers,
                                                const struct rz_membership *membership,
                                                uint64_t since);

/* Of the moments before. */
void rz_mark_keepers_forget(struct rz_mark_keepers *keepers, uint64_t oldest);

void rz_mark_keepers_clear(struct rz_mark_keepers *keepers);

#endif
