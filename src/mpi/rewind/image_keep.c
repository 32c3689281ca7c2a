/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of images: two slots in turn, each a piece for the daemon with the bitmap of its
 * changed pages behind it (ckpt/pages.h, STORE). The newest image lies in one slot, and the next
 * one is written over the other. As soon as the newest is committed a thread copies what the other
 * slot lacks of it, while the program goes on: so a snapshot writes only the pages that have
 * changed since the last one (docs/decisions/0041-the-other-slot-catches-up.md).
 */
#include "mpi/rewind/image_keep.h"

#include "base/trace.h"
#include "ckpt/pages.h"
#include "mpi/impl.h"
#include "mpi/engine/paths.h"
#include "port/kill_point.h"
#include "port/memory.h"
#include "port/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct image_slot {
    int fd; /* valid if at is not NULL */
    void *at;
    size_t bytes;     /* of the piece: constant, so that pages can be compared */
    size_t capacity;  /* with what is behind it: */
    uint8_t *changed; /* the pages that have changed since an image was stored; else all */
    struct rz_page_hash *hashes; /* of the pages of the piece */
    uint64_t number;             /* of the image that was stored last; 0: none */
    bool stored;                 /* nothing has changed since */
};

static struct {
    uint64_t number; /* images of this epoch that were stored */
    struct image_slot slot[2];
    struct image_slot *saved; /* not stored yet; NULL: none */
    /* The pages in which the slots differ; NULL: all may, or there is one slot. */
    uint8_t *differ;
    bool copies; /* a thread copies them to the other slot: */
    pthread_t copier;
} kept;

enum { COPY_STACK_BYTES = 64 * 1024 };

/* An image grows: so much more is set aside, so that the slot need not be replaced each time. */
static size_t image_room(uint64_t bytes)
{
    size_t room = (size_t)bytes + bytes / 64 + ((size_t)256 << 10);
    return (room + RZ_PAGE_BYTES - 1) / RZ_PAGE_BYTES * RZ_PAGE_BYTES;
}

/* What is behind a piece: its bitmap, where the daemon looks for it, and the checksums. */
static size_t changed_bytes(size_t bytes)
{
    return (rz_pages_bitmap_bytes(rz_pages_of(bytes)) + 63) / 64 * 64;
}

static void forget_differences(void)
{
    free(kept.differ);
    kept.differ = NULL;
}

static void slot_drop(struct image_slot *slot)
{
    if (slot->at) {
        rz_memory_unmap(slot->at, slot->capacity);
        close(slot->fd);
    }
    *slot = (struct image_slot){.fd = -1};
    forget_differences();
}

void rz_images_begin(void)
{
    kept.number = 0;
    kept.saved = NULL;
    kept.copies = false;
    forget_differences();
    kept.slot[0] = kept.slot[1] = (struct image_slot){.fd = -1}; /* they are another process's */
}

bool rz_image_settled(void)
{
    return atomic_load_explicit(&rz_engine.board->committed, memory_order_acquire) >= kept.number;
}

uint64_t rz_images_stored(void)
{
    return kept.number;
}

void rz_image_each_descriptor(void (*visit)(void *arg, int fd), void *arg)
{
    for (int i = 0; i < 2; i++) {
        if (kept.slot[i].at) {
            visit(arg, kept.slot[i].fd);
        }
    }
}

static rz_status_t slot_open(struct image_slot *slot, size_t bytes)
{
    size_t pages = rz_pages_of(bytes), bitmap = changed_bytes(bytes);
    size_t capacity = bytes + bitmap + pages * sizeof(struct rz_page_hash);
    struct image_slot made = {.bytes = bytes, .capacity = capacity};
    rz_status_t status = rz_memory_create("rz-image", capacity, &made.fd);
    if (status != RZ_OK) {
        return status;
    }
    /* Pages that are zero, too: the daemon refuses a piece with holes (store_piece), and the next
     * image finds memory. */
    status = rz_memory_reserve(made.fd, 0, bytes);
    if (status == RZ_OK) {
        status = rz_memory_map(made.fd, capacity, true, &made.at, NULL);
    }
    if (status != RZ_OK) {
        close(made.fd);
        return status;
    }
    static const uint8_t zeros[RZ_PAGE_BYTES];
    const struct rz_page_hash of_zeros = rz_page_hash(zeros, sizeof(zeros));
    made.changed = (uint8_t *)made.at + bytes;
    made.hashes = (struct rz_page_hash *)(void *)(made.changed + bitmap);
    memset(made.changed, 0xff, bitmap);
    for (size_t page = 0; page < pages; page++) {
        made.hashes[page] = of_zeros;
    }
    *slot = made;
    forget_differences();
    return RZ_OK;
}

static void add_pages(uint8_t *to, const uint8_t *more, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] |= more[i];
    }
}

/* These pages of the slot are other ones than those that were stored. */
static void slot_changed(struct image_slot *slot, const uint8_t *pages, size_t bytes)
{
    if (slot->stored) {
        memset(slot->changed, 0, changed_bytes(slot->bytes));
        slot->stored = false;
    }
    add_pages(slot->changed, pages, bytes);
}

/* ---- The other slot catches up ---- */

static struct image_slot *newest_slot(void)
{
    return &kept.slot[kept.slot[1].number == kept.number];
}

static struct image_slot *other_slot(void)
{
    return &kept.slot[kept.slot[1].number != kept.number];
}

/* In a thread of its own: touches nothing but the two slots and their differences. */
static void *copy_differences(void *arg)
{
    const struct image_slot *from = newest_slot();
    struct image_slot *to = other_slot();
    size_t pages = rz_pages_of(to->bytes), bitmap = rz_pages_bitmap_bytes(pages), page = 0, n;
    (void)arg;
    rz_kill_here(RZ_KILL_IMAGE_COPY);
    for (; rz_pages_next_run(kept.differ, pages, &page, &n); page += n) {
        size_t at = page * RZ_PAGE_BYTES;
        memcpy((char *)to->at + at, (const char *)from->at + at, n * RZ_PAGE_BYTES);
        memcpy(to->hashes + page, from->hashes + page, n * sizeof(*to->hashes));
    }
    slot_changed(to, kept.differ, bitmap);
    memset(kept.differ, 0, bitmap);
    return NULL;
}

static void end_copy(void)
{
    if (kept.copies) {
        pthread_join(kept.copier, NULL);
        kept.copies = false;
    }
}

/* Two slots of the same size, whose differences are known: at first all pages. */
static bool have_both(const struct image_slot *newest, struct image_slot *other)
{
    if (other->at && other->bytes != newest->bytes) {
        slot_drop(other);
    }
    if (!other->at && slot_open(other, newest->bytes) != RZ_OK) {
        return false;
    }
    if (!kept.differ) {
        size_t bitmap = rz_pages_bitmap_bytes(rz_pages_of(newest->bytes));
        kept.differ = malloc(bitmap);
        if (kept.differ) {
            memset(kept.differ, 0xff, bitmap);
        }
    }
    return kept.differ;
}

void rz_image_catch_up(void)
{
    if (kept.number == 0 || kept.saved || kept.copies || !rz_image_settled()) {
        return;
    }
    struct image_slot *newest = newest_slot(), *other = other_slot();
    size_t page = 0, n;
    if (newest->number != kept.number || !have_both(newest, other) ||
        !rz_pages_next_run(kept.differ, rz_pages_of(newest->bytes), &page, &n)) {
        return;
    }
    kept.copies =
        rz_thread_start(&kept.copier, "rz-image", COPY_STACK_BYTES, copy_differences, NULL) == 0;
}

void rz_images_close(void)
{
    end_copy();
}

/* ---- Saving ---- */

/* The slot that the next image goes to, large enough for so many bytes. */
static rz_status_t slot_for(uint64_t bytes, struct image_slot **result)
{
    struct image_slot *slot = kept.number > 0 ? other_slot() : &kept.slot[0];
    if (slot->at && slot->bytes < bytes) {
        slot_drop(slot);
    }
    *result = slot;
    return slot->at ? RZ_OK : slot_open(slot, image_room(bytes));
}

enum rz_image_result rz_image_keep(const struct rz_image_extra *extra, char *why, size_t max)
{
    uint64_t needed = rz_image_bytes(), bytes;
    end_copy();
    struct image_slot *slot;
    rz_status_t status = slot_for(needed, &slot);
    if (status != RZ_OK) {
        snprintf(why, max, "an image of %llu bytes cannot be kept: %s", (unsigned long long)needed,
                 rz_status_text(status));
        return RZ_IMAGE_FAILED;
    }
    rz_kill_here(RZ_KILL_IMAGE_SAVE);
    kept.saved = slot;
    struct rz_image_place place = {.fd = slot->fd,
                                   .at = slot->at,
                                   .bytes = slot->bytes,
                                   .hashes = slot->hashes,
                                   .closed = extra->closed,
                                   .n_closed = extra->n_closed};
    memcpy(place.note, extra->note, sizeof(place.note));
    enum rz_image_result result = rz_image_save(&place, &bytes, why, max);
    if (result == RZ_IMAGE_RESTORED) {
        return result; /* nothing here is this process's */
    }
    rz_kill_here(RZ_KILL_IMAGE_SAVED);
    if (result == RZ_IMAGE_NO_ROOM) {
        snprintf(why, max, "its memory has grown while it was to be saved");
    }
    if (result != RZ_IMAGE_SAVED) {
        rz_image_drop();
    }
    return result;
}

void rz_image_drop(void)
{
    if (kept.saved) {
        slot_drop(kept.saved);
    }
    kept.saved = NULL;
}

/* ---- Storing ---- */

/* The bitmap for the daemon, and in what the slots differ now. */
static void note_written(struct image_slot *slot)
{
    uint64_t pages;
    const uint8_t *written = rz_image_written(&pages);
    size_t bytes = rz_pages_bitmap_bytes((size_t)pages);
    slot_changed(slot, written, bytes);
    if (kept.differ) {
        add_pages(kept.differ, written, bytes);
    }
}

void rz_image_store(void)
{
    struct image_slot *slot = kept.saved;
    note_written(slot);
    uint64_t before = slot->number;
    slot->number = ++kept.number;
    slot->stored = true;
    kept.saved = NULL;
    struct rz_link_message store = {
        .type = RZ_LINK_STORE,
        .store = {.epoch = rz_engine.epoch,
                  .number = slot->number,
                  .bytes = slot->bytes,
                  .hash = rz_pages_hash(slot->hashes, slot->bytes),
                  .back = before > 0 ? (uint32_t)(slot->number - before) : 0}};
    RZ_TRACE(CHECKPOINT, slot->number, slot->bytes, 0);
    rz_kill_here(RZ_KILL_STORE);
    rz_link_send(rz_engine.link, &store, slot->fd);
    rz_kill_here(RZ_KILL_STORED);
}
