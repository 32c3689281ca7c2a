/* SPDX-License-Identifier: BSD-3-Clause */
/* An image into its file: the pages that the plan says, the tables, the head at last; and the index
 * of an older image out of it. */
#include "image/area.h"

#include "image/raw_call.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

static rz_status_t put(const void *from, uint64_t bytes, uint64_t at)
{
    if (RZ_AREA->place.at) {
        rz_raw_copy((uint8_t *)RZ_AREA->place.at + at, from, bytes);
        return RZ_OK;
    }
    while (bytes > 0) {
        long n = RZ_RAW4(pwrite64, RZ_AREA->place.fd, from, bytes < 1 << 30 ? bytes : 1 << 30, at);
        if (n == -ENOSPC || n == -EPERM || n == -EFBIG) {
            return rz_image_refuse(RZ_ERR_NO_MEMORY, "the image needs %lu bytes", RZ_AREA->need);
        }
        if (n <= 0) {
            return rz_image_refuse(RZ_ERR_SYSTEM, "the image cannot be written: error %d", (int)-n);
        }
        from = (const uint8_t *)from + n, bytes -= (uint64_t)n, at += (uint64_t)n;
    }
    return RZ_OK;
}

static rz_status_t take(int fd, void *to, uint64_t bytes, uint64_t at)
{
    while (bytes > 0) {
        long n = RZ_RAW4(pread64, fd, to, bytes < 1 << 30 ? bytes : 1 << 30, at);
        if (n <= 0) {
            return n == 0
                       ? rz_image_refuse(RZ_ERR_MALFORMED, "the image is cut")
                       : rz_image_refuse(RZ_ERR_SYSTEM, "the image cannot be read: error %d at %lu",
                                         (int)-n, at);
        }
        to = (uint8_t *)to + n, bytes -= (uint64_t)n, at += (uint64_t)n;
    }
    return RZ_OK;
}

/* ---- Tables ---- */

enum { TABLES = 6 };

struct rz_image_table {
    void *at;
    uint64_t bytes;
};

/* Where the tables are in memory, in the order of the file; the index in this pool. */
static void table_list(struct rz_image_tables *image, enum rz_image_pool pool,
                       struct rz_image_table table[TABLES])
{
    const struct rz_image_head *head = &image->head;
    table[0] = (struct rz_image_table){image->thread, head->n_threads * sizeof(*image->thread)};
    table[1] = (struct rz_image_table){image->region, head->n_regions * sizeof(*image->region)};
    table[2] = (struct rz_image_table){image->file, head->n_files * sizeof(*image->file)};
    table[3] = (struct rz_image_table){image->text, (head->n_text + UINT64_C(7)) & ~UINT64_C(7)};
    table[4] = (struct rz_image_table){image->signal, head->n_signals * sizeof(*image->signal)};
    table[TABLES - 1] =
        (struct rz_image_table){rz_image_pool(pool), head->n_index * sizeof(struct rz_image_run)};
}

static uint64_t tables_bytes(struct rz_image_tables *image)
{
    struct rz_image_table table[TABLES];
    uint64_t bytes = 0;
    table_list(image, RZ_POOL_INDEX, table);
    for (int i = 0; i < TABLES; i++) {
        bytes += table[i].bytes;
    }
    return bytes;
}

static struct rz_page_hash hash_of(struct rz_image_tables *image, enum rz_image_pool pool)
{
    struct rz_image_table table[TABLES];
    struct rz_page_hash hash[6], in_head = image->head.hash;
    table_list(image, pool, table);
    for (int i = 0; i < TABLES; i++) {
        hash[i] = rz_page_hash(table[i].at, table[i].bytes);
    }
    image->head.hash = (struct rz_page_hash){0, 0};
    hash[5] = rz_page_hash(&image->head, sizeof(image->head));
    image->head.hash = in_head;
    return rz_page_hash(hash, sizeof(hash));
}

/* The index is ascending, within private regions and within the slots. */
static rz_status_t check_index(const struct rz_image_tables *image, enum rz_image_pool pool)
{
    const struct rz_image_run *run = rz_image_pool(pool);
    uint64_t page = 0, end = 0;
    for (uint32_t i = 0; i < image->head.n_regions; i++) {
        const struct rz_image_region *r = &image->region[i];
        if (r->start >= r->end || r->start < end || (r->start | r->end) % RZ_IMAGE_PAGE != 0 ||
            r->path >= image->head.n_text || rz_image_in_region(r->start, r->end)) {
            return rz_image_refuse(RZ_ERR_MALFORMED, "the image is damaged");
        }
        end = r->end;
    }
    for (uint64_t i = 0; i < image->head.n_index; page = run[i].page + run[i].pages, i++) {
        if (run[i].pages == 0 || run[i].page < page || run[i].pages > image->head.slots ||
            run[i].value > image->head.slots - run[i].pages ||
            (run[i].page + run[i].pages) * RZ_IMAGE_PAGE > end) {
            return rz_image_refuse(RZ_ERR_MALFORMED, "the image is damaged");
        }
    }
    return RZ_OK;
}

/* Nothing that is read is trusted. */
rz_status_t rz_image_take_tables(int fd, struct rz_image_tables *image, enum rz_image_pool pool)
{
    struct rz_image_head *head = &image->head;
    struct rz_image_table table[TABLES];
    rz_status_t status = take(fd, head, sizeof(*head), 0);
    if (status != RZ_OK) {
        return status;
    }
    if (head->magic != RZ_IMAGE_MAGIC || head->n_threads < 1 ||
        head->n_threads > RZ_IMAGE_THREADS || head->n_regions > RZ_IMAGE_REGIONS ||
        head->n_files > RZ_IMAGE_FILES || head->n_signals > RZ_IMAGE_PENDING ||
        head->n_text > RZ_IMAGE_TEXT - 8 || head->n_index > UINT32_MAX ||
        head->slots > UINT64_MAX >> 13 || head->tables_at != (1 + head->slots) * RZ_IMAGE_PAGE ||
        head->bytes != head->tables_at + tables_bytes(image)) {
        return rz_image_refuse(RZ_ERR_MALFORMED, "it holds no image");
    }
    if (!rz_image_pool_need(pool, head->n_index * sizeof(struct rz_image_run))) {
        return RZ_ERR_NO_MEMORY;
    }
    RZ_AREA->pool_used[pool] = head->n_index * sizeof(struct rz_image_run);
    table_list(image, pool, table);
    uint64_t at = head->tables_at;
    for (int i = 0; status == RZ_OK && i < TABLES; i++) {
        status = take(fd, table[i].at, table[i].bytes, at);
        at += table[i].bytes;
    }
    struct rz_page_hash hash = hash_of(image, pool);
    if (status == RZ_OK && (hash.low != head->hash.low || hash.high != head->hash.high)) {
        return rz_image_refuse(RZ_ERR_MALFORMED, "the image is damaged");
    }
    return status == RZ_OK ? check_index(image, pool) : status;
}

/* ---- Pages ---- */

static void hash_page(uint64_t page)
{
    RZ_AREA->place.hashes[page] =
        rz_page_hash((const uint8_t *)RZ_AREA->place.at + page * RZ_IMAGE_PAGE, RZ_IMAGE_PAGE);
}

/* With checksums page by page, since these find in the cache what was copied: of the copy, because
 * the stack changes meanwhile. */
static rz_status_t put_page_run(uint64_t from, uint64_t page, uint64_t pages)
{
    uint64_t step = RZ_AREA->place.hashes ? 1 : pages;
    rz_status_t status = RZ_OK;
    for (uint64_t i = 0; status == RZ_OK && i < pages; i += step) {
        status = put((const void *)(from + i * RZ_IMAGE_PAGE), step * RZ_IMAGE_PAGE,
                     (page + i) * RZ_IMAGE_PAGE);
        if (RZ_AREA->place.hashes) {
            hash_page(page + i);
        }
    }
    return status;
}

/* The pages of the run that must be written; all are of one region. */
static rz_status_t put_run(const struct rz_image_run *run)
{
    const uint8_t *written = rz_image_pool(RZ_POOL_WRITTEN);
    size_t page = 1 + run->value, end = page + run->pages, n;
    while (rz_pages_next_run(written, end, &page, &n)) {
        uint64_t from = (run->page + (page - 1 - run->value)) * RZ_IMAGE_PAGE;
        rz_status_t status = put_page_run(from, page, n);
        if (status != RZ_OK) {
            return status;
        }
        page += n;
    }
    return RZ_OK;
}

static rz_status_t put_region(const struct rz_image_region *r, struct rz_image_run run)
{
    bool readable = r->protection & PROT_READ;
    if (!readable &&
        RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection | PROT_READ) != 0) {
        return rz_image_refuse_unreadable(r);
    }
    rz_status_t status = put_run(&run);
    if (!readable) {
        RZ_RAW3(mprotect, r->start, r->end - r->start, r->protection);
    }
    return status;
}

static rz_status_t put_pages(const struct rz_image_tables *image)
{
    const struct rz_image_run *run = rz_image_pool(RZ_POOL_INDEX);
    const struct rz_image_run *end = run + rz_image_pool_runs(RZ_POOL_INDEX);
    const struct rz_image_region *r = image->region;
    for (; run < end; run++) {
        struct rz_image_run left = *run;
        while (left.pages > 0) { /* adjoining regions may be in one run */
            while (r->end / RZ_IMAGE_PAGE <= left.page) {
                r++;
            }
            struct rz_image_run part = left;
            uint64_t until = r->end / RZ_IMAGE_PAGE;
            part.pages = part.pages < until - part.page ? part.pages : until - part.page;
            rz_status_t status = put_region(r, part);
            if (status != RZ_OK) {
                return status;
            }
            left.page += part.pages, left.value += part.pages, left.pages -= part.pages;
        }
    }
    return RZ_OK;
}

/* ---- All of it ---- */

static rz_status_t make_room(uint64_t bytes)
{
    const struct rz_image_place *place = &RZ_AREA->place;
    struct stat st;
    if (place->at) {
        return bytes <= place->bytes
                   ? RZ_OK
                   : rz_image_refuse(RZ_ERR_NO_MEMORY,
                                     "the image needs %lu bytes, and there are %lu", bytes,
                                     place->bytes);
    }
    if (RZ_RAW2(fstat, place->fd, &st) != 0) {
        return rz_image_refuse(RZ_ERR_SYSTEM, "the image's descriptor is not open");
    }
    bool much_smaller = (uint64_t)st.st_size > bytes + bytes / 4; /* then give memory back */
    if (((uint64_t)st.st_size < bytes || much_smaller) &&
        RZ_RAW2(ftruncate, place->fd, bytes) != 0 && (uint64_t)st.st_size < bytes) {
        return rz_image_refuse(RZ_ERR_NO_MEMORY, "the image needs %lu bytes, and there are %lu",
                               bytes, (unsigned long)st.st_size);
    }
    return RZ_OK;
}

/* The bitmap for those that copy the image: also the head, and all pages of the tables. */
static bool mark_tables(const struct rz_image_head *head)
{
    return rz_image_mark(0, 1) &&
           rz_image_mark(1 + head->slots, rz_pages_of(head->bytes) - 1 - head->slots);
}

/* Of the head and the tables; those of the pages are there already. */
static void hash_tables(const struct rz_image_head *head)
{
    hash_page(0);
    for (uint64_t page = 1 + head->slots; page < rz_pages_of(head->bytes); page++) {
        hash_page(page);
    }
}

rz_status_t rz_image_write(const struct rz_image_place *place)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    struct rz_image_head *head = &image->head;
    struct rz_image_table table[TABLES];
    const uint64_t none = 0;
    RZ_AREA->place = *place;
    head->magic = RZ_IMAGE_MAGIC;
    rz_raw_copy(head->note, place->note, sizeof(head->note));
    head->n_index = rz_image_pool_runs(RZ_POOL_INDEX);
    head->tables_at = (1 + head->slots) * RZ_IMAGE_PAGE;
    head->bytes = RZ_AREA->need = head->tables_at + tables_bytes(image);
    rz_status_t status = make_room(head->bytes);
    status = status == RZ_OK && !mark_tables(head) ? RZ_ERR_NO_MEMORY : status;
    status = status == RZ_OK ? put(&none, sizeof(none), 0) : status;
    status = status == RZ_OK ? put_pages(image) : status;
    head->hash = hash_of(image, RZ_POOL_INDEX);
    table_list(image, RZ_POOL_INDEX, table);
    uint64_t at = head->tables_at;
    for (int i = 0; status == RZ_OK && i < TABLES; i++) {
        status = put(table[i].at, table[i].bytes, at);
        at += table[i].bytes;
    }
    status = status == RZ_OK ? put(head, sizeof(*head), 0) : status;
    if (status == RZ_OK && place->hashes) {
        hash_tables(head);
    }
    return status;
}
