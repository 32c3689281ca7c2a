/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the launcher gave this process, noted when this module is used first (before main, in a job
 * that rewinds): another process gets it from its own launcher. What a program may change of it and
 * no image carries is refused once it has changed.
 */
#include "image/area.h"

#include "image/raw_call.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/prctl.h>

#define KEY_THREAD -1
#define KEY_PROCESS -2
#define KEY_SESSION -3
#define GET_PROCESSOR_ID 0x1011 /* arch_prctl */

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

static void path_in(char *path, const char *folder, const char *name)
{
    size_t n = rz_raw_length(folder);
    rz_raw_copy(path, folder, n);
    rz_raw_copy(path + n, name, rz_raw_length(name) + 1);
}

static void read_link(const char *folder, const char *name, char *text, size_t max)
{
    char path[64];
    path_in(path, folder, name);
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

/* folder: of the thread in /proc, here and below. */
static rz_status_t refuse_identity(const char *folder)
{
    char path[64], text[4096];
    path_in(path, folder, "status");
    read_text(path, text, sizeof(text));
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *was = line_of(RZ_AREA->start.status, lines[i]), *is = line_of(text, lines[i]);
        if (was && is && !same_line(was, is)) {
            return rz_image_refuse(
                RZ_ERR_UNSUPPORTED,
                "the program has changed what it may do (%s in /proc/PID/status)", lines[i]);
        }
    }
    bool is = RZ_RAW5(prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    const char *line = line_of(text, is ? "NoNewPrivs:\t0" : "NoNewPrivs:\t1");
    return !line ? RZ_OK
                 : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                   "only some threads have no-new-privileges (prctl)");
}

static rz_status_t refuse_surroundings(const char *folder)
{
    const struct rz_image_start *start = &RZ_AREA->start;
    char text[256];
    for (int i = 0; i < RZ_IMAGE_NAMESPACES; i++) {
        char name[32] = "ns/";
        rz_raw_copy(name + 3, spaces[i], rz_raw_length(spaces[i]) + 1);
        read_link(folder, name, text, sizeof(start->space[i]));
        if (!rz_raw_same(text, start->space[i])) {
            return rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has entered a namespace (%s)",
                                   spaces[i]);
        }
    }
    read_link(folder, "root", text, sizeof(text));
    return rz_raw_same(text, start->root)
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has another root directory (%s)",
                                 text);
}

static rz_status_t refuse_session(void)
{
    const struct rz_image_start *start = &RZ_AREA->start;
    return RZ_RAW1(getsid, 0) == start->session && RZ_RAW1(getpgid, 0) == start->group
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED,
                                 "the program has left its session or process group");
}

/* ---- Threads ---- */

int32_t rz_image_changed(void)
{
    int stamps = PR_TSC_ENABLE;
    for (int i = 0; i < RZ_IMAGE_CONTROLS; i++) {
        if ((int32_t)RZ_RAW5(prctl, controls[i].get, 0, 0, 0, 0) != RZ_AREA->start.control[i]) {
            return RZ_CHANGED_CONTROL + i;
        }
    }
    if (RZ_RAW3(keyctl, 0, KEY_PROCESS, 0) >= 0 || RZ_RAW3(keyctl, 0, KEY_THREAD, 0) >= 0) {
        return RZ_CHANGED_KEYS;
    }
    if (session_keys() != RZ_AREA->start.keys) {
        return RZ_CHANGED_SESSION_KEYS;
    }
    if (RZ_RAW2(prctl, PR_GET_TSC, &stamps) == 0 && stamps != PR_TSC_ENABLE) {
        return RZ_CHANGED_TIME_STAMPS;
    }
    return RZ_RAW2(arch_prctl, GET_PROCESSOR_ID, 0) == 0 ? RZ_CHANGED_PROCESSOR_ID
                                                         : RZ_CHANGED_NOTHING;
}

static rz_status_t refuse_own(int32_t changed)
{
    static const char *const what[] = {
        [RZ_CHANGED_KEYS] = "the program has a keyring (keyctl)",
        [RZ_CHANGED_SESSION_KEYS] = "the program has another session keyring",
        [RZ_CHANGED_TIME_STAMPS] = "the program must not read the time stamp counter (PR_SET_TSC)",
        [RZ_CHANGED_PROCESSOR_ID] = "the program must not use cpuid (ARCH_SET_CPUID)",
    };
    if (changed >= RZ_CHANGED_KEYS) {
        return rz_image_refuse(RZ_ERR_UNSUPPORTED, "%s", what[changed]);
    }
    return changed == RZ_CHANGED_NOTHING
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "the program has changed %s (prctl)",
                                 controls[changed - RZ_CHANGED_CONTROL].name);
}

/* A restored thread has the same ones as all others. Where the kernel does not compare, a folder of
 * its own is seen by its name. */
static rz_status_t refuse_unshared(int tid, const char *folder)
{
    long own = RZ_RAW0(gettid);
    char is[4096], here[4096];
    bool files = RZ_RAW5(kcmp, own, tid, KCMP_FILES, 0, 0) > 0;
    long system = RZ_RAW5(kcmp, own, tid, KCMP_FS, 0, 0);
    if (system < 0) {
        read_link(folder, "cwd", is, sizeof(is));
        read_link("/proc/thread-self/", "cwd", here, sizeof(here));
        system = !rz_raw_same(is, here);
    }
    return !files && system == 0
               ? RZ_OK
               : rz_image_refuse(RZ_ERR_UNSUPPORTED, "it has %s of its own (unshare)",
                                 files ? "descriptors" : "a working directory and a umask");
}

/* With the name of the thread before the sentence that is there. */
static rz_status_t name_thread(const struct rz_image_thread *thread, rz_status_t status)
{
    char why[256];
    size_t n = rz_raw_length(RZ_AREA->why);
    n = n < sizeof(why) ? n : sizeof(why) - 1;
    rz_raw_copy(why, RZ_AREA->why, n);
    why[n] = '\0';
    return rz_image_refuse(status, "thread %d (%s): %s", thread->tid, thread->name, why);
}

rz_status_t rz_image_refuse_thread(const struct rz_image_thread *thread)
{
    char folder[48] = "/proc/self/task/";
    rz_status_t status = refuse_own(thread->changed);
    if (thread->tid == (int32_t)RZ_RAW0(gettid)) {
        return status;
    }
    rz_image_number(folder + rz_raw_length(folder), (uint64_t)thread->tid);
    rz_raw_copy(folder + rz_raw_length(folder), "/", 2);
    status = status == RZ_OK ? refuse_identity(folder) : status;
    status = status == RZ_OK ? refuse_surroundings(folder) : status;
    status = status == RZ_OK ? refuse_unshared(thread->tid, folder) : status;
    return status == RZ_OK ? RZ_OK : name_thread(thread, status);
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
    rz_status_t status = refuse_identity("/proc/thread-self/");
    status = status == RZ_OK ? refuse_surroundings("/proc/thread-self/") : status;
    status = status == RZ_OK ? refuse_session() : status;
    return status == RZ_OK ? refuse_processor_tables() : status;
}
