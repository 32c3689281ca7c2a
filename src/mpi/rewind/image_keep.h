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

/* Saves this process, with this note (rz_image_note). Returns twice (rz_image_save). *why is text
 * for the user if it fails. */
enum rz_image_result rz_image_keep(uint64_t note, char *why, size_t max);

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
