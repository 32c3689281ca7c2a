/* SPDX-License-Identifier: BSD-3-Clause */
/* Saving: the threads stop, the tables are made, the pages that have changed are written. */
#include "image/area.h"
#include "image/raw_call.h"

/* All but threads and pages. */
static rz_status_t make_tables(int fd)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    rz_image_check_protector();
    rz_status_t status = rz_image_read_maps(image);
    RZ_AREA->host = image->head.host = rz_image_host();
    image->head.saved_ns = rz_image_now_ns();
    image->head.vdso = rz_image_vdso(image, &image->head.vdso_hash);
    status = status == RZ_OK ? rz_image_choose_regions(image) : status;
    if (status == RZ_OK) {
        rz_image_note_advice(image);
    }
    status = status == RZ_OK ? rz_image_note_files(image, fd) : status;
    status = status == RZ_OK ? rz_image_refuse_others() : status;
    return status == RZ_OK ? rz_image_note_process(image) : status;
}

rz_status_t rz_image_check(char *why, size_t max)
{
    uint64_t mask;
    if (!rz_image_enter(&mask, why, max)) {
        return RZ_ERR_UNSUPPORTED;
    }
    struct rz_image_thread *own = &RZ_AREA->image.thread[0];
    rz_image_thread_note(own);
    rz_status_t status = make_tables(-1);
    status = status == RZ_OK ? rz_image_threads_refuse(own, true) : status;
    rz_image_tell(status, why, max);
    rz_image_leave(&mask);
    return status;
}

/* Pages without a file, resident or not, as /proc says: an upper bound in all usual cases. */
uint64_t rz_image_bytes(void)
{
    char text[256];
    uint64_t number[7] = {0};
    long n = rz_image_read_file("/proc/self/statm", text, sizeof(text) - 1);
    const char *c = text;
    text[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < 7 && *c; i++) {
        for (; *c >= '0' && *c <= '9'; c++) {
            number[i] = number[i] * 10 + (uint64_t)(*c - '0');
        }
        c += *c == ' ';
    }
    uint64_t own = number[1] > number[2] ? number[1] - number[2] : 0; /* resident, less of files */
    return n <= 0 ? 0 : (own + 1) * RZ_IMAGE_PAGE + (1 << 20);
}

/* The threads that are parked, into the tables. */
static void note_parked(void)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    int pid = (int)RZ_RAW0(getpid);
    uint32_t n = 1;
    for (uint32_t i = 1; i < RZ_AREA->n_parked; i++) {
        if (RZ_AREA->parked[i].state == RZ_THREAD_PARKED) {
            image->thread[n] = RZ_AREA->parked[i].thread;
            image->thread[n++].slot = (int32_t)i;
        }
    }
    image->head.n_threads = image->head.leader = n;
    for (uint32_t i = 0; i < n; i++) {
        if (image->thread[i].tid == pid) {
            image->head.leader = i;
        }
    }
}

/* The index of an image of this process in the file, into OLDER. */
static void take_older(int fd, uint64_t *slots, uint64_t *save)
{
    struct rz_image_head *older = &RZ_AREA->here.head;
    *slots = *save = 0;
    if (RZ_AREA->life[0] == 0 || rz_image_take_tables(fd, &RZ_AREA->here, RZ_POOL_OLDER) != RZ_OK ||
        older->life[0] != RZ_AREA->life[0] || older->life[1] != RZ_AREA->life[1]) {
        RZ_AREA->pool_used[RZ_POOL_OLDER] = 0;
        return;
    }
    *slots = older->slots;
    *save = older->save;
}

static rz_status_t save_pages(const struct rz_image_place *place)
{
    struct rz_image_head *head = &RZ_AREA->image.head;
    uint64_t older_slots, older_save;
    take_older(place->fd, &older_slots, &older_save);
    head->life[0] = RZ_AREA->life[0], head->life[1] = RZ_AREA->life[1];
    head->save = ++RZ_AREA->saves;
    rz_status_t status = rz_image_scan(&RZ_AREA->image);
    status = status == RZ_OK ? rz_image_plan(older_slots, older_save) : status;
    return status == RZ_OK ? rz_image_write(place) : status;
}

/* In the restored process, where this call returns once more. */
static enum rz_image_result restored(uint64_t *bytes)
{
    const struct rz_image_thread *thread = &RZ_AREA->image.thread[0];
    rz_image_await_order();
    rz_image_threads_await();
    *bytes = RZ_AREA->image.head.bytes;
    atomic_store(&RZ_AREA->busy, 0);
    rz_image_queue_signals(0);
    rz_image_thread_become(thread);
    return RZ_IMAGE_RESTORED;
}

static enum rz_image_result result_of(rz_status_t status, uint64_t *bytes)
{
    bool room = status == RZ_ERR_NO_MEMORY && RZ_AREA->need != 0;
    *bytes = room ? RZ_AREA->need : RZ_AREA->image.head.bytes;
    return status == RZ_OK                ? RZ_IMAGE_SAVED
           : room                         ? RZ_IMAGE_NO_ROOM
           : status == RZ_ERR_UNSUPPORTED ? RZ_IMAGE_REFUSED
                                          : RZ_IMAGE_FAILED;
}

/* Signals, and the timers that send some of them. */
static rz_status_t keep_pending(void)
{
    struct rz_image_tables *image = &RZ_AREA->image;
    rz_image_note_timers(image);
    rz_image_note_signals(true);
    rz_status_t status = rz_image_keep_signals(image);
    rz_image_settle_timers(image);
    return status;
}

enum rz_image_result rz_image_save(const struct rz_image_place *place, uint64_t *bytes, char *why,
                                   size_t max)
{
    uint64_t mask;
    if (!rz_image_enter(&mask, why, max)) {
        return RZ_IMAGE_REFUSED;
    }
    struct rz_image_thread *thread = &RZ_AREA->image.thread[0];
    RZ_AREA->need = 0;
    rz_image_forget_signals();
    RZ_AREA->notes_signals = true;
    rz_status_t status = rz_image_threads_stop();
    RZ_AREA->notes_signals = false;
    if (status == RZ_OK) {
        status = make_tables(place->fd);
        status = status == RZ_OK ? rz_image_note_closed(&RZ_AREA->image, place) : status;
        status = status == RZ_OK ? keep_pending() : status;
        if (status == RZ_OK) {
            rz_image_note_identities(&RZ_AREA->image);
        }
        rz_image_thread_note(thread);
        thread->mask = mask;
        note_parked();
        status = status == RZ_OK ? rz_image_threads_refuse(thread, true) : status;
        if (status == RZ_OK && rz_image_registers_save(&thread->registers) != 0) {
            return restored(bytes);
        }
        status = status == RZ_OK ? save_pages(place) : status;
        rz_image_threads_order(RZ_ORDER_GO);
        rz_image_threads_await();
    }
    enum rz_image_result result = result_of(status, bytes);
    rz_image_tell(status, why, max);
    rz_image_leave(&mask);
    return result;
}

const uint8_t *rz_image_written(uint64_t *pages)
{
    uint64_t bytes = rz_image_area_ready() ? RZ_AREA->pool_used[RZ_POOL_WRITTEN] : 0;
    *pages = bytes > 0 ? rz_pages_of(RZ_AREA->image.head.bytes) : 0;
    return bytes > 0 ? rz_image_pool(RZ_POOL_WRITTEN) : NULL;
}
