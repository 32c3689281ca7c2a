/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the launcher gave this process, noted when this module is used first (before main, in a job
 * that rewinds): another process gets it from its own launcher. What a program may change of it and
 * no image carries is refused once it has changed.
 */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>

#define KEY_THREAD -1
#define KEY_PROCESS -2
#define KEY_SESSION -3

static const char lines[][16] = {"Uid:",    "Gid:",    "Groups:", "CapInh:",  "CapPrm:",
                                 "CapEff:", "CapBnd:", "CapAmb:", "Seccomp:", "Seccomp_filter"};
static const char spaces[][24] = {
    "cgroup", "ipc", "mnt", "net", "pid_for_children", "time_for_children", "user", "uts"};

/* What prctl tells of the process, and no image carries. */
static const struct {
    int get;
    const char *name;
} controls[RZ_IMAGE_CONTROLS] = {
    {27, "securebits"},
    {66, "memory-deny-write-execute"},
    {34, "what a memory error does"},
};

_Static_assert(sizeof(spaces) / sizeof(*spaces) == RZ_IMAGE_NAMESPACES, "as in area.h");

static void read_text(const char *path, char *text, size_t max)
{
    long n = rz_image_read_file(path, text, max - 1);
    text[n > 0 ? n : 0] = '\0';
}

static void read_link(const char *folder, const char *name, char *text, size_t max)
{
    char path[64];
    size_t n = rz_raw_length(folder);
    rz_raw_copy(path, folder, n);
    rz_raw_copy(path + n, name, rz_raw_length(name) + 1);
    long bytes = RZ_RAW4(readlinkat, AT_FDCWD, path, text, max - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
}

static long session_keys(void)
{
    return RZ_RAW3(keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, KEY_SESSION, 0);
}

void rz_image_note_given(void)
{
    struct rz_image_start *start = &RZ_AREA->start;
    struct stat st;
    for (int i = 0; i < RZ_IMAGE_GIVEN; i++) {
        bool open = RZ_RAW2(fstat, i, &st) == 0;
        RZ_AREA->given[i] =
            open ? (struct rz_image_given){st.st_dev, st.st_ino} : (struct rz_image_given){0, 0};
    }
    read_text("/proc/thread-self/status", start->status, sizeof(start->status));
    for (int i = 0; i < RZ_IMAGE_NAMESPACES; i++) {
        read_link("/proc/thread-self/ns/", spaces[i], start->space[i], sizeof(start->space[i]));
    }
    read_link("/proc/thread-self/", "root", start->root, sizeof(start->root));
    start->session = RZ_RAW1(getsid, 0);
    start->group = RZ_RAW1(getpgid, 0);
    start->keys = session_keys();
    for (int i = 0; i < RZ_IMAGE_CONTROLS; i++) {
        start->control[i] = (int32_t)RZ_RAW5(prctl, controls[i].get, 0, 0, 0, 0);
    }
    start->processors_bytes =
        (int32_t)RZ_RAW3(sched_getaffinity, 0, sizeof(start->processors), start->processors);
}

void rz_image_set_given(const struct rz_image_given given[3])
{
    if (rz_image_area_ready()) {
        rz_raw_copy(RZ_AREA->given, given, sizeof(RZ_AREA->given));
    }
}

bool rz_image_given_processors(const struct rz_image_thread *thread)
{
    const struct rz_image_start *start = &RZ_AREA->start;
    bool same = thread->processors_bytes == start->processors_bytes;
    for (int i = 0; same && i < 16 && i * 8 < start->processors_bytes; i++) {
        same = thread->processors[i] == start->processors[i];
    }
    return same;
}

/* From where the line begins with the name; NULL: there is none. */
static const char *line_of(const char *text, const char *name)
{
    while (*text && !rz_raw_begins(text, name)) {
        while (*text && *text++ != '\n') {
        }
    }
    return *text ? text : NULL;
}

static bool same_line(const char *a, const char *b)
{
    while (*a && *a != '\n' && *a == *b) {
        a++, b++;
    }
    return (*a == '\n' || !*a) && (*b == '\n' || !*b);
}

static rz_status_t refuse_identity(void)
{
    char text[4096];
    read_text("/proc/thread-self/status", text, sizeof(text));
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *was = line_of(RZ_AREA->start.status, lines[i]), *is = line_of(text, lines[i]);
        if (was && is && !same_line(was, is)) {
            return rz_image_refuse(
                RZ_ERR_UNSUPPORTED,
                "the program has changed what it may do (%s in /proc/PID/status)", lines[i]);
        }
    }
    return RZ_OK;
}

static rz_status_t refuse_controls(void)
{
    for (int i = 0; i < RZ_IMAGE_CONTROLS; i++) {
        if ((int32_t)RZ_RAW5(prctl, controls[i].get, 0, 0, 0, 0) != RZ_AREA->start.control[i]) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has changed %s (prctl)",
                                   controls[i].name);
        }
    }
    return RZ_OK;
}

static rz_status_t refuse_surroundings(void)
{
    const struct rz_image_start *start = &RZ_AREA->start;
    char text[256];
    for (int i = 0; i < RZ_IMAGE_NAMESPACES; i++) {
        read_link("/proc/thread-self/ns/", spaces[i], text, sizeof(start->space[i]));
        if (!rz_raw_same(text, start->space[i])) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has entered a namespace (%s)",
                                   spaces[i]);
        }
    }
    read_link("/proc/thread-self/", "root", text, sizeof(text));
    if (!rz_raw_same(text, start->root)) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has another root directory (%s)",
                               text);
    }
    if (RZ_RAW1(getsid, 0) != start->session || RZ_RAW1(getpgid, 0) != start->group) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "the program has left its session or process group");
    }
    return RZ_OK;
}

static rz_status_t refuse_keys(void)
{
    for (int which = KEY_PROCESS; which <= KEY_THREAD; which++) {
        if (RZ_RAW3(keyctl, 0, which, 0) >= 0) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has a keyring (keyctl)");
        }
    }
    return session_keys() == RZ_AREA->start.keys
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has another session keyring");
}

/* Keys of pages are given in their order: one that is not the first is one of several. */
static rz_status_t refuse_processor_tables(void)
{
    uint64_t entry[2];
    long key = RZ_RAW2(pkey_alloc, 0, 0);
    if (key >= 0) {
        RZ_RAW1(pkey_free, key);
    }
    if (key > 1) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED,
                               "the program has protection keys (pkey_alloc), or memory that can "
                               "only be executed");
    }
    return RZ_RAW3(modify_ldt, 0, entry, sizeof(entry)) <= 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has segments (modify_ldt)");
}

rz_status_t rz_image_refuse_changed(void)
{
    rz_status_t status = refuse_identity();
    status = status == RZ_OK ? refuse_controls() : status;
    status = status == RZ_OK ? refuse_surroundings() : status;
    status = status == RZ_OK ? refuse_keys() : status;
    return status == RZ_OK ? refuse_processor_tables() : status;
}
