#include "cmd/rzbench_slice.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "rzbench-"

/* Where groups are made, and the file that such a group has where shares can be set. Version 2 sets
 * them in groups of a group that passes the controller on. */
static const struct hierarchy {
    const char *root, *file, *pass_on;
} hierarchies[] = {{"/sys/fs/cgroup", "cpu.max", "cgroup.subtree_control"},
                   {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", NULL}};

static void join(char out[PATH_MAX], const char *folder, const char *name)
{
    snprintf(out, PATH_MAX, "%s/%s", folder, name);
}

/* Calls act for each folder in a folder whose name begins with a prefix. */
static void each_folder(const char *folder, const char *prefix,
                        void (*act)(const char *path, const char *rest))
{
    char path[PATH_MAX];
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));)
        if (entry->d_type == DT_DIR && strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
            isdigit((unsigned char)entry->d_name[strlen(prefix)])) {
            join(path, folder, entry->d_name);
            act(path, entry->d_name + strlen(prefix));
        }
    if (open)
        closedir(open);
}

/* Only an empty group can be removed. */
static void remove_group(const char *path, const char *rest)
{
    (void)rest;
    rmdir(path);
}

static void remove_all(const char *folder)
{
    each_folder(folder, "", remove_group);
    rmdir(folder);
}

static void remove_stale(const char *path, const char *pid)
{
    if (kill((pid_t)strtol(pid, NULL, 10), 0) != 0 && errno == ESRCH)
        remove_all(path);
}

static bool pass_on(const char *folder, const char *file)
{
    char path[PATH_MAX];
    join(path, folder, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, "+cpu", 4) == 4;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool open_in(const struct hierarchy *hierarchy, struct rz_bench_slices *slices)
{
    char path[PATH_MAX];
    each_folder(hierarchy->root, PREFIX, remove_stale);
    snprintf(slices->folder, sizeof slices->folder, "%s/" PREFIX "%d", hierarchy->root,
             (int)getpid());
    if (mkdir(slices->folder, 0700) != 0)
        return false;
    join(path, slices->folder, hierarchy->file);
    bool good = access(path, W_OK) == 0 &&
                (!hierarchy->pass_on || pass_on(slices->folder, hierarchy->pass_on));
    if (!good)
        rmdir(slices->folder);
    return good;
}

bool rz_bench_slices_open(struct rz_bench_slices *slices)
{
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        if (open_in(&hierarchies[i], slices))
            return true;
    return false;
}

void rz_bench_slices_add(const struct rz_bench *bench, const struct rz_bench_slices *slices,
                         unsigned percent, struct rz_bench_command *command)
{
    rz_bench_command_add(command, "%s/slice.sh", bench->sources);
    rz_bench_command_add(command, "%s", slices->folder);
    rz_bench_command_add(command, "%u", percent);
}

void rz_bench_slices_sweep(const struct rz_bench_slices *slices)
{
    each_folder(slices->folder, "", remove_group);
}

void rz_bench_slices_close(struct rz_bench_slices *slices)
{
    remove_all(slices->folder);
}
