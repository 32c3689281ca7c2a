/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognises other launchers by the environment, and loads the module that speaks PMIx. */
#include "pmix/pmix.h"

#include "port/module.h"

#include <stdio.h>
#include <stdlib.h>

#define MODULE "rhizome-pmix.so"

/* A process of a job of rzrun, or a descendant of one. */
static bool is_ours(void)
{
    return getenv("RZ_LINK_FD") || getenv("RZ_JOB_ID");
}

bool rz_pmix_started(void)
{
    return !is_ours() && !getenv("RZ_ALONE") && getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

static bool several(const char *name)
{
    const char *text = getenv(name);
    return text && strtol(text, NULL, 10) > 1;
}

bool rz_pmix_is_lost(const char **why)
{
    if (is_ours() || getenv("RZ_ALONE") || rz_pmix_started()) {
        return false;
    }
    if (several("PMI_SIZE") && getenv("PMI_RANK")) {
        *why = "it was started by a launcher that speaks PMI, and not PMIx, so that each process "
               "would be a job of its own: start it with rzrun, or set RZ_ALONE=1 if that is meant";
        return true;
    }
    if (several("SLURM_STEP_NUM_TASKS") && getenv("SLURM_STEP_ID") && getenv("SLURM_PROCID")) {
        *why = "srun has started several processes without PMIx, so that each would be a job of "
               "its own: use srun --mpi=pmix or rzrun, or set RZ_ALONE=1 if that is meant";
        return true;
    }
    return false;
}

rz_status_t rz_pmix_join(int *stand_in)
{
    const char *why;
    const struct rz_pmix_entry *entry =
        rz_module_entry(MODULE, "RZ_PMIX_MODULE", "rz_pmix_entry", RZ_PMIX_VERSION, &why);
    if (!entry) {
        fprintf(stderr,
                "rhizome: this process was started through PMIx, for which this build has no "
                "module (%s); start it with rzrun, or set RZ_ALONE=1 for a job of each process\n",
                why);
        return RZ_ERR_UNSUPPORTED;
    }
    return entry->join(stand_in);
}
