/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What saving and restoring costs: image_cost MIB [hashes]. Processor time and time on the clock of
 * a save into an empty object; of saves over an older image after 0, 1 and 10 percent of the pages,
 * drawn at random, have changed; of the program while it changes 1 percent; of a restore in place.
 */
#include "apart.h"
#include "image/area.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE ((size_t)4096)

/* Not rolled back. */
struct began {
    double wall, processor;
    int restored;
};

static double clock_ms(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void begin(struct began *began)
{
    began->wall = clock_ms(CLOCK_MONOTONIC);
    began->processor = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static void report(const struct began *began, const char *what)
{
    printf("%-44s %8.1f ms of a processor %8.1f ms\n", what,
           clock_ms(CLOCK_PROCESS_CPUTIME_ID) - began->processor,
           clock_ms(CLOCK_MONOTONIC) - began->wall);
    fflush(stdout);
}

static void change(char *at, size_t pages, size_t n)
{
    static unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        at[(seed >> 4) % pages * PAGE + 128]++;
    }
}

static uint64_t save(int fd)
{
    uint64_t bytes;
    char why[512] = "";
    if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) !=
        RZ_IMAGE_SAVED) {
        printf("not saved: %s\n", why);
        exit(1);
    }
    return bytes;
}

static uint64_t written(void)
{
    uint64_t pages, n = 0;
    const uint8_t *bits = rz_image_written(&pages);
    for (uint64_t i = 0; i < pages; i++) {
        n += bits[i / 8] >> i % 8 & 1;
    }
    return n;
}

static void saves(struct began *began, int fd, char *at, size_t pages)
{
    static const int percent[] = {0, 1, 10, 1, 10};
    char what[64];
    begin(began);
    uint64_t bytes = save(fd);
    report(began, "save into an empty object");
    printf("    %.1f MB, of %.1f MB\n", (double)bytes / 1e6, (double)(pages * PAGE) / 1e6);
    for (size_t i = 0; i < sizeof(percent) / sizeof(*percent); i++) {
        begin(began);
        change(at, pages, pages * (size_t)percent[i] / 100);
        snprintf(what, sizeof(what), "the program changes %d %%", percent[i]);
        report(began, what);
        begin(began);
        save(fd);
        snprintf(what, sizeof(what), "save after %d %% have changed", percent[i]);
        report(began, what);
        printf("    %llu pages written\n", (unsigned long long)written());
    }
}

static void restores(struct began *began, int fd, char *at, size_t pages)
{
    uint64_t bytes = 0;
    char why[512] = "";
    if (rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why)) ==
        RZ_IMAGE_RESTORED) {
        report(began, began->restored++ ? "restore in place" : "restore in place, the first");
    }
    if (began->restored < 3) {
        change(at, pages, pages / 100);
        begin(began);
        rz_image_restore(fd, bytes, NULL, 0, why, sizeof(why));
        printf("not restored: %s\n", why);
    }
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? (size_t)atoi(argv[1]) : 16) << 20;
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct began *began = map_apart(PAGE, MAP_PRIVATE, -1);
    int fd = rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC));
    if (!began || fd < 0) {
        return 77;
    }
    RZ_AREA->method_wanted = argc > 2 ? RZ_METHOD_HASHES : RZ_METHOD_UNKNOWN;
    for (int inherited = 3; inherited < 256; inherited++) {
        rz_image_exclude_descriptor(inherited);
    }
    for (size_t i = 0; i < bytes; i += 64) {
        *(size_t *)(void *)(at + i) = i * 2654435761u;
    }
    saves(began, fd, at, bytes / PAGE);
    restores(began, fd, at, bytes / PAGE);
    return 0;
}
