/* SPDX-License-Identifier: BSD-3-Clause */
/* The area: made, entered by one call at a time; the sentence why something is refused. */
#include "image/area.h"

#include "image/raw_call.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

bool rz_image_map_at(uintptr_t at, uint64_t bytes)
{
    long got = RZ_RAW6(mmap, at, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
    if (got != (long)at && !rz_raw_failed(got)) { /* a kernel that takes the address for a hint */
        RZ_RAW2(munmap, got, bytes);
    }
    return got == (long)at;
}

static bool map_area(void)
{
    if (!rz_image_map_at(RZ_IMAGE_REGION, sizeof(struct rz_image_area))) {
        return false;
    }
    RZ_AREA->fd = RZ_AREA->protector = RZ_AREA->pagemap = -1;
    rz_image_note_given();
    return true;
}

/* In the image too: a restored process has an area, as it had one when it was saved. */
static _Atomic int ready; /* 0: not tried, 1: being made, 2: made, 3: there is none */

bool rz_image_area_ready(void)
{
    int was = 0;
    if (atomic_compare_exchange_strong(&ready, &was, 1)) {
        atomic_store(&ready, map_area() ? 2 : 3);
    }
    while (atomic_load(&ready) == 1) {
        RZ_RAW0(sched_yield);
    }
    return atomic_load(&ready) == 2;
}

void rz_image_set_owners(struct rz_lock_owners *owners)
{
    if (rz_image_area_ready()) {
        RZ_AREA->owners = owners;
    }
}

/* After a fork this is another process. */
static void new_life(void)
{
    int pid = (int)RZ_RAW0(getpid);
    if (RZ_AREA->life_pid == pid && RZ_AREA->life[0] != 0) {
        return;
    }
    RZ_AREA->life_pid = pid;
    RZ_AREA->protector = -1; /* if one is inherited it is the parent's */
    RZ_AREA->method = RZ_METHOD_UNKNOWN;
    RZ_AREA->saves = 0;
    rz_image_forget_changes();
    if (RZ_RAW3(getrandom, RZ_AREA->life, sizeof(RZ_AREA->life), 0) !=
        (long)sizeof(RZ_AREA->life)) {
        RZ_AREA->life[0] = 0; /* then no image is known to be this process's */
    }
}

static void copy_text(char *to, size_t max, const char *text)
{
    if (to && max > 0) {
        size_t n = rz_raw_length(text);
        n = n < max ? n : max - 1;
        rz_raw_copy(to, text, n);
        to[n] = '\0';
    }
}

bool rz_image_enter(uint64_t *mask, char *why, size_t max)
{
    uint64_t all = ~UINT64_C(0);
    uint32_t free = 0;
    if (!rz_image_area_ready()) {
        copy_text(why, max, "the addresses of the reserved region (image.h) are in use");
        return false;
    }
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, &all, mask, 8);
    if (!atomic_compare_exchange_strong(&RZ_AREA->busy, &free, 1)) {
        RZ_RAW4(rt_sigprocmask, SIG_SETMASK, mask, 0, 8);
        /* area->why is of the call that is in progress. */
        copy_text(why, max, "another thread saves or restores this process");
        return false;
    }
    RZ_AREA->why[0] = '\0';
    new_life();
    return true;
}

void rz_image_leave(const uint64_t *mask)
{
    atomic_store(&RZ_AREA->busy, 0);
    RZ_RAW4(rt_sigprocmask, SIG_SETMASK, mask, 0, 8);
}

/* ---- Sentences ---- */

static char *put_text(char *at, const char *end, const char *text)
{
    while (*text && at < end) {
        *at++ = *text++;
    }
    return at;
}

static char *put_number(char *at, const char *end, uint64_t value, uint64_t base)
{
    char digits[20];
    int n = 0;
    do {
        digits[n++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    while (n > 0 && at < end) {
        *at++ = digits[--n];
    }
    return at;
}

void rz_image_number(char *to, uint64_t value)
{
    *put_number(to, to + 20, value, 10) = '\0';
}

rz_status_t rz_image_refuse(rz_status_t status, const char *format, ...)
{
    char *at = RZ_AREA->why, *end = at + sizeof(RZ_AREA->why) - 1;
    va_list values;
    va_start(values, format);
    for (const char *c = format; *c && at < end; c++) {
        if (*c != '%') {
            *at++ = *c;
        } else if (c[1] == 's') {
            at = put_text(at, end, va_arg(values, const char *)), c += 1;
        } else if (c[1] == 'd') {
            int value = va_arg(values, int);
            at = put_text(at, end, value < 0 ? "-" : "");
            at = put_number(at, end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10), c += 1;
        } else {
            at = put_number(at, end, va_arg(values, unsigned long), c[2] == 'x' ? 16 : 10), c += 2;
        }
    }
    va_end(values);
    *at = '\0';
    return status;
}

rz_status_t rz_image_tell(rz_status_t status, char *why, size_t max)
{
    if (status != RZ_OK) {
        copy_text(why, max, RZ_AREA->why);
    }
    return status;
}
