/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts rzrun and rzd apart from this process: they are no children of it, in sessions of their
 * own, and do not know the launcher. */
#ifndef RZ_PMIX_START_H
#define RZ_PMIX_START_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Finds the folder of rzrun and rzd, from that of this module. Reported if it is not found. */
rz_status_t rz_pmix_start_open(void);

/*
 * Starts rzrun for n_ranks processes that stand in for those of the launcher; hosts[i] is the host
 * of rank i. *alive is a descriptor that can be read once rzrun has ended. Further arguments are
 * those of RZ_RZRUN_ARGS. Reported if it fails.
 */
rz_status_t rz_pmix_start_rzrun(uint64_t token, const char *const *hosts, uint32_t n_ranks,
                                int *alive);

/* Starts the daemon of this host, which begins with these bytes. Reported if it fails. */
rz_status_t rz_pmix_start_daemon(const void *begin, size_t n);

#endif
