/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies between the control socket of a daemon and the streams of an agent. */
#include "daemon/launcher/job_bridge.h"

#include "outcome/exit_codes.h"
#include "port/descriptor.h"
#include "port/local_socket.h"
#include "wire/bridge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BRIDGE_CONNECT_MS 2000

/* False: there is none, or several, which was reported. */
static bool find_job(const char *prefix, struct rz_local_name *name, int *fd)
{
    struct rz_local_found found;
    char host[64] = "this host";
    gethostname(host, sizeof(host) - 1);
    rz_status_t status = rz_local_find(prefix, BRIDGE_CONNECT_MS, &found);
    bool one = status == RZ_OK && found.n > 0 && found.names[0].uid == geteuid();
    if (status != RZ_OK) {
        fprintf(stderr, "rzd: the jobs of %s cannot be listed: %s\n", host, strerror(errno));
    } else if (!one) {
        fprintf(stderr, "rzd: %s jobs on %s begin with '%s'\n", found.jobs > 1 ? "several" : "no",
                host, prefix);
    }
    for (size_t i = one ? 1 : 0; i < found.n; i++) {
        close(found.fds[i]);
    }
    if (one) {
        *name = found.names[0];
        *fd = found.fds[0];
        rz_local_let_wait(*fd); /* pass() does */
    }
    free(found.names);
    free(found.fds);
    return one;
}

/* False: a side has ended. Waits for the side that takes the bytes. */
static bool pass(int from, int to)
{
    char bytes[16384];
    ssize_t n = read(from, bytes, sizeof(bytes));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return true;
    }
    for (ssize_t at = 0; at < n;) {
        ssize_t put = write(to, bytes + at, (size_t)(n - at));
        if (put < 0 && errno != EINTR) {
            return false;
        }
        at += put > 0 ? put : 0;
    }
    return n > 0;
}

int rz_bridge_run(const char *prefix)
{
    static const char question[] = "attach\n";
    struct rz_local_name name;
    int fd;
    if (!find_job(prefix, &name, &fd)) {
        return RZ_EXIT_NO_JOB;
    }
    if (write(fd, question, sizeof(question) - 1) != (ssize_t)sizeof(question) - 1) {
        fprintf(stderr, "rzd: job %016" PRIx64 " does not answer; it may have ended just now\n",
                name.job);
        return RZ_EXIT_NO_JOB;
    }
    printf(RZ_BRIDGE_LINE "\n", (unsigned long long)name.job, name.node);
    if (fflush(stdout) != 0) {
        return EXIT_FAILURE;
    }
    for (;;) {
        const int fds[] = {STDIN_FILENO, fd};
        unsigned ready = rz_descriptor_await(fds, 2, -1);
        if ((ready & 1 && !pass(STDIN_FILENO, fd)) || (ready & 2 && !pass(fd, STDOUT_FILENO))) {
            return EXIT_SUCCESS;
        }
    }
}
