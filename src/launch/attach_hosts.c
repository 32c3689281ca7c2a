/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts an agent for each host, and reads the line by which its bridge begins. */
#include "launch/attach_hosts.h"

#include "base/no_memory.h"
#include "launch/host_options.h"
#include "launch/surroundings.h"
#include "port/child_process.h"
#include "port/clock.h"
#include "port/descriptor.h"
#include "remote/agent_process.h"
#include "wire/bridge.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An agent ends soon after its stream; later it is told to, and after as long again it is killed.
 */
#define END_WITHIN (2 * RZ_SECOND)

/* False: it cannot be started, which was reported. */
static bool start(const struct rz_rzrun_options *options, const char *host, const char *command,
                  struct rz_attach_bridge *bridge)
{
    int ends[2];
    const char *const more[] = {host, command, NULL};
    if (rz_descriptor_stream_pair(ends) != RZ_OK) {
        fprintf(stderr, "rzrun: %s: %s\n", host, strerror(errno));
        return false;
    }
    pid_t pid = rz_agent_process_start((const char *const *)options->agent.texts, more,
                                       (const int[]){ends[1], ends[1], STDERR_FILENO},
                                       rz_surroundings_restore, "rzrun: ");
    close(ends[1]);
    if (pid < 0) {
        fprintf(stderr, "rzrun: %s: %s\n", host, strerror(errno));
        close(ends[0]);
        return false;
    }
    rz_descriptor_no_wait(ends[0]);
    *bridge = (struct rz_attach_bridge){.fd = ends[0], .agent = pid};
    return true;
}

/* Reads lines until that of the bridge, and not a byte more. False: the stream has ended before. */
static bool await_bridge(struct rz_attach_bridge *bridge, rz_time until)
{
    char line[RZ_BRIDGE_LINE_MAX];
    size_t n = 0;
    for (;;) {
        char c;
        ssize_t got = read(bridge->fd, &c, 1);
        rz_time now = rz_clock_now();
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) || now >= until) {
            return false;
        }
        if (got < 0) {
            rz_descriptor_await(&bridge->fd, 1, (int)((until - now) / RZ_MILLISECOND) + 1);
        } else if (c != '\n') {
            n += n < sizeof(line) - 1;
            line[n - 1] = c;
        } else {
            line[n] = '\0';
            n = 0;
            unsigned long long job;
            if (sscanf(line, RZ_BRIDGE_LINE, &job, &bridge->node) == 2) {
                bridge->job = job;
                return true;
            }
        }
    }
}

size_t rz_attach_hosts_open(const struct rz_rzrun_options *options, const char *prefix,
                            struct rz_attach_bridge **result)
{
    char command[PATH_MAX + 100], daemon[PATH_MAX] = "";
    const struct rz_launch_layout *layout = &options->layout;
    struct rz_attach_bridge *bridges = calloc(layout->n_nodes + 1, sizeof(*bridges));
    size_t started = 0, n = 0;
    rz_need_memory(bridges, "for the hosts of the job");
    bool known = rz_host_options_program(options, "rzd", daemon, sizeof(daemon));
    if (!known) {
        fprintf(stderr,
                "rzrun: the path of rzd is not known, or has a quote in it: use --prefix\n");
    }
    snprintf(command, sizeof(command), "exec '%s' --bridge %s", daemon, prefix);
    for (uint32_t i = 0; known && i < layout->n_nodes; i++) {
        started += layout->nodes[i].remote &&
                   start(options, layout->nodes[i].host, command, &bridges[started]);
    }
    rz_time until = rz_clock_now() + options->start_timeout;
    for (size_t i = 0; i < started; i++) {
        if (await_bridge(&bridges[i], until)) {
            struct rz_attach_bridge there = bridges[i];
            bridges[i] = bridges[n]; /* those without an answer are behind */
            bridges[n++] = there;
        } else {
            close(bridges[i].fd);
        }
    }
    for (size_t i = n; i < started; i++) { /* they end on their own, or with this process */
        rz_child_process_signal(bridges[i].agent, SIGTERM);
    }
    *result = bridges;
    return n;
}

void rz_attach_hosts_close(struct rz_attach_bridge *bridges, size_t n)
{
    rz_time begun = rz_clock_now();
    for (size_t i = 0; i < n; i++) {
        int status;
        while (!rz_child_process_reap_ended(bridges[i].agent, &status)) {
            rz_time waited = rz_clock_now() - begun;
            if (waited > END_WITHIN) {
                rz_child_process_signal(bridges[i].agent,
                                        waited > 2 * END_WITHIN ? SIGKILL : SIGTERM);
            }
            rz_descriptor_await(NULL, 0, 10);
        }
    }
    free(bridges);
}
