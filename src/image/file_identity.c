/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file is the one that an image means, and has what it had. Also in the restore program.
 */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/stat.h>

#define NS_PER_S UINT64_C(1000000000)
#define REALTIME_COARSE 5 /* the clock by which files get their times */

static uint64_t in_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

uint64_t rz_image_now_ns(void)
{
    struct timespec now = {0};
    return RZ_RAW2(clock_gettime, REALTIME_COARSE, &now) == 0 ? in_ns(&now) : 0;
}

/* The number of its boot has digits in groups. */
uint64_t rz_image_host(void)
{
    char text[64];
    long n = rz_image_read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));
    uint64_t host = 0;
    for (long i = 0; i < n; i++) {
        host = (host ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3); /* FNV-1a */
    }
    return host;
}

struct rz_image_identity rz_image_identity_of(const struct stat *st, uint64_t made_ns)
{
    return (struct rz_image_identity){.device = st->st_dev,
                                      .inode = st->st_ino,
                                      .made_ns = made_ns,
                                      .bytes = (uint64_t)st->st_size,
                                      .written_ns = in_ns(&st->st_mtim),
                                      .changed_ns = in_ns(&st->st_ctim)};
}

/* Of a file system that several hosts share the device has another number on each. */
static bool same_file(const struct rz_image_identity *was, const struct rz_image_identity *is,
                      bool same_host)
{
    return was->inode == is->inode && rz_image_same_made(was->made_ns, is->made_ns) &&
           (was->device == is->device || !same_host || (was->made_ns != 0 && is->made_ns != 0));
}

/* Whether another file has the time at which the one was written to, and got it from that: by a
 * process that has restored it, or as a copy. A copy may have no fractions of seconds; on the same
 * host whole seconds are what several versions of a file may be given. */
static bool same_time(const struct rz_image_identity *was, const struct rz_image_identity *is,
                      bool same_host)
{
    uint64_t fraction = is->written_ns % NS_PER_S;
    return same_host ? is->written_ns == was->written_ns && fraction != 0
                     : is->written_ns == was->written_ns ||
                           (fraction == 0 &&
                            is->written_ns == was->written_ns - was->written_ns % NS_PER_S);
}

bool rz_image_same_content(const struct rz_image_head *head, const struct rz_image_identity *was,
                           const struct rz_image_identity *is)
{
    bool same_host = head->host != 0 && head->host == RZ_AREA->host;
    return was->bytes == is->bytes &&
           (same_file(was, is, same_host)
                ? was->written_ns == is->written_ns && was->changed_ns == is->changed_ns
                : same_time(was, is, same_host));
}

bool rz_image_same_reading(const struct rz_image_head *head, const struct rz_image_identity *was,
                           const struct rz_image_identity *is)
{
    bool same_host = head->host != 0 && head->host == RZ_AREA->host;
    return same_file(was, is, same_host) ||
           (was->bytes == is->bytes &&
            (same_time(was, is, same_host) || (!same_host && is->changed_ns < head->saved_ns)));
}
