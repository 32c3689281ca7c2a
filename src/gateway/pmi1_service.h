/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves processes that speak PMI-1, as those of MPICH do (pmi1_service.c). */
#ifndef RZ_GATEWAY_PMI1_SERVICE_H
#define RZ_GATEWAY_PMI1_SERVICE_H

#include "gateway/gateway.h"

extern const struct rz_gateway_service rz_pmi1_service;

#endif
