/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slots for pieces: shared memory, a piece and its bitmap of changed pages.
 */
#include "mpi/ft/checkpoint_slot.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/assert.h"
#include "port/kill_point.h"
#include "port/memory.h"

/* The position of the bitmap; the piece ends before it. */
static size_t bitmap_at(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static size_t with_bitmap(size_t bytes)
{
    return bitmap_at(bytes) + rz_pages_bitmap_bytes(rz_pages_of(bytes));
}

static void slot_close(struct rz_slot *slot)
{
    if (slot->at) {
        rz_memory_unmap(slot->at, slot->capacity);
        close(slot->fd);
    }
    free(slot->hashes);
    *slot = (struct rz_slot){0};
}

static rz_status_t slot_open(struct rz_slot *slot, size_t capacity)
{
    rz_status_t status = rz_memory_create("rz-checkpoint", capacity, &slot->fd);
    if (status != RZ_OK) {
        return status;
    }
    status = rz_memory_reserve(slot->fd, 0, capacity);
    if (status == RZ_OK) {
        status = rz_memory_map(slot->fd, capacity, true, &slot->at, NULL);
    }
    slot->hashes_max = rz_pages_of(capacity);
    slot->hashes = status == RZ_OK ? malloc(slot->hashes_max * sizeof(*slot->hashes)) : NULL;
    if (slot->hashes) {
        slot->capacity = capacity;
        return RZ_OK;
    }
    rz_memory_unmap(slot->at, status == RZ_OK ? capacity : 0);
    close(slot->fd);
    *slot = (struct rz_slot){0};
    return status == RZ_OK ? RZ_ERR_NO_MEMORY : status;
}

rz_status_t rz_slot_reserve(struct rz_slot *slot, size_t bytes)
{
    size_t wanted = with_bitmap(bytes), had = slot->capacity;
    if (slot->at && wanted <= had && wanted >= had / 2) {
        return RZ_OK;
    }
    slot_close(slot);
    if (had == 0 || wanted < had) {
        return slot_open(slot, wanted);
    }
    /* A piece that grows will grow again: reserves more, so that the slot is not replaced each
     * time. */
    rz_status_t status = slot_open(slot, wanted + wanted / 4);
    return status == RZ_ERR_NO_MEMORY ? slot_open(slot, wanted) : status;
}

void rz_slot_write(struct rz_slot *slot, const struct rz_region *regions, uint32_t n)
{
    size_t bytes = rz_piece_bytes(regions, n);
    struct rz_piece_copy copy = {.to = slot->at,
                                 .regions = regions,
                                 .n = n,
                                 .hashes = slot->hashes,
                                 .known = slot->known,
                                 .changed = (uint8_t *)slot->at + bitmap_at(bytes)};
    rz_assert(with_bitmap(bytes) <= slot->capacity);
    slot->generation = 0;
    rz_kill_here(RZ_KILL_CHECKPOINT);
    rz_piece_copy_begin(&copy);
    rz_piece_copy_some(&copy, copy.pages / 2);
    rz_kill_here(RZ_KILL_CHECKPOINT_HALF);
    rz_piece_copy_some(&copy, copy.pages);
    slot->known = copy.pages;
    slot->bytes = bytes;
    slot->hash = rz_pages_hash(slot->hashes, bytes);
}
