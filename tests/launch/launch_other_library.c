/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process whose library speaks another version of the link protocol, or (argument `key`) the
 * right version with a wrong key. Prints the daemon's refusal and exits with 3.
 */
#include "port/channel.h"
#include "wire/link_messages.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : 0;
}

int main(int argc, char **argv)
{
    static uint8_t buffer[RZ_LINK_MESSAGE_MAX];
    static const uint8_t key[32];
    int fd = (int)number("RZ_LINK_FD");
    bool same_version = argc > 1 && strcmp(argv[1], "key") == 0;
    struct rz_link_message message = {
        .type = RZ_LINK_HELLO,
        .hello = {.version = same_version ? RZ_LINK_VERSION : RZ_LINK_VERSION + 1,
                  .job = number("RZ_JOB_ID"),
                  .rank = (uint32_t)number("RZ_RANK"),
                  .incarnation = (uint32_t)number("RZ_INCARNATION"),
                  .pid = (uint32_t)getpid(),
                  .key = key,
                  .key_length = sizeof(key)}};
    size_t n = rz_link_encode(&message, buffer, sizeof(buffer));
    if (rz_channel_send(fd, buffer, n, NULL, 0) != RZ_OK) {
        return 1;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (rz_channel_receive(fd, buffer, sizeof(buffer), &n, NULL, NULL) != RZ_OK ||
        rz_link_decode(&message, buffer, n) != RZ_OK) {
        return 1;
    }
    if (message.type != RZ_LINK_REFUSED) {
        return 0;
    }
    printf("refused: %s\n", message.refused.reason);
    return 3;
}
