/* SPDX-License-Identifier: BSD-3-Clause */
/* Saving the image of this process, and giving it to the daemon, which keeps it as it does the
 * pieces of checkpoints. */
#ifndef RZ_MPI_IMAGE_KEEP_H
#define RZ_MPI_IMAGE_KEEP_H

#include "image/image.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the last image of this epoch is committed: only then the next one may be stored. */
bool rz_image_settled(void);

/* Saves this process, with these notes (rz_image_note) and files. Returns twice (rz_image_save).
 * *why is text for the user if it fails. */
struct rz_image_extra {
    uint64_t note[RZ_IMAGE_NOTES];
    const struct rz_image_closed *closed; /* [n_closed] */
    uint32_t n_closed;
};
enum rz_image_result rz_image_keep(const struct rz_image_extra *extra, char *why, size_t max);

/* The notes: how much of standard input the process had read, and the moment of the snapshot. */
enum { RZ_NOTE_INPUT, RZ_NOTE_MOMENT };

/* All ranks have saved: the image counts, and goes to the daemon. */
void rz_image_store(void);

/* How many were stored in this epoch: the number of the last one. */
uint64_t rz_images_stored(void);

/* The newest image may be committed: begins to bring the memory of the next one up to date. */
void rz_image_catch_up(void);

/* The library ends. */
void rz_images_close(void);

/* One of the others has not: it is of no use. */
void rz_image_drop(void);

/* This process was restored: it has no images, and they are counted from 1 again. */
void rz_images_begin(void);

/* Calls visit(arg, fd) for each descriptor of their memory. */
void rz_image_each_descriptor(void (*visit)(void *arg, int fd), void *arg);

#endif
