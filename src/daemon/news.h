/* What recovery tells the node: news of failures, epochs, phases, generations, the end. See struct
 * rz_recovery_hooks. */
#ifndef RZ_DAEMON_NEWS_H
#define RZ_DAEMON_NEWS_H

#include "daemon/recovery.h"

/* The board's word for the process of a slot, as it is known now. */
void rz_news_write_rank(struct rz_daemon *daemon, uint32_t rank);

/* Ends processes whose place is taken by a newer incarnation, here or elsewhere. */
void rz_news_end_stale(struct rz_daemon *daemon);

extern const struct rz_recovery_hooks rz_news_hooks;

#endif
