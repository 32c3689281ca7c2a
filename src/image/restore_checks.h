/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether this process can become what an image says. */
#ifndef RZ_IMAGE_RESTORE_CHECKS_H
#define RZ_IMAGE_RESTORE_CHECKS_H

#include "image/area.h"

/* image: as it was read, with its index in the pool; fd: its file. Changes nothing. */
rz_status_t rz_image_check_restore(const struct rz_image_tables *image, int fd);

#endif
