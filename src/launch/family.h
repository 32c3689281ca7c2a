/* SPDX-License-Identifier: BSD-3-Clause */
/* The family of addresses (IPv4, IPv6) in which the hosts of a job reach each other. */
#ifndef RZ_LAUNCH_FAMILY_H
#define RZ_LAUNCH_FAMILY_H

#include "port/address.h"

struct rz_family_host {
    const char *name;
    struct rz_address address; /* at which it is reached */
    struct rz_address other;   /* of the other family, at the same interface, if it has both */
    bool both;
};

/*
 * If some hosts have addresses of IPv4 and others of IPv6, chooses a family that all have, the
 * first host's where possible, and exchanges `address` and `other` where `address` is not of it.
 * False: there is no such family; *why names two hosts (static text).
 */
bool rz_family_settle(struct rz_family_host *hosts, uint32_t n, const char **why);

#endif
