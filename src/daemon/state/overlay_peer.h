/* SPDX-License-Identifier: BSD-3-Clause */
/* The address of another node's daemon, and the constants that daemons of a job share. */
#ifndef RZ_DAEMON_OVERLAY_PEER_H
#define RZ_DAEMON_OVERLAY_PEER_H

#include "port/address.h"

#include <stdint.h>
#include <sys/types.h>

#define RZ_JOB_KEY_BYTES 32

struct rz_overlay_peer {
    struct rz_address address; /* port 0 */
    uint16_t tcp_port, udp_port;
    pid_t pid; /* of its daemon, if that is on this machine; else 0 */
};

#endif
