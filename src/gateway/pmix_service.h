/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves processes that speak PMIx, as those of Open MPI do (pmix_service.c). A build
 * without libpmix has no such service. */
#ifndef RZ_GATEWAY_PMIX_SERVICE_H
#define RZ_GATEWAY_PMIX_SERVICE_H

#include "gateway/gateway.h"

extern const struct rz_gateway_service rz_pmix_service;

#endif
