/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment variables that UCX needs. Nearly every line was found by tests that kill
 * processes without it.
 */
#include "net/ucx/ucx.h"

#include <stdlib.h>
#include <string.h>

/* A variable for which no other value is allowed. */
#define MUST(name, value, why)                                                                     \
    {                                                                                              \
        name, value, false, name " must be \"" value "\": " why                                    \
    }
#define GOOD(name, value)                                                                          \
    {                                                                                              \
        name, value, false, NULL                                                                   \
    }

const struct rz_ucx_variable rz_ucx_environment[] = {
    MUST("UCX_TLS", "tcp",
         "over shared memory a killed process blocks others, and no other network was tried"),
    MUST("UCX_ERROR_SIGNALS", "", "UCX would catch the program's signals"),
    MUST("UCX_TCP_CONN_NB", "y",
         "connecting to a failed process would block, and leak a descriptor"),
    /* The two handshakes between workers: UCX 1.13 aborts where a peer fails before they have
     * ended.
     */
    MUST("UCX_RESOLVE_REMOTE_EP_ID", "n", "a process may fail while another connects"),
    MUST("UCX_KEEPALIVE_INTERVAL", "inf", "a process may fail while another connects"),
    /* Messages are short ones of UCX, however long: see ucx_internal.h. */
    MUST("UCX_ZCOPY_THRESH", "inf", "messages must be short ones of UCX"),
    MUST("UCX_RNDV_THRESH", "inf", "messages must be short ones of UCX"),
    MUST("UCX_TCP_TX_SEG_SIZE", "64k", "messages must fit"),
    MUST("UCX_TCP_RX_SEG_SIZE", "128k", "messages must fit"),
    GOOD("UCX_TCP_PUT_ENABLE", "n"),
    /* Kernel memory that a stopped peer can pin, per connection; without this limit it grows to
     * megabytes. */
    GOOD("UCX_TCP_SNDBUF", "256k"),
    GOOD("UCX_TCP_RCVBUF", "256k"),
    /* Failures are reported by this library. */
    GOOD("UCX_LOG_LEVEL", "fatal"),
    GOOD("UCX_WARN_UNUSED_ENV_VARS", "n"),
    GOOD("UCX_HANDLE_ERRORS", "none"),
    /* No hooks in the program's memory allocation, no monitoring thread. */
    GOOD("UCX_MEMTYPE_CACHE", "n"),
    GOOD("UCX_MEM_MMAP_HOOK_MODE", "none"),
    GOOD("UCX_VFS_ENABLE", "n"),
    /* TCP is part of UCX itself; loading modules for other networks takes a millisecond. */
    GOOD("UCX_MODULES", "none"),
    /* Emulated nodes communicate over the one device that each machine has. */
    {"UCX_NET_DEVICES", "lo", true, NULL},
    /* With one device there is no choice; UCX would read the routes ten times per connection. */
    {"UCX_TCP_PREFER_DEFAULT", "n", true, NULL},
    {NULL, NULL, false, NULL},
};

const char *rz_ucx_environment_problem(void)
{
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        const char *value = getenv(v->name);
        if (v->problem && (!value || strcmp(value, v->value) != 0)) {
            return v->problem;
        }
    }
    return NULL;
}
