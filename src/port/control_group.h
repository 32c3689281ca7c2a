/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control groups of the calling process (cgroup versions 1 and 2), from its own up to the root:
 * a limit of any of them holds.
 */
#ifndef RZ_PORT_CONTROL_GROUP_H
#define RZ_PORT_CONTROL_GROUP_H

#include <stddef.h>
#include <stdint.h>

/* Where a process reads its groups, and where Linux mounts them. */
#define RZ_CONTROL_GROUPS_FILE "/proc/self/cgroup"
#define RZ_CONTROL_GROUPS_FOLDER "/sys/fs/cgroup"

/* Calls visit with the path of each group of this controller ("cpu", "memory"), the innermost
 * first. By given paths, for tests. */
void rz_control_groups(const char *groups_file, const char *folder, const char *controller,
                       void (*visit)(void *arg, const char *path), void *arg);

/* Reads up to n words of at most 31 characters from a file of a group; returns their number. */
size_t rz_control_group_words(const char *path, const char *file, char (*words)[32], size_t n);

/* The bytes that the groups let their processes still take: the least on the way to the root.
 * UINT64_MAX: no group has a limit. */
uint64_t rz_control_group_memory_left(const char *groups_file, const char *folder);

/* The bytes that this process can still take: of this machine, with its free swap space, and of its
 * groups. RZ_TEST_MEMORY_LEFT: a hook for tests. UINT64_MAX: it cannot be found. */
uint64_t rz_memory_left(void);

/* How many processes the kernel has killed on this machine for lack of memory, of it or of a group,
 * since it runs (/proc/vmstat); UINT64_MAX: it does not say. */
uint64_t rz_memory_kills(void);

#endif
