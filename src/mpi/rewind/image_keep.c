/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of an image: a piece for the daemon (ckpt/pages.h). */
#include "mpi/rewind/image_keep.h"

#include "base/trace.h"
#include "ckpt/pages.h"
#include "mpi/chapter.h"
#include "mpi/engine/paths.h"
#include "mpi/rewind/rewind_refusals.h"
#include "port/kill_point.h"
#include "port/memory.h"

#include <stdio.h>
#include <unistd.h>

static struct {
    uint64_t number; /* images of this epoch that were stored */
    int fd;          /* of the one that was saved last and is not stored yet; -1: none */
    uint64_t bytes;
} kept = {.fd = -1};

/* Space for what grows between the question and the save. */
#define ROOM_MORE ((size_t)1 << 20)

void rz_images_begin(void)
{
    kept.number = 0;
    kept.fd = -1; /* of another process */
}

bool rz_image_settled(void)
{
    return atomic_load_explicit(&rz_engine.board->committed, memory_order_acquire) >= kept.number;
}

/* Behind the piece is the bitmap of its pages. */
static size_t with_room(uint64_t bytes)
{
    size_t room = (size_t)bytes + bytes / 16 + ROOM_MORE;
    return room + rz_pages_bitmap_bytes(rz_pages_of(room)) + 8;
}

enum rz_image_result rz_image_keep(char *why, size_t max)
{
    size_t room = with_room(rz_image_bytes());
    rz_status_t status = rz_memory_create("rz-image", room, &kept.fd);
    if (status != RZ_OK) {
        snprintf(why, max, "no memory for an image of %zu bytes", room);
        kept.fd = -1;
        return RZ_IMAGE_FAILED;
    }
    rz_snapshot_leave_out(); /* connections may be new since the process stopped */
    rz_kill_here(RZ_KILL_IMAGE_SAVE);
    enum rz_image_result result = rz_image_save(kept.fd, &kept.bytes, why, max);
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
    if (kept.fd >= 0) {
        close(kept.fd);
    }
    kept.fd = -1;
}

/* The checksum that the daemon and its copies are checked by. */
static rz_status_t hash_of(int fd, uint64_t bytes, uint64_t *hash)
{
    void *at;
    rz_status_t status = rz_memory_map(fd, (size_t)bytes, false, &at, NULL);
    if (status == RZ_OK) {
        *hash = rz_pages_look(at, (size_t)bytes, NULL);
        rz_memory_unmap(at, (size_t)bytes);
    }
    return status;
}

void rz_image_store(void)
{
    struct rz_link_message store = {
        .type = RZ_LINK_STORE,
        .store = {.epoch = rz_engine.epoch, .number = kept.number + 1, .bytes = kept.bytes}};
    if (hash_of(kept.fd, kept.bytes, &store.store.hash) == RZ_OK) {
        kept.number++;
        RZ_TRACE(CHECKPOINT, kept.number, kept.bytes, 0);
        rz_kill_here(RZ_KILL_STORE);
        rz_link_send(rz_engine.link, &store, kept.fd);
        rz_kill_here(RZ_KILL_STORED);
    }
    rz_image_drop();
}
