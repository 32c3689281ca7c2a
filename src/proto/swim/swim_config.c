/* SPDX-License-Identifier: BSD-3-Clause */
/* memberlist's parameter sets. */
#include "proto/swim/swim.h"

struct rz_swim_config rz_swim_config_scaled(rz_time probe_interval, uint32_t n_members)
{
    return (struct rz_swim_config){.n_members = n_members,
                                   .probe_interval = probe_interval,
                                   .probe_timeout = probe_interval / 2,
                                   .indirect_checks = 3,
                                   .suspicion_mult = 4,
                                   .suspicion_max_mult = 6,
                                   .retransmit_mult = 4,
                                   .gossip_nodes = 3,
                                   .gossip_interval = probe_interval / 5,
                                   .gossip_to_failed = 30 * probe_interval,
                                   .push_pull_interval = 30 * probe_interval,
                                   .awareness_max = 8,
                                   .lifeguard = RZ_SWIM_LIFEGUARD_ALL};
}

static struct rz_swim_config wan(uint32_t n_members)
{
    struct rz_swim_config config = rz_swim_config_scaled(5 * RZ_SECOND, n_members);
    config.probe_timeout = 3 * RZ_SECOND;
    config.suspicion_mult = 6;
    config.gossip_nodes = 4;
    config.gossip_interval = 500 * RZ_MILLISECOND;
    config.gossip_to_failed = 60 * RZ_SECOND;
    config.push_pull_interval = 60 * RZ_SECOND;
    return config;
}

static struct rz_swim_config local(uint32_t n_members)
{
    struct rz_swim_config config = rz_swim_config_scaled(RZ_SECOND, n_members);
    config.probe_timeout = 200 * RZ_MILLISECOND;
    config.indirect_checks = 1;
    config.suspicion_mult = 3;
    config.retransmit_mult = 2;
    config.gossip_interval = 100 * RZ_MILLISECOND;
    config.gossip_to_failed = 15 * RZ_SECOND;
    config.push_pull_interval = 15 * RZ_SECOND;
    return config;
}

struct rz_swim_config rz_swim_config_of(enum rz_swim_profile profile, uint32_t n_members)
{
    switch (profile) {
    case RZ_SWIM_WAN:
        return wan(n_members);
    case RZ_SWIM_LOCAL:
        return local(n_members);
    case RZ_SWIM_LAN:
        break;
    }
    return rz_swim_config_scaled(RZ_SECOND, n_members);
}
