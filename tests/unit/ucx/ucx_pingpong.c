/* SPDX-License-Identifier: BSD-3-Clause */
/* Half round trips of the transport over loopback: two processes, the table only. Usage:
 * ucx_pingpong | tcp_pingpong [turns] */
#include "internode.h"
#include "port/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_MAX (4u << 20)
#define EP_ADDRESS_MAX 1024

static struct rz_net *net;
static const struct rz_net_ops *ops;
static unsigned char *in, *out;
static bool got;
static bool ended;

static void done(struct rz_net_op *op, rz_status_t status)
{
    (void)op;
    if (status != RZ_OK) {
        _exit(2);
    }
    ended = true;
}

static void fetched(struct rz_net_op *op, rz_status_t status)
{
    (void)op;
    if (status != RZ_OK) {
        _exit(3);
    }
    got = true;
}

static void arrived(void *arg, const void *header, uint32_t header_bytes, const void *data,
                    size_t bytes, rz_net_token_t token)
{
    static struct rz_net_op op;
    (void)arg, (void)header, (void)header_bytes;
    if (!token) {
        memcpy(in, data, bytes);
        got = true;
        return;
    }
    op = (struct rz_net_op){.done = fetched};
    rz_status_t status = ops->fetch(net, token, in, bytes, &op);
    if (status != RZ_IN_PROGRESS) {
        fetched(&op, status);
    }
}

static void broken(void *arg, rz_peer_t peer)
{
    (void)arg, (void)peer;
}

static void complain(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "%s\n", text);
}

static void push(size_t bytes)
{
    static struct rz_net_op op;
    op = (struct rz_net_op){.done = done, .header_bytes = 40};
    ended = false;
    rz_status_t status = ops->send(net, 0, out, bytes, &op);
    if (status == RZ_OK) {
        ended = true;
    } else if (status != RZ_IN_PROGRESS) {
        _exit(4);
    }
}

static void wait_for(const bool *flag)
{
    while (!*flag) {
        (void)ops->progress(net);
    }
}

static double half_trip_us(bool first, size_t bytes, unsigned turns)
{
    rz_time start = 0;
    for (unsigned turn = 0; turn < turns + 20; turn++) {
        if (turn == 20) {
            start = rz_clock_now();
        }
        if (first) {
            got = false;
            push(bytes);
        }
        wait_for(&got);
        if (!first) {
            got = false;
            push(bytes);
        }
        wait_for(&ended);
    }
    return (double)(rz_clock_now() - start) / (2000.0 * turns);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8,     1024,  4096,   8000,     8001,    16384,
                                   32768, 65536, 262144, 1u << 20, 4u << 20};
    unsigned turns = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
    int pair[2];
    internode_environment();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0) {
        return 1;
    }
    pid_t child = fork();
    bool first = child != 0;
    int other = pair[first];
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(first ? 0 : 1, &core);
    sched_setaffinity(0, sizeof(core), &core);
    in = malloc(BYTES_MAX);
    out = calloc(1, BYTES_MAX);
    struct internode config = {.host = {NULL, arrived, broken}, .complain = complain};
    if (internode_open(&config, &net, &ops) != RZ_OK) {
        return 1;
    }
    unsigned char ep_address[EP_ADDRESS_MAX];
    size_t bytes = sizeof(ep_address);
    if (ops->ep_address(net, ep_address, &bytes) != RZ_OK ||
        write(other, ep_address, bytes) != (ssize_t)bytes) {
        return 1;
    }
    ssize_t received = read(other, ep_address, sizeof(ep_address));
    if (received <= 0 || ops->connect(net, 0, ep_address, (size_t)received) != RZ_OK) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned n = sizes[i] >= 1u << 20 ? turns / 20 + 1 : turns;
        double us = half_trip_us(first, sizes[i], n);
        if (first) {
            printf("%8zu B  %9.2f us half round trip  %8.1f MB/s\n", sizes[i], us,
                   (double)sizes[i] / us);
        }
    }
    ops->close(net);
    if (first) {
        waitpid(child, NULL, 0);
    }
    return 0;
}
