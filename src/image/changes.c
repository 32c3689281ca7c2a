/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages are this process's own, and which of them have changed since the save before: by
 * userfaultfd's asynchronous write protection. The first write to a protected page removes its
 * protection, without any thread being told; PAGEMAP_SCAN lists the pages without and protects
 * them. A mapping that is new has no protection, so all its pages have changed. Linux 6.7.
 *
 * Mappings of files are never protected: where a protected page of one is thrown away the kernel
 * leaves a mark instead of it, which is listed as a page that was moved out and has not changed,
 * and at which MADV_GUARD_INSTALL does not return. Their own pages are few, and have hashes.
 */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* Of linux/fs.h and linux/userfaultfd.h, which are older on machines where this is compiled. */
#define SCAN_CALL _IOWR('f', 16, struct scan)
#define SCAN_PROTECT_MATCHING 1
#define SCAN_CHECK_PROTECTED 2
#define PAGE_PROTECTABLE (UINT64_C(1) << 0)
#define PAGE_WAS_WRITTEN (UINT64_C(1) << 1)
#define PAGE_OF_FILE (UINT64_C(1) << 2)
#define PAGE_PRESENT (UINT64_C(1) << 3)
#define PAGE_SWAPPED (UINT64_C(1) << 4)
#define PAGE_OF_ZEROS (UINT64_C(1) << 5)
#define PAGE_GUARD (UINT64_C(1) << 8)
#define FEATURE_WP_UNPOPULATED (UINT64_C(1) << 13)
#define FEATURE_WP_ASYNC (UINT64_C(1) << 15)
#define USER_MODE_ONLY 1
#define FOUND_MAX (sizeof(RZ_AREA->words) / (sizeof(struct found)))

struct scan {
    uint64_t bytes, flags, start, end, walk_end, found, found_max, pages_max, inverted, all_of,
        any_of, report;
};

struct found {
    uint64_t start, end, categories;
};

/* Scans from scan->start as far as `words` can hold: how much it holds, or -errno. */
static long scan_some(struct scan *scan, uint64_t start, uint64_t end, uint64_t flags)
{
    *scan = (struct scan){.bytes = sizeof(*scan),
                          .flags = flags,
                          .start = start,
                          .end = end,
                          .found = (uintptr_t)RZ_AREA->words,
                          .found_max = FOUND_MAX,
                          .inverted = RZ_AREA->scan_not,
                          .all_of = RZ_AREA->scan_not,
                          .any_of = PAGE_PRESENT | PAGE_SWAPPED,
                          .report = PAGE_PROTECTABLE | PAGE_WAS_WRITTEN};
    return RZ_RAW3(ioctl, RZ_AREA->pagemap, SCAN_CALL, scan);
}

static bool protect(uint64_t start, uint64_t end)
{
    struct uffdio_register range = {.range = {start, end - start}, .mode = UFFDIO_REGISTER_MODE_WP};
    return RZ_RAW3(ioctl, RZ_AREA->protector, UFFDIO_REGISTER, &range) == 0;
}

/* Whether it works is tried, on a page: some systems have the calls and forbid them, or lie. */
static bool tried_on(volatile uint8_t *page)
{
    uint64_t start = (uintptr_t)page, end = start + RZ_IMAGE_PAGE;
    const struct found *found = (const void *)RZ_AREA->words;
    struct scan scan;
    page[0] = 1;
    if (!protect(start, end)) {
        return false;
    }
    for (int round = 0; round < 3; round++) { /* written; not written; written */
        if (scan_some(&scan, start, end, SCAN_PROTECT_MATCHING | SCAN_CHECK_PROTECTED) != 1 ||
            found[0].start != start || found[0].end != end ||
            (found[0].categories & PAGE_WAS_WRITTEN) != (round == 1 ? 0 : PAGE_WAS_WRITTEN)) {
            return false;
        }
        if (round == 1) {
            page[0] = 2;
        }
    }
    return true;
}

/* The number is the program's again. */
static void lose_protector(void)
{
    rz_image_include_descriptor(RZ_AREA->protector);
    RZ_AREA->protector = -1;
}

static bool try_protection(void)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = FEATURE_WP_ASYNC | FEATURE_WP_UNPOPULATED};
    long fd = RZ_RAW1(userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    if (fd < 0) {
        return false;
    }
    int aside = rz_image_descriptor_aside((int)fd);
    RZ_AREA->protector = aside >= 0 ? aside : (int)fd;
    long page =
        RZ_RAW6(mmap, 0, RZ_IMAGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool works = !rz_raw_failed(page) && RZ_RAW3(ioctl, RZ_AREA->protector, UFFDIO_API, &api) == 0;
    RZ_AREA->scan_not = PAGE_OF_FILE | PAGE_OF_ZEROS | PAGE_GUARD;
    if (works && !tried_on((volatile uint8_t *)page)) {
        RZ_AREA->scan_not = PAGE_OF_FILE | PAGE_OF_ZEROS; /* a kernel without guard pages */
        works = tried_on((volatile uint8_t *)page);
    }
    if (!rz_raw_failed(page)) {
        RZ_RAW2(munmap, page, RZ_IMAGE_PAGE);
    }
    if (!works) {
        RZ_RAW1(close, RZ_AREA->protector);
        lose_protector();
    }
    return works;
}

/* The program may have closed the descriptor, and may have another file under its number. */
static bool protector_is_ours(void)
{
    char link[40] = "/proc/thread-self/fd/", name[64];
    if (RZ_AREA->protector < 0) {
        return false;
    }
    rz_image_number(link + rz_raw_length(link), (uint64_t)RZ_AREA->protector);
    long n = RZ_RAW4(readlinkat, AT_FDCWD, link, name, sizeof(name) - 1);
    name[n > 0 ? n : 0] = '\0';
    return rz_raw_same(name, "anon_inode:[userfaultfd]");
}

void rz_image_check_protector(void)
{
    if (RZ_AREA->method == RZ_METHOD_PROTECTION && !protector_is_ours()) {
        lose_protector();
        RZ_AREA->method = RZ_METHOD_UNKNOWN;
    }
}

static void choose_method(void)
{
    enum rz_image_method wanted = RZ_AREA->method_wanted;
    rz_image_check_protector();
    if (RZ_AREA->method == RZ_METHOD_UNKNOWN || (wanted && RZ_AREA->method != wanted)) {
        rz_image_forget_changes();
        RZ_AREA->method = wanted != RZ_METHOD_HASHES && try_protection() ? RZ_METHOD_PROTECTION
                                                                         : RZ_METHOD_HASHES;
    }
}

/* From the next save on all pages have changed. */
void rz_image_forget_changes(void)
{
    RZ_AREA->pool_used[RZ_POOL_KNOWN] = RZ_AREA->pool_used[RZ_POOL_KNOWN_OTHER] = 0;
}

/* *listed: the end of what was found before. */
static rz_status_t add_found(const struct found *found, bool all, uint64_t *listed)
{
    uint64_t at = found->start, stop;
    bool written =
        all || !(found->categories & PAGE_PROTECTABLE) || (found->categories & PAGE_WAS_WRITTEN);
    if (found->start < *listed || found->start >= found->end) {
        return rz_image_refuse(RZ_ERR_SYSTEM, "the kernel lists the page at 0x%lx out of turn",
                               found->start);
    }
    *listed = found->end;
    while (rz_image_next_included(&at, found->end, &stop)) {
        struct rz_image_run run = {at / RZ_IMAGE_PAGE, (stop - at) / RZ_IMAGE_PAGE, written};
        if (!rz_image_pool_add(RZ_POOL_SCANNED, &run)) {
            return RZ_ERR_NO_MEMORY;
        }
        at = stop;
    }
    return RZ_OK;
}

static rz_status_t scan_region(const struct rz_image_region *r)
{
    uint64_t flags = protect(r->start, r->end) ? SCAN_PROTECT_MATCHING | SCAN_CHECK_PROTECTED : 0;
    uint64_t from = r->start, listed = r->start;
    while (from < r->end) {
        struct scan scan;
        long n = scan_some(&scan, from, r->end, flags);
        if (n < 0 && flags != 0) { /* part of it cannot be protected */
            flags = 0;
            continue;
        }
        if (n < 0) {
            return rz_image_refuse(RZ_ERR_SYSTEM, "the pages at 0x%lx cannot be listed", from);
        }
        const struct found *found = (const void *)RZ_AREA->words;
        for (long i = 0; i < n; i++) {
            rz_status_t status = add_found(&found[i], flags == 0, &listed);
            if (status != RZ_OK) {
                return status;
            }
        }
        /* Linux 6.18 leaves in walk_end where it last emptied a buffer of 512, though it went on to
         * the end: what is listed says how far it came. */
        from = n < (long)FOUND_MAX ? r->end : listed;
    }
    return RZ_OK;
}

/* The runs of pages that are the process's own and not excluded, ascending; value: changed. */
rz_status_t rz_image_scan(const struct rz_image_tables *image)
{
    RZ_AREA->pool_used[RZ_POOL_SCANNED] = 0;
    RZ_AREA->pagemap =
        (int)RZ_RAW4(openat, AT_FDCWD, "/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC, 0);
    if (RZ_AREA->pagemap < 0) {
        return rz_image_refuse(RZ_ERR_SYSTEM, "%s", rz_image_why_unread(RZ_AREA->pagemap));
    }
    choose_method();
    rz_status_t status = RZ_OK;
    struct rz_image_hashing hashing;
    rz_image_hash_begin(&hashing);
    for (uint32_t i = 0; status == RZ_OK && i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        bool protects = RZ_AREA->method == RZ_METHOD_PROTECTION && r->kind == RZ_IMAGE_ANONYMOUS;
        if (!r->shared) {
            status = protects ? scan_region(r) : rz_image_hash_region(&hashing, r);
        }
    }
    RZ_RAW1(close, RZ_AREA->pagemap);
    if (status != RZ_OK) {
        rz_image_forget_changes(); /* some are protected again, and not in the list */
    }
    return status;
}
