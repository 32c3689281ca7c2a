/*
 * Decisions that processes of this node have cached (link/decisions.h), for members of their
 * communicators that wait for their word while they compute. Nothing is kept here: whoever waits
 * asks again, and is answered once there is an answer.
 */
#ifndef RZ_DAEMON_CACHED_H
#define RZ_DAEMON_CACHED_H

#include "daemon/child.h"
#include "wire/overlay_messages.h"

/* A process of this node asks what another one, here or elsewhere, has decided; false: it asks for
 * what cannot be. */
bool rz_decision_cache_ask(struct rz_child *asker, const struct rz_link_decision_ask *ask);

/* DECISION_ASK or DECISION of another daemon. */
void rz_decision_cache_message(struct rz_daemon *daemon, rz_id from,
                               const struct rz_overlay_message *message);

#endif
