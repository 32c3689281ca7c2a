/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system was told of mappings, beside their protection. */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/mman.h>

#define SAVES_MAX 8 /* that believe what an earlier one has read */

/* As smaps writes them. */
static const struct {
    char name[3];
    uint8_t advice;
} flags[] = {
    {"dc", RZ_ADVICE_NOT_FORKED}, {"wf", RZ_ADVICE_WIPED},    {"dd", RZ_ADVICE_NOT_DUMPED},
    {"hg", RZ_ADVICE_HUGE},       {"nh", RZ_ADVICE_NOT_HUGE}, {"sl", RZ_ADVICE_SEALED},
};

/* Whether an access below it makes it longer. The kernel changes the protection of such a mapping
 * alone "as far as it has grown"; here, to what it is. Executable memory is left alone: a
 * protection that only lets it run may take a key. */
static bool grows_down(const struct rz_image_region *r)
{
    return !r->shared && !(r->protection & PROT_EXEC) &&
           RZ_RAW3(mprotect, r->start, RZ_IMAGE_PAGE, r->protection | PROT_GROWSDOWN) == 0;
}

rz_status_t rz_image_refuse_unreadable(const struct rz_image_region *r)
{
    return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                           "the memory at 0x%lx cannot be read, and the system does not let it be "
                           "made readable (mseal)",
                           r->start);
}

/* ---- smaps: of each mapping the line of maps, and others, of which VmFlags is one ---- */

static uint8_t advice_of(const char *c)
{
    uint8_t advice = 0;
    for (; *c != '\n'; c++) {
        for (size_t i = 0; c[-1] == ' ' && i < sizeof(flags) / sizeof(*flags); i++) {
            advice |= rz_raw_begins(c, flags[i].name) ? flags[i].advice : 0;
        }
    }
    return advice;
}

/* *at: the region that the last line of maps was of, or the next one. */
static void take_smaps_line(const struct rz_image_tables *image, const char *c, uint32_t *at,
                            bool *of_it)
{
    uint64_t start, end;
    if (rz_raw_begins(c, "VmFlags:")) {
        if (*of_it) {
            RZ_AREA->advice[*at] = advice_of(c + 8);
        }
    } else if (*c < 'A' || *c > 'Z') {
        rz_image_take_number(rz_image_take_number(c, &start), &end);
        while (*at < image->head.n_regions && image->region[*at].start < start) {
            ++*at;
        }
        *of_it = *at < image->head.n_regions && image->region[*at].start == start &&
                 image->region[*at].end == end;
    }
}

/* The whole lines of the text; how many bytes these are. */
static size_t take_smaps_lines(const struct rz_image_tables *image, size_t bytes, uint32_t *at,
                               bool *of_it)
{
    size_t line = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (RZ_AREA->maps[i] == '\n') {
            take_smaps_line(image, RZ_AREA->maps + line, at, of_it);
            line = i + 1;
        }
    }
    return line;
}

static void read_advice(const struct rz_image_tables *image)
{
    long fd = RZ_RAW4(openat, AT_FDCWD, "/proc/thread-self/smaps", O_RDONLY | O_CLOEXEC, 0), n = 0;
    uint32_t at = 0;
    bool of_it = false;
    rz_raw_zero(RZ_AREA->advice, image->head.n_regions);
    for (size_t have = 0, taken; fd >= 0; have -= taken) {
        n = RZ_RAW3(read, fd, RZ_AREA->maps + have, sizeof(RZ_AREA->maps) - have);
        if (n <= 0) {
            break;
        }
        have += (size_t)n;
        taken = take_smaps_lines(image, have, &at, &of_it);
        rz_raw_copy(RZ_AREA->maps, RZ_AREA->maps + taken, have - taken);
    }
    if (fd >= 0) {
        RZ_RAW1(close, fd);
    }
}

/* A number for the places of all mappings; never 0. */
static uint64_t number_of(const struct rz_image_tables *image)
{
    uint64_t number = 1;
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        number = (number ^ image->region[i].start) * UINT64_C(0x9e3779b97f4a7c15);
        number = (number ^ image->region[i].end ^ number >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return number | 1;
}

/* The kernel walks through all pages to write smaps, which takes as long as half a save in which
 * nothing has changed. What is told of a part of a mapping makes it two, so it is read again when
 * mappings have changed, and sometimes else: what is told of all of one is seen later. */
void rz_image_note_advice(struct rz_image_tables *image)
{
    uint64_t number = number_of(image);
    if (number != RZ_AREA->advised || RZ_AREA->saves >= RZ_AREA->advised_save + SAVES_MAX) {
        read_advice(image);
        RZ_AREA->advised = number, RZ_AREA->advised_save = RZ_AREA->saves;
    }
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        struct rz_image_region *r = &image->region[i];
        bool first_stack = rz_raw_same(image->text + r->path, "[stack]");
        r->advice = RZ_AREA->advice[i];
        r->advice |= !first_stack && grows_down(r) ? RZ_ADVICE_GROWS_DOWN : 0;
    }
}
