/* SPDX-License-Identifier: BSD-3-Clause */
/* A socket whose last close waits: its peer never reads what it has still to send. */
#ifndef RZ_TESTS_LINGERING_H
#define RZ_TESTS_LINGERING_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

/* For how many seconds it waits; *peer is kept open for as long. -1: there is no loopback. */
static inline int lingering_socket(int seconds, int *peer)
{
    static const char zeros[65536];
    const struct linger linger = {.l_onoff = 1, .l_linger = seconds};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    bool met = bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, 1) == 0 &&
               getsockname(listener, (struct sockaddr *)&at, &length) == 0 &&
               connect(fd, (struct sockaddr *)&at, length) == 0;
    *peer = met ? accept(listener, NULL, NULL) : -1;
    close(listener);
    if (!met || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        close(fd);
        return -1;
    }
    while (write(fd, zeros, sizeof(zeros)) > 0) {
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    return fd;
}

#endif
