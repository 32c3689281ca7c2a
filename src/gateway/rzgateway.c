/* SPDX-License-Identifier: BSD-3-Clause */
/* rzgateway FD: the gateway of a daemon, which starts it with a stream at FD. Users do not call it.
 */
#include "base/no_memory.h"
#include "gateway/gateway.h"
#include "port/descriptor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rz_gateway_service *const services[RZ_GATEWAY_PROTOCOL_COUNT] = {
#if RZ_PMIX
    [RZ_GATEWAY_PMIX] = &rz_pmix_service,
#endif
    [RZ_GATEWAY_PMI1] = &rz_pmi1_service};

int main(int argc, char **argv)
{
    int fd = argc == 2 ? atoi(argv[1]) : -1;
    rz_no_memory_speaker(EXIT_FAILURE, "rzgateway");
    if (fd < 3 || rz_descriptor_no_wait(fd) != RZ_OK) {
        fprintf(stderr, "rzgateway: rzd starts it; see `rzrun --help` about --mpi\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN); /* libpmix writes to sockets of processes that have failed */
    return rz_gateway_run(fd, services);
}
