/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport between nodes that a test is built for: UCX, or, with RZ_TEST_TCP, our own. The
 * same tests run over both. */
#ifndef RZ_TESTS_INTERNODE_H
#define RZ_TESTS_INTERNODE_H

#ifdef RZ_TEST_TCP
#include "net/tcp/tcp.h"
#define INTERNODE_NAME "tcp"
#else
#include "net/ucx/ucx.h"
#include <stdlib.h>
#define INTERNODE_NAME "ucx"
#endif

struct internode {
    uint64_t job;
    struct rz_net_host host;
    void (*complain)(void *arg, const char *text);
};

/* Before the first internode_open of a process. */
static inline void internode_environment(void)
{
#ifndef RZ_TEST_TCP
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        setenv(v->name, v->value, 0);
    }
#endif
}

static inline rz_status_t internode_open(const struct internode *wanted, struct rz_net **net,
                                         const struct rz_net_ops **ops)
{
#ifdef RZ_TEST_TCP
    static const uint8_t key[RZ_TCP_KEY_BYTES] = "the key of the job under test..";
    const struct rz_tcp_config config = {.self = {.job = wanted->job, .rank = 1, .incarnation = 1},
                                         .key = key,
                                         .address = {.ip = RZ_ADDRESS_LOOPBACK},
                                         .host = wanted->host,
                                         .complain = wanted->complain};
    return rz_tcp_open(&config, net, ops);
#else
    const struct rz_ucx_config config = {.job = wanted->job,
                                         .host = wanted->host,
                                         .peers_estimated = 1,
                                         .complain = wanted->complain};
    return rz_ucx_open(&config, net, ops);
#endif
}

#endif
