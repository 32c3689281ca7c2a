/* What recovery tells the node: news of deaths, epochs, phases, generations, the end. See struct
 * rz_recovery_hooks. */
#ifndef RZ_DAEMON_NEWS_H
#define RZ_DAEMON_NEWS_H

#include "daemon/recovery.h"

extern const struct rz_recovery_hooks rz_news_hooks;

#endif
