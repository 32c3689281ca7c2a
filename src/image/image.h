/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process images: the private writable memory, registers, threads, signal handlers, regular files
 * and working directory of this process, saved into a memory object and restored from it, in this
 * process or in a fresh process of the same program. x86-64 Linux; elsewhere, and under sanitizers,
 * every call that would save or restore is refused with a sentence.
 *
 * `why`, where it is a parameter, is [max] characters for one sentence without a full stop that
 * names the thing; it is written only if the call does not succeed. All calls may be made by any
 * thread, one of save, check, bytes and restore at a time.
 *
 * The reserved region. Addresses from RZ_IMAGE_REGION up to RZ_IMAGE_REGION + RZ_IMAGE_REGION_BYTES
 * belong to this module. What is mapped there is in no image, and no restore touches it. There
 * belong all mappings that outlive a restore: a mapping elsewhere may be where the image has one.
 */
#ifndef RZ_IMAGE_IMAGE_H
#define RZ_IMAGE_IMAGE_H

#include "ckpt/pages.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RZ_IMAGE_REGION ((uintptr_t)0x280000000000)
#define RZ_IMAGE_REGION_BYTES ((uintptr_t)1 << 40)
#define RZ_IMAGE_HANDOVER_MAX 4096
#define RZ_IMAGE_NOTES 2

/* ---- What is not part of the image ---- */

/*
 * The whole pages in [address, address + bytes) are not saved from now on, and a restore in this
 * process leaves them as they are. Shared memory there is not mapped by a restore. Private memory
 * there is mapped by a restore in a fresh process, and is zero. RZ_ERR_NO_MEMORY: too many ranges.
 */
rz_status_t rz_image_exclude(const void *address, size_t bytes);

/* The inverse, also for a part of what was excluded. */
rz_status_t rz_image_include(const void *address, size_t bytes);

/* The descriptor is not saved, and a restore in this process leaves it open under its number.
 * RZ_ERR_INVALID: no possible descriptor. */
rz_status_t rz_image_exclude_descriptor(int fd);
rz_status_t rz_image_include_descriptor(int fd);

/* The thread is neither stopped nor saved nor ended. It may use only memory that is excluded and
 * no function of libc, and its kernel thread id is `tid`. RZ_ERR_NO_MEMORY: too many. */
rz_status_t rz_image_exclude_thread(int tid);
rz_status_t rz_image_include_thread(int tid);

/* The locks of libc that name their owner by its thread id, which a restored thread has not
 * (port/lock_owners.h). Without this call they keep the old ids. */
struct rz_lock_owners;
void rz_image_set_owners(struct rz_lock_owners *owners);

/* What descriptors 0, 1 and 2 are that the launcher has given: a restored process has its own ones
 * in their place. What else is open under these numbers, or any other, is the program's, and saved.
 * Without this call: what they are when this module is used first. */
struct rz_image_given {
    uint64_t device, inode; /* of fstat; inode 0: nothing */
};
void rz_image_set_given(const struct rz_image_given given[3]);

/* Moves a descriptor to a number that programs do not reach, so that it is not where the image has
 * a file; excludes it, close-on-exec. Returns the new number; -1: none is free, and fd stays. */
int rz_image_descriptor_aside(int fd);

/* ---- Saving ---- */

enum rz_image_result {
    RZ_IMAGE_SAVED,    /* in the process that was saved */
    RZ_IMAGE_RESTORED, /* in the process that rz_image_restore made what the image says */
    RZ_IMAGE_NO_ROOM,  /* the place cannot hold *bytes bytes; nothing is saved */
    RZ_IMAGE_REFUSED,  /* this process cannot be saved: rz_image_check */
    RZ_IMAGE_FAILED,   /* the operating system refused */
};

/* RZ_OK: this process can be saved. RZ_ERR_UNSUPPORTED: why not: the descriptor, thread, mapping,
 * child or timer. A thread that does not stop is found only by saving. */
rz_status_t rz_image_check(char *why, size_t max);

/* About how many bytes a save into an empty object needs now; an object with an older image may
 * need up to twice as many. 0: not on this machine. */
uint64_t rz_image_bytes(void);

/* A regular file that is not open, and whose length is part of the image. */
struct rz_image_closed {
    uint64_t device, inode, made_ns; /* when the file was made; 0: unknown */
    const char *path; /* of the root; what has another file there by now is left out */
    bool anywhere;    /* it was opened to write anywhere in it, not only at its end */
};

/* Where an image is written. */
struct rz_image_place {
    int fd; /* a memfd or another file that pread and pwrite can be used on, open for both */
    /* NULL: only by fd, which grows if it can. Else the first `bytes` bytes of fd, mapped for
     * writing in memory that is excluded: faster where only some pages are written. */
    void *at;
    uint64_t bytes;
    /* With `at`: NULL, or the checksums of its pages, in memory that is excluded: those of the
     * pages that are written are brought up to date. */
    struct rz_page_hash *hashes;
    const struct rz_image_closed *closed; /* [n_closed]: a restore cuts them to their length */
    uint32_t n_closed;
    uint64_t note[RZ_IMAGE_NOTES]; /* the caller's own, for rz_image_note */
};

/*
 * Saves this process. *bytes: the size of the image. The descriptor is excluded by being an
 * argument.
 *
 * The place may hold an older image of this process. Then only pages are written that have changed
 * since: the image says of which process and which save it is, and this process knows in which save
 * each of its pages was last found to have changed (README.md). Any other contents are overwritten.
 * While it is written, and after any result other than RZ_IMAGE_SAVED, it holds no image.
 *
 * Returns twice, as fork does: RZ_IMAGE_SAVED now, and RZ_IMAGE_RESTORED after rz_image_restore
 * with this image, where *bytes is set as well. The other threads of the program stand still during
 * the call, wherever they are, by a signal; so no lock of libc is taken in it.
 */
enum rz_image_result rz_image_save(const struct rz_image_place *place, uint64_t *bytes, char *why,
                                   size_t max);

/*
 * Which pages of the file (4096 bytes, in the order of the file) the last rz_image_save has
 * written: bit p % 8 of byte p / 8, as in ckpt/pages.h; up to rz_pages_bitmap_bytes of the image's
 * size. Valid until the next save. NULL: nothing has been saved.
 */
const uint8_t *rz_image_written(uint64_t *pages);

/* The regular files that are open in the image that was saved or restored last. */
struct rz_image_open {
    uint64_t device, inode, made_ns, bytes;
    int fd;
    bool writes; /* anywhere in it, by this descriptor */
};

/* The next one: *i is 0 first. False: there are no more. */
bool rz_image_next_open(uint32_t *i, struct rz_image_open *open);

/* ---- Restoring ---- */

/*
 * Makes this process what the image of `bytes` bytes in fd says. Returns only if that is refused,
 * and then nothing has changed: RZ_ERR_MALFORMED: no image; RZ_ERR_UNSUPPORTED: not in this
 * process: another program, library, processor or kernel, or its addresses, descriptors or files
 * are in the way; RZ_ERR_NO_MEMORY; RZ_ERR_SYSTEM. What the operating system refuses later than
 * that ends the process with a sentence on standard error and status RZ_IMAGE_EXIT_STATUS.
 *
 * handover: up to RZ_IMAGE_HANDOVER_MAX bytes for the restored process.
 *
 * In this process stay as they are: what is excluded when this is called, the reserved region, fd,
 * and process-wide properties that no image has (docs/process-state.md). What the launcher gave as
 * descriptors 0, 1 and 2 gets the numbers that it has in the image. All other descriptors are
 * closed, all other threads end.
 */
rz_status_t rz_image_restore(int fd, uint64_t bytes, const void *handover, size_t handover_bytes,
                             char *why, size_t max);
#define RZ_IMAGE_EXIT_STATUS 99

/* That note of the image in fd; 0: there is none. */
uint64_t rz_image_note(int fd, int which);

/* The handover of the last rz_image_restore that this process is the result of; NULL: of none. */
const void *rz_image_handover(size_t *bytes);

#endif
