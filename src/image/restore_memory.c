/* SPDX-License-Identifier: BSD-3-Clause */
/* The mappings and pages of the image. Nothing here touches what is excluded, or the reserved
 * region. Part of the restore program. */
#include "image/restore_program.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define POPULATE_WRITE 23 /* madvise, Linux 5.14 */
#define GUARD_REMOVE 103  /* Linux 6.13 */
#define CALL_MSEAL 462    /* Linux 6.10 */
#define STACK_MAX (UINT64_C(64) << 20)
#define HEAP_STEP (UINT64_C(1) << 30)
#define POPULATE_MIN (16 * RZ_IMAGE_PAGE)

/* ---- Mappings ---- */

static bool is_special(const struct rz_image_tables *tables, const struct rz_image_region *r)
{
    const char *path = tables->text + r->path;
    return rz_image_of_kernel(path) || rz_raw_same(path, "[stack]") ||
           rz_image_in_region(r->start, r->end);
}

/* Of [at, end) what no region of the image has. next: the first region that may overlap. */
static void unmap_gaps(uint64_t at, uint64_t end, uint32_t next)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    for (; at < end; next++) {
        bool more = next < image->head.n_regions && image->region[next].start < end;
        uint64_t start = more ? image->region[next].start : end;
        if (start > at) {
            RZ_RAW2(munmap, at, start - at);
        }
        if (!more) {
            return;
        }
        at = image->region[next].end > at ? image->region[next].end : at;
    }
}

/* In another process than that of the image, all that is not excluded. */
static void unmap_others(void)
{
    const struct rz_image_tables *image = &RZ_AREA->image, *here = &RZ_AREA->here;
    uint32_t next = 0;
    for (uint32_t i = 0; i < here->head.n_regions; i++) {
        const struct rz_image_region *r = &here->region[i];
        uint64_t at = r->start, stop;
        while (next < image->head.n_regions && image->region[next].end <= r->start) {
            next++;
        }
        while (!is_special(here, r) && rz_image_next_included(&at, r->end, &stop)) {
            if (RZ_AREA->in_place) {
                unmap_gaps(at, stop, next);
            } else {
                RZ_RAW2(munmap, at, stop - at);
            }
            at = stop;
        }
    }
}

/* Where the heap ends. It shrinks only over what is mapped, so before all else; it grows only where
 * nothing is. In another process it may begin far below: it grows there step by step, and what it
 * has grown over is unmapped, so that no memory is charged. libc must not see another end than the
 * one that it knows: it would take that for memory that it has. */
static void shrink_heap(void)
{
    uint64_t end = RZ_AREA->image.head.brk;
    if ((uint64_t)RZ_RAW1(brk, 0) > end && (uint64_t)RZ_RAW1(brk, end) != end) {
        rz_restore_fail("the heap does not end where it did", "");
    }
}

static void grow_heap(void)
{
    const uint64_t mask = RZ_IMAGE_PAGE - 1, end = RZ_AREA->image.head.brk;
    uint64_t at = (uint64_t)RZ_RAW1(brk, 0);
    while (at < end) {
        uint64_t next = end - at > HEAP_STEP ? at + HEAP_STEP : end;
        uint64_t first = (at + mask) & ~mask, last = (next + mask) & ~mask;
        if (first < last) {
            RZ_RAW2(munmap, first, last - first);
        }
        if (rz_image_excluded(first, last) || (uint64_t)RZ_RAW1(brk, next) != next) {
            rz_restore_fail("the heap does not end where it did", "");
        }
        if (next < end && first < last) {
            RZ_RAW2(munmap, first, last - first);
        }
        at = next;
    }
}

/* The kernel's pages, to where libc has been told that they are. In two steps: the old and the new
 * place may overlap. */
static void move_vdso(void)
{
    const struct rz_image_tables *here = &RZ_AREA->here;
    const struct rz_image_region *vdso = rz_image_named(here, "[vdso]");
    uint64_t by = vdso ? RZ_AREA->image.head.vdso - vdso->start : 0;
    for (int step = 0; by != 0 && step < 2; step++) {
        for (uint32_t i = 0; i < here->head.n_regions; i++) {
            const struct rz_image_region *r = &here->region[i];
            const char *path = here->text + r->path;
            if (!rz_image_of_kernel(path) || rz_raw_same(path, "[vsyscall]")) {
                continue;
            }
            uint64_t bytes = r->end - r->start;
            uint64_t aside = RZ_IMAGE_ASIDE_AT + (r->start & 0xffffff);
            if (rz_raw_failed(RZ_RAW5(mremap, step ? aside : r->start, bytes, bytes,
                                      MREMAP_MAYMOVE | MREMAP_FIXED,
                                      step ? r->start + by : aside))) {
                rz_restore_fail("the kernel does not move ", path);
            }
        }
    }
}

/* Whether the mapping is there as the image has it. */
static bool is_here(const struct rz_image_region *r)
{
    const struct rz_image_tables *image = &RZ_AREA->image, *here = &RZ_AREA->here;
    const char *path = image->text + r->path;
    if (r->kind == RZ_IMAGE_WHOLE) {
        return false; /* its file may be shorter by now */
    }
    for (uint32_t i = 0; i < here->head.n_regions; i++) {
        const struct rz_image_region *h = &here->region[i];
        const char *name = here->text + h->path;
        if (rz_raw_same(path, "[stack]") && rz_raw_same(name, path) && h->end == r->end) {
            if (r->start < h->start && !rz_raw_readable(r->start)) { /* it grows down to there */
                rz_restore_fail("the stack does not grow as far as it had grown", "");
            }
            return true;
        }
        if (h->start == r->start && h->end == r->end) {
            return h->protection == r->protection && h->shared == r->shared &&
                   h->offset == r->offset && rz_raw_same(path, name);
        }
    }
    return false;
}

/* The first stack, where it is not the kernel's own, does not grow: it gets its room at once. */
static uint64_t stack_start(const struct rz_image_region *r)
{
    const struct rz_image_head *head = &RZ_AREA->image.head;
    uint64_t room = head->limit[RLIMIT_STACK][0];
    room = room < STACK_MAX ? room & ~(RZ_IMAGE_PAGE - 1) : STACK_MAX;
    uint64_t start = room < r->end ? r->end - room : r->start;
    uint64_t before = r > RZ_AREA->image.region ? r[-1].end : 0;
    start = start > before ? start : before;
    return start < r->start ? start : r->start;
}

/* [at, end) as if it were behind the end of a file: no access is possible but to what is mapped. */
static void map_behind(uint64_t at, uint64_t end)
{
    long fd = at < end ? RZ_RAW2(memfd_create, "behind the end of a file", MFD_CLOEXEC) : -1;
    uint64_t stop;
    for (; rz_image_next_included(&at, end, &stop); at = stop) {
        if (fd < 0 || RZ_RAW6(mmap, at, stop - at, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE,
                              fd, 0) != (long)at) {
            rz_restore_fail("the system does not map ", "what is behind the end of a file");
        }
    }
    if (fd >= 0) {
        RZ_RAW1(close, fd);
    }
}

/* To the parts that are not excluded. */
static void tell_system(const struct rz_image_region *r)
{
    static const struct {
        uint32_t advice;
        int call;
    } calls[] = {
        {RZ_ADVICE_NOT_FORKED, MADV_DONTFORK}, {RZ_ADVICE_WIPED, MADV_WIPEONFORK},
        {RZ_ADVICE_NOT_DUMPED, MADV_DONTDUMP}, {RZ_ADVICE_HUGE, MADV_HUGEPAGE},
        {RZ_ADVICE_NOT_HUGE, MADV_NOHUGEPAGE},
    };
    for (uint64_t at = r->start, stop; rz_image_next_included(&at, r->end, &stop); at = stop) {
        for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
            if (r->advice & calls[i].advice) {
                RZ_RAW3(madvise, at, stop - at, calls[i].call);
            }
        }
    }
}

/* Last: nothing can be changed any more. */
static void seal(const struct rz_image_region *r)
{
    uint64_t at = r->start, stop;
    while (r->advice & RZ_ADVICE_SEALED && rz_image_next_included(&at, r->end, &stop)) {
        rz_raw(CALL_MSEAL, (long[6]){(long)at, (long)(stop - at)});
        at = stop;
    }
}

static void map_region(const struct rz_image_region *r)
{
    const char *path = RZ_AREA->image.text + r->path;
    long fd = -1, flags = MAP_FIXED | (r->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE;
    if (r->kind == RZ_IMAGE_MAPPED) {
        fd = RZ_RAW4(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    } else {
        flags |= MAP_ANONYMOUS;
    }
    flags |= r->advice & RZ_ADVICE_GROWS_DOWN ? MAP_GROWSDOWN : 0;
    long protection = r->shared ? r->protection : PROT_READ | PROT_WRITE;
    uint64_t at = rz_raw_same(path, "[stack]") ? stack_start(r) : r->start, stop;
    uint64_t end = r->kind == RZ_IMAGE_WHOLE ? r->start + r->file_bytes : r->end;
    while (rz_image_next_included(&at, end, &stop)) {
        uint64_t offset = fd < 0 ? 0 : r->offset + (at - r->start);
        if ((r->kind == RZ_IMAGE_MAPPED && fd < 0) ||
            RZ_RAW6(mmap, at, stop - at, protection, flags, fd, offset) != (long)at) {
            rz_restore_fail("the system does not map ", *path ? path : "memory");
        }
        at = stop;
    }
    if (fd >= 0) {
        RZ_RAW1(close, fd);
    }
    map_behind(end, r->end);
}

/* ---- Pages ---- */

/* Again what the file says, or zero. */
static void discard(uint64_t at, uint64_t end)
{
    uint64_t stop;
    while (at < end && rz_image_next_included(&at, end, &stop)) {
        RZ_RAW3(madvise, at, stop - at, MADV_DONTNEED);
        at = stop;
    }
}

/* Nothing can be written to guard pages that came after the image. */
static void remove_guards(uint64_t at, uint64_t end)
{
    uint64_t stop;
    while (rz_image_next_included(&at, end, &stop)) {
        RZ_RAW3(madvise, at, stop - at, GUARD_REMOVE);
        at = stop;
    }
}

static void take_bytes(uint64_t at, uint64_t bytes, uint64_t offset)
{
    while (bytes > 0) {
        long n = RZ_RAW4(pread64, RZ_AREA->fd, at, bytes < 1 << 30 ? bytes : 1 << 30, offset);
        if (n <= 0) {
            rz_restore_fail("the pages of the image cannot be read", "");
        }
        at += (uint64_t)n, offset += (uint64_t)n, bytes -= (uint64_t)n;
    }
}

/* Whether pages from `at` on are as the image has them: then, and as long as they are all alike, up
 * to *stop. The list has every page of this process, ascending; so have the calls. */
static bool is_unchanged(uint64_t at, uint64_t *stop)
{
    struct rz_image_cursor known = rz_image_cursor_of(RZ_POOL_KNOWN + RZ_AREA->turn);
    uint64_t page = at / RZ_IMAGE_PAGE, pages = *stop / RZ_IMAGE_PAGE - page;
    known.run = RZ_AREA->known_at ? RZ_AREA->known_at : known.run;
    bool inside = rz_image_look(&known, page, &pages);
    RZ_AREA->known_at = known.run;
    *stop = (page + pages) * RZ_IMAGE_PAGE;
    return inside && known.run->value <= RZ_AREA->image.head.save;
}

static void take_pages(const struct rz_image_run *run, bool mapped)
{
    uint64_t start = run->page * RZ_IMAGE_PAGE, end = start + run->pages * RZ_IMAGE_PAGE;
    uint64_t at = start, stop;
    while (at < end && rz_image_next_included(&at, end, &stop)) {
        if (!mapped && RZ_AREA->skips && is_unchanged(at, &stop)) {
            at = stop;
            continue;
        }
        if (mapped && stop - at >= POPULATE_MIN) {
            RZ_RAW3(madvise, at, stop - at, POPULATE_WRITE);
        }
        take_bytes(at, stop - at, (1 + run->value) * RZ_IMAGE_PAGE + (at - start));
        at = stop;
    }
}

/* run: the first one that may have pages of the region; returned: the first one of the next. */
static const struct rz_image_run *fill_region(const struct rz_image_region *r, bool kept,
                                              const struct rz_image_run *run,
                                              const struct rz_image_run *end)
{
    const long writable = PROT_READ | PROT_WRITE;
    uint64_t at = r->start, last = r->end / RZ_IMAGE_PAGE, bytes = r->end - r->start;
    bool open = !kept || (r->protection & writable) == writable;
    if (kept && !r->shared) {
        remove_guards(at, r->end);
    }
    for (; run < end && run->page < last; run++) {
        struct rz_image_run part = *run;
        uint64_t first = at / RZ_IMAGE_PAGE, before = part.page < first ? first - part.page : 0;
        part.page += before, part.value += before, part.pages -= before;
        part.pages = part.pages < last - part.page ? part.pages : last - part.page;
        if (!open) {
            open = RZ_RAW3(mprotect, r->start, bytes, writable) == 0;
        }
        if (kept) {
            discard(at, part.page * RZ_IMAGE_PAGE);
        }
        take_pages(&part, !kept);
        at = (part.page + part.pages) * RZ_IMAGE_PAGE;
        if (run->page + run->pages > last) { /* the rest is of the next region */
            break;
        }
    }
    if (kept && !r->shared) {
        discard(at, r->end);
    }
    if (!r->shared && r->protection != writable &&
        (!kept || (r->protection & writable) != writable)) {
        RZ_RAW3(mprotect, r->start, bytes, r->protection);
    }
    return run;
}

/* The program may have raised the limit; rz_restore_memory's caller makes it what it was. */
static void lift_stack_limit(void)
{
    uint64_t limit[2];
    if (RZ_RAW4(prlimit64, 0, RLIMIT_STACK, 0, limit) == 0) {
        limit[0] = limit[1];
        RZ_RAW4(prlimit64, 0, RLIMIT_STACK, limit, 0);
    }
}

/* The end of the heap first: it shrinks only over what is mapped, and grows only where nothing is.
 */
void rz_restore_memory(void)
{
    const struct rz_image_tables *image = &RZ_AREA->image;
    const struct rz_image_run *run = (void *)(RZ_IMAGE_POOL_AT + RZ_POOL_INDEX * RZ_IMAGE_POOL_MAX);
    const struct rz_image_run *end = run + image->head.n_index;
    RZ_AREA->known_at = NULL;
    lift_stack_limit();
    shrink_heap();
    unmap_others();
    move_vdso();
    grow_heap();
    rz_restore_kill_here(RZ_KILL_IMAGE_UNMAPPED);
    if (rz_image_read_maps(&RZ_AREA->here) != RZ_OK) {
        rz_restore_fail(RZ_AREA->why, "");
    }
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        bool kept = is_here(&image->region[i]);
        if (!kept) {
            map_region(&image->region[i]);
        }
        tell_system(&image->region[i]);
        run = fill_region(&image->region[i], kept, run, end);
        seal(&image->region[i]);
        if (i == image->head.n_regions / 2) {
            rz_restore_kill_here(RZ_KILL_IMAGE_HALF);
        }
    }
}
