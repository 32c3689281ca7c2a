/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of rzd: sends LISTENING with an unknown version, or, with RZ_TEST_NONSENSE in its
 * environment, an invalid message. */
#include "port/channel.h"
#include "wire/launch_messages.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rz_frames *frames;
    uint8_t buffer[512];
    struct rz_launch_message message = {.type = RZ_LAUNCH_LISTENING,
                                        .listening = {.version = 4711}};
    int fd = -1;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--launcher-fd") == 0) {
            fd = atoi(argv[i + 1]);
        }
    }
    if (fd < 0 || rz_frames_open(&frames, fd, RZ_LAUNCH_FRAME_MAX) != RZ_OK) {
        return 2;
    }
    size_t n = rz_launch_encode(&message, buffer, sizeof(buffer));
    if (getenv("RZ_TEST_NONSENSE")) {
        memset(buffer, 0xA5, n);
    }
    if (rz_frames_send(frames, buffer, n) != RZ_OK) {
        return 2;
    }
    if (getenv("RZ_TEST_NONSENSE")) {
        return 0;
    }
    struct pollfd end = {.fd = fd}; /* until rzrun hangs up, or sends its goodbye */
    end.events = POLLIN;
    poll(&end, 1, -1);
    return 0;
}
