/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and writing the tables of an image. */
#ifndef RZ_IMAGE_TABLES_H
#define RZ_IMAGE_TABLES_H

#include "image/area.h"

struct rz_image_table {
    void *at;
    uint64_t bytes;
};

/* Where the tables of the image are in memory, in the order of the file; the index in its pool. */
void rz_image_table_list(struct rz_image_tables *image, struct rz_image_table table[5]);
uint64_t rz_image_tables_bytes(const struct rz_image_head *head);
struct rz_page_hash rz_image_hash(struct rz_image_tables *image);

rz_status_t rz_image_take(int fd, void *to, uint64_t bytes, uint64_t at);

/* Reads head, tables and index. RZ_ERR_MALFORMED: they are not whole, or not as they were written.
 */
rz_status_t rz_image_take_tables(int fd, struct rz_image_tables *image);

#endif
