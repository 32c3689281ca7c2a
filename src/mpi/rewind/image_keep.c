/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of images: two slots in turn, each a piece for the daemon with the bitmap of its
 * changed pages behind it (ckpt/pages.h, STORE). The slot of the image before the last one is
 * written over, and of it only the pages that have changed since.
 */
#include "mpi/rewind/image_keep.h"

#include "base/trace.h"
#include "ckpt/pages.h"
#include "mpi/chapter.h"
#include "mpi/engine/paths.h"
#include "port/kill_point.h"
#include "port/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct image_slot {
    int fd; /* valid if at is not NULL */
    void *at;
    size_t bytes;                /* of the piece: constant, so that pages can be compared */
    size_t capacity;             /* with the bitmap */
    struct rz_page_hash *hashes; /* of the pages of the piece */
    uint64_t number;             /* of the image in it; 0: none */
};

static struct {
    uint64_t number; /* images of this epoch that were stored */
    struct image_slot slot[2];
    struct image_slot *saved; /* not stored yet; NULL: none */
} kept;

/* An image grows: so much more is set aside, so that the slot need not be replaced each time. */
static size_t image_room(uint64_t bytes)
{
    size_t room = (size_t)bytes + bytes / 64 + ((size_t)256 << 10);
    return (room + RZ_PAGE_BYTES - 1) / RZ_PAGE_BYTES * RZ_PAGE_BYTES;
}

static void slot_forget(struct image_slot *slot)
{
    free(slot->hashes);
    *slot = (struct image_slot){.fd = -1};
}

static void slot_drop(struct image_slot *slot)
{
    if (slot->at) {
        rz_memory_unmap(slot->at, slot->capacity);
        close(slot->fd);
    }
    slot_forget(slot);
}

void rz_images_begin(void)
{
    kept.number = 0;
    kept.saved = NULL;
    slot_forget(&kept.slot[0]); /* they belong to another process */
    slot_forget(&kept.slot[1]);
}

bool rz_image_settled(void)
{
    return atomic_load_explicit(&rz_engine.board->committed, memory_order_acquire) >= kept.number;
}

void rz_image_each_descriptor(void (*visit)(void *arg, int fd), void *arg)
{
    for (int i = 0; i < 2; i++) {
        if (kept.slot[i].at) {
            visit(arg, kept.slot[i].fd);
        }
    }
}

/* ---- Saving ---- */

static bool slot_open(struct image_slot *slot, size_t bytes)
{
    size_t capacity = bytes + rz_pages_bitmap_bytes(rz_pages_of(bytes));
    struct image_slot made = {.bytes = bytes, .capacity = capacity};
    if (rz_memory_create("rz-image", capacity, &made.fd) != RZ_OK) {
        return false;
    }
    made.hashes = calloc(rz_pages_of(bytes), sizeof(*made.hashes));
    if (!made.hashes || rz_memory_map(made.fd, capacity, true, &made.at, NULL) != RZ_OK) {
        close(made.fd);
        free(made.hashes);
        return false;
    }
    *slot = made;
    return true;
}

/* The slot that does not hold the newest image, large enough for so many bytes; NULL: no memory. */
static struct image_slot *slot_for(uint64_t bytes)
{
    struct image_slot *slot = &kept.slot[kept.slot[0].number == kept.number && kept.number > 0];
    if (slot->at && slot->bytes < bytes) {
        slot_drop(slot);
    }
    return slot->at || slot_open(slot, image_room(bytes)) ? slot : NULL;
}

enum rz_image_result rz_image_keep(char *why, size_t max)
{
    uint64_t needed = rz_image_bytes(), bytes;
    struct image_slot *slot = slot_for(needed);
    if (!slot) {
        snprintf(why, max, "no memory for an image of %llu bytes", (unsigned long long)needed);
        return RZ_IMAGE_FAILED;
    }
    rz_kill_here(RZ_KILL_IMAGE_SAVE);
    kept.saved = slot;
    enum rz_image_result result = rz_image_save(slot->fd, &bytes, why, max);
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

/* Brings the checksums of the pages up to date, and the bitmap; all pages of a slot that had no
 * image are new. */
static void look_at_pages(struct image_slot *slot)
{
    uint64_t told;
    const uint8_t *written = rz_image_written(&told);
    size_t pages = rz_pages_of(slot->bytes), page = 0, n, room = rz_pages_bitmap_bytes(pages);
    uint8_t *bitmap = (uint8_t *)slot->at + slot->bytes;
    if (slot->number == 0 || !written) {
        memset(bitmap, 0xff, room);
    } else {
        size_t known = rz_pages_bitmap_bytes((size_t)told);
        memset(bitmap, 0, room);
        memcpy(bitmap, written, known < room ? known : room);
    }
    for (; rz_pages_next_run(bitmap, pages, &page, &n); page += n) {
        for (size_t i = page; i < page + n; i++) {
            slot->hashes[i] =
                rz_page_hash((const char *)slot->at + i * RZ_PAGE_BYTES, RZ_PAGE_BYTES);
        }
    }
}

void rz_image_store(void)
{
    struct image_slot *slot = kept.saved;
    look_at_pages(slot);
    uint64_t before = slot->number;
    slot->number = ++kept.number;
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
