/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps by which processes that PMIx has started become a job. */
#ifndef RZ_PMIX_STEPS_H
#define RZ_PMIX_STEPS_H

#include "base/status.h"

/* As rz_pmix_join (pmix/pmix.h). */
rz_status_t rz_pmix_steps_join(int *stand_in);

#endif
