/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rzd: the daemon of a node, started by rzrun.
 *
 *   rzd --keeper --launcher-fd=F --alive-fd=A [--node=N] [--address=IP] [--trace-fd=T]
 *   rzd --remote
 *   rzd --stand-in | --relay
 *   rzd --bridge JOB
 *   rzd --version
 *
 * F is an inherited stream socket, the launcher channel (wire/launch_messages.h). A is the reading
 * end of an inherited pipe (or a socket) whose other end only rzrun holds: end of file on it means
 * that rzrun has gone. IP is the address the overlay listens on (default 127.0.0.1). T is the
 * memory of the node's traces (port/trace_memory.h), which rzrun reads after any end. Without
 * --keeper the daemon runs alone, for debugging: then nothing cleans up after its failure.
 *
 * --remote: started on another host than rzrun's by an agent such as ssh; everything else is read
 * from standard input (daemon/launcher/remote_daemon.h).
 *
 * --stand-in, --relay: for processes that another launcher has started; --bridge: for an rzrun of
 * another host that attaches to a detached job (daemon/launcher/relay.h).
 *
 * Exit status: 0 after SHUTDOWN; 1 if the node had to stop or rzrun has gone; 2 if rzrun's order
 * was refused, and for wrong usage; 3 if rzrun was not reached; 128 + signal.
 */
#include "base/no_memory.h"
#include "daemon/daemon.h"
#include "daemon/launcher/relay.h"
#include "daemon/launcher/keeper.h"
#include "daemon/launcher/remote_daemon.h"
#include "port/kill_point.h"

#include "port/process.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2

struct arguments {
    struct rz_daemon_options daemon;
    bool keeper, remote;
    int alive_fd;
};

static bool number(const char *text, uint32_t *value)
{
    char *end;
    unsigned long read = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || read > INT32_MAX) {
        return false;
    }
    *value = (uint32_t)read;
    return true;
}

static bool descriptor(const char *text, int *fd)
{
    uint32_t value;
    if (!number(text, &value)) {
        return false;
    }
    *fd = (int)value;
    return true;
}

static bool read_arguments(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"keeper", no_argument, NULL, 'k'},
                                            {"remote", no_argument, NULL, 'r'},
                                            {"launcher-fd", required_argument, NULL, 'l'},
                                            {"alive-fd", required_argument, NULL, 'a'},
                                            {"node", required_argument, NULL, 'n'},
                                            {"address", required_argument, NULL, 'i'},
                                            {"trace-fd", required_argument, NULL, 't'},
                                            {NULL, 0, NULL, 0}};
    *a = (struct arguments){.daemon = {.launcher_fd = -1,
                                       .lifeline_fd = -1,
                                       .trace_fd = -1,
                                       .address = {.ip = RZ_ADDRESS_LOOPBACK}},
                            .alive_fd = -1};
    bool good = true;
    for (int option; good && (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'k') {
            a->keeper = true;
        } else if (option == 'r') {
            a->remote = a->keeper = true;
        } else if (option == 'l') {
            good = descriptor(optarg, &a->daemon.launcher_fd);
        } else if (option == 'a') {
            good = descriptor(optarg, &a->alive_fd);
        } else if (option == 't') {
            good = descriptor(optarg, &a->daemon.trace_fd);
        } else if (option == 'n') {
            good = number(optarg, &a->daemon.node);
        } else if (option == 'i') {
            good = rz_address_parse(optarg, &a->daemon.address) == RZ_OK;
        } else {
            good = false;
        }
    }
    bool given = a->daemon.launcher_fd > 2 && (!a->keeper || a->alive_fd >= 0);
    return good && optind == argc && (a->remote ? argc == 2 : given);
}

/* Closes all other descriptors. One that rzrun passed on by mistake would stay open as long as any
 * process of the node. */
static void close_others(const struct arguments *a)
{
    const int kept[] = {a->daemon.launcher_fd, a->alive_fd, a->daemon.trace_fd};
    for (int from = 3;;) {
        int next = INT_MAX;
        for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
            next = kept[i] >= from && kept[i] < next ? kept[i] : next;
        }
        rz_process_close(from, next == INT_MAX ? INT_MAX : next - 1);
        if (next == INT_MAX) {
            return;
        }
        from = next + 1;
    }
}

/* Standard output and error stay those of the agent; nothing more is read from it. */
static int begin_remote(struct arguments *a)
{
    static struct rz_remote_daemon remote;
    int status = rz_remote_daemon_begin(&remote);
    if (status == 0) {
        a->daemon.node = remote.node;
        a->daemon.address = remote.address;
        a->daemon.launcher = remote.messages;
        a->daemon.launcher_fd = rz_stream_fd(remote.messages);
        a->alive_fd = rz_stream_fd(remote.alive);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct arguments a;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) { /* asked by rzdoctor on other hosts */
        printf("rzd (Rhizome) %s\n", RZ_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc == 2 && strcmp(argv[1], "--stand-in") == 0) {
        return rz_stand_in_run();
    }
    if (argc >= 2 && strcmp(argv[1], "--relay") == 0) {
        return rz_stand_in_relay();
    }
    if (argc == 3 && strcmp(argv[1], "--bridge") == 0) {
        return rz_bridge_run(argv[2]);
    }
    if (!read_arguments(argc, argv, &a)) {
        fprintf(stderr,
                "usage: rzd --keeper --launcher-fd=F --alive-fd=A [--node=N] [--address=IP] "
                "[--trace-fd=T]\n"
                "       rzd --remote\n"
                "       rzd --version\n"
                "rzd is started by rzrun, which passes the descriptors.\n");
        return EXIT_USAGE;
    }
    if (a.remote) {
        rz_no_memory_speaker(EXIT_FAILURE, "rzd");
        int status = begin_remote(&a);
        if (status != 0) {
            return status;
        }
    }
    rz_no_memory_speaker(EXIT_FAILURE, "rzd[%u]", a.daemon.node);
    close_others(&a);
    if (a.daemon.trace_fd >= 0) {
        rz_process_keep_on_exec(a.daemon.trace_fd, false);
    }
    if (getenv(RZ_KILL_AT)) {
        rz_kill_arm(getenv(RZ_KILL_AT), a.daemon.node);
    }
    if (a.keeper) {
        a.daemon.lifeline_fd = rz_keeper_start(a.alive_fd, a.daemon.launcher_fd, a.daemon.trace_fd);
    }
    if (a.keeper && a.daemon.lifeline_fd < 0) {
        return EXIT_FAILURE;
    }
    return rz_daemon_run(&a.daemon);
}
