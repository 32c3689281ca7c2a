/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's entry point. */
#include "pmix/pmix.h"

__attribute__((visibility("default"))) const struct rz_pmix_entry rz_pmix_entry = {
    .version = RZ_PMIX_VERSION,
    .join = rz_pmix_steps_join,
};
