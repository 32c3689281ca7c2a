/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program is saved and restored by in these tests: a library that is loaded before it.
 * IMAGE_RIG_FILE=PATH: upon signal 50 the process is saved into PATH.1, PATH.2, ..., complete when
 * they have their names; beside each PATH.N.out, the offset of standard output. With IMAGE_RIG_KEEP
 * it is saved by turns into two memory objects, of which only changed pages are written, and these
 * are copied; with IMAGE_RIG_HASHES changes are found by hashes. IMAGE_RIG_RESTORE=PATH: the
 * process becomes what this image says, before main.
 */
#include "image/area.h"
#include "image/image.h"
#include "port/lock_owners.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVE_SIGNAL 50

static char prefix[512];
static int saves, keep[2] = {-1, -1}, keep_pid;
static bool keeps;

static int target(const char *path)
{
    if (!keeps) {
        return open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    if (keep_pid != getpid()) { /* another process has been restored */
        keep_pid = getpid();
        for (int i = 0; i < 2; i++) {
            keep[i] = rz_image_descriptor_aside(memfd_create("image", MFD_CLOEXEC));
        }
    }
    return keep[saves % 2];
}

static void copy_out(int from, uint64_t bytes, const char *path)
{
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    off_t at = 0;
    while ((uint64_t)at < bytes) {
        if (copy_file_range(from, &at, to, NULL, bytes - (uint64_t)at, 0) > 0) {
            continue;
        }
        static char block[1 << 16];
        ssize_t n = pread(from, block, sizeof(block), at);
        if (n <= 0 || write(to, block, (size_t)n) != n) {
            _exit(96);
        }
        at += n;
    }
    close(to);
}

static void say(const char *what, const char *why)
{
    char line[700];
    int n = snprintf(line, sizeof(line), "image_rig: %s: %s\n", what, why);
    if (write(2, line, (size_t)n) < 0) {
        _exit(95);
    }
}

static void note_output(const char *path)
{
    char name[600], text[32];
    snprintf(name, sizeof(name), "%s.out", path);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int n = snprintf(text, sizeof(text), "%lld", (long long)lseek(1, 0, SEEK_CUR));
    if (write(fd, text, (size_t)n) != n) {
        _exit(94);
    }
    close(fd);
}

static void on_save(int signal)
{
    (void)signal;
    char path[560], part[570], why[512] = "";
    uint64_t bytes;
    snprintf(path, sizeof(path), "%s.%d", prefix, ++saves);
    snprintf(part, sizeof(part), "%s~", path);
    int fd = target(part);
    enum rz_image_result result =
        rz_image_save(&(struct rz_image_place){.fd = fd}, &bytes, why, sizeof(why));
    if (result == RZ_IMAGE_RESTORED) {
        size_t n;
        close(*(const int *)rz_image_handover(&n));
        return; /* fd was the other process's */
    }
    if (result == RZ_IMAGE_SAVED) {
        note_output(path);
        if (keeps) {
            copy_out(fd, bytes, part);
        }
        rename(part, path);
    } else {
        say("not saved", why);
    }
    if (!keeps) {
        close(fd);
    }
}

/* The locks of what is loaded are followed before it can hold any over a save: OpenSSL takes some
 * when Python imports it. A snapshot does this itself, where no thread loads anything. */
__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
    static void *(*real)(const char *path, int flags);
    static _Thread_local bool inside; /* to follow them opens libc */
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&real, &found, sizeof(real));
    }
    void *object = real(path, flags);
    if (object && prefix[0] && !inside) {
        inside = true;
        rz_lock_owners_follow();
        inside = false;
    }
    return object;
}

/* With address space randomisation: until the heap is in a place where it can be restored. */
static void start_again(char **arguments)
{
    const char *tried = getenv("IMAGE_RIG_TRIED");
    char text[16];
    int n = tried ? atoi(tried) : 0;
    if (n < 200) {
        snprintf(text, sizeof(text), "%d", n + 1);
        setenv("IMAGE_RIG_TRIED", text, 1);
        execv("/proc/self/exe", arguments);
    }
}

__attribute__((constructor)) static void rig_begin(int count, char **arguments)
{
    (void)count;
    const char *restore = getenv("IMAGE_RIG_RESTORE"), *file = getenv("IMAGE_RIG_FILE");
    struct sigaction action = {.sa_handler = on_save, .sa_flags = SA_RESTART};
    if (!file) {
        return;
    }
    snprintf(prefix, sizeof(prefix), "%s", file);
    keeps = getenv("IMAGE_RIG_KEEP") != NULL;
    if (rz_image_area_ready() && getenv("IMAGE_RIG_HASHES")) {
        RZ_AREA->method_wanted = RZ_METHOD_HASHES;
    }
    rz_image_set_owners(rz_lock_owners_follow());
    sigfillset(&action.sa_mask);
    sigaction(SAVE_SIGNAL, &action, NULL);
    if (restore) {
        char why[512] = "";
        struct stat st;
        int fd = rz_image_descriptor_aside(open(restore, O_RDONLY | O_CLOEXEC));
        if (fd < 0 || fstat(fd, &st) != 0) {
            say("not restored", "no such file");
            _exit(98);
        }
        rz_image_restore(fd, (uint64_t)st.st_size, &fd, sizeof(fd), why, sizeof(why));
        if (strstr(why, "start the program again")) {
            start_again(arguments);
        }
        say("not restored", why);
        _exit(98);
    }
    int ready = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* signals may come now */
    close(ready);
}
