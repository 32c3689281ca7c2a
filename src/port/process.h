/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes: their descriptors, their children, and the end of a whole process tree. */
#ifndef RZ_PORT_PROCESS_H
#define RZ_PORT_PROCESS_H

#include "base/status.h"

#include <rhizome/types.h>

#include <stdbool.h>
#include <sys/types.h>

/* A close-on-exec descriptor of pid, readable once the process has ended. RZ_ERR_PROC_FAILED: no
 * such process; RZ_ERR_UNSUPPORTED: the kernel (before 5.3) has no such descriptors. */
rz_status_t rz_process_open(pid_t pid, int *pidfd);

/* Sends signal to exactly the process of pidfd. RZ_ERR_PROC_FAILED: it has ended. */
rz_status_t rz_process_signal(int pidfd, int signal);

/* From now on orphaned descendants become children of this process. */
rz_status_t rz_process_adopt_orphans(void);

/*
 * In a child after fork: receives `signal` when the thread that forked it ends. RZ_ERR_CLOSED: the
 * parent has ended already; the caller exits.
 */
rz_status_t rz_process_fail_with_parent(pid_t parent, int signal);

/* Standard input, output and error become /dev/null, so that this process does not keep open a
 * terminal or a pipe whose end another process waits for. */
void rz_process_leave_terminal(void);

/*
 * The state of pid by the letter of /proc: 'R' runs or waits for a processor, 'D' waits for a
 * device, 'S' sleeps, 'T' and 't' are stopped, 'Z' has ended. 0: there is no such process, or /proc
 * does not show it.
 */
char rz_process_state(pid_t pid);

/* What a process, with all its threads, has used: processor time since it began, and memory that is
 * in RAM now. False: there is no such process, or /proc does not show it. */
struct rz_process_usage {
    rz_time processor;
    uint64_t resident_bytes;
};
bool rz_process_usage(pid_t pid, struct rz_process_usage *usage);

/* Closes all descriptors from first to last. Async-signal-safe: also for a child after fork. */
void rz_process_close(int first, int last);

/* From the next exec on, programs and libraries lie at the same addresses in each run. False: the
 * system refuses it (some containers do). Async-signal-safe. */
bool rz_process_fix_addresses(void);

/* The path of the running program; false: the system does not report it, or it is too long. To be
 * called before the working directory changes. */
bool rz_process_path(char *path, size_t bytes);

/* Sets or clears close-on-exec. */
rz_status_t rz_process_keep_on_exec(int fd, bool keep);

/*
 * Sends signal to every live descendant of root. Scans until a scan finds none or `looks` scans
 * were made (a process may fork during a scan). Returns how many were alive at the last scan. If
 * root is the caller and orphans are adopted, no process can leave the tree. The caller reaps
 * zombies.
 */
unsigned rz_process_signal_descendants(pid_t root, int signal, unsigned looks);

/* Ends another process that runs the program of the caller, and its descendants, by SIGKILL: also
 * if they are stopped. True: it is ended, or was before. False: the number is another program's, or
 * the system forbids it. */
bool rz_process_end_twin(pid_t pid);

/*
 * Kills and reaps all descendants, including those forked meanwhile; with orphans adopted none is
 * left. Takes at most `within` nanoseconds (a kill takes effect when the kernel can). Returns
 * whether none is left.
 */
bool rz_process_clear(rz_time within);

/*
 * The first descendant of root that holds the other end of fd, which is the reading end of a pipe
 * or the master of a pseudo-terminal. False: there is none, or /proc does not show it.
 */
struct rz_process_holder {
    pid_t pid;
    char name[16]; /* as ps shows it; any bytes */
};
bool rz_process_find_holder(pid_t root, int fd, struct rz_process_holder *holder);

/* Calls visit for the path of each file that a process has mapped, libraries among them, and more
 * than once for most, until it returns false. */
void rz_process_mapped_files(pid_t pid, bool (*visit)(void *arg, const char *path), void *arg);

/*
 * The memory of another process as a file, whose offsets are addresses there. It is that process's
 * for good: once that has ended, reads and writes fail, also if another one was given its number.
 * RZ_ERR_PROC_FAILED: it has ended; RZ_ERR_UNSUPPORTED: the system refuses it, or has no
 * descriptor to give. The caller closes fd.
 */
rz_status_t rz_process_memory_open(pid_t pid, int *fd);

/* Copies to and from it. Faster than the functions below for short rows (up to about a page).
 * False: the process has ended, or no such memory; a part may have been written. */
bool rz_process_memory_read(int fd, uint64_t at, void *to, size_t bytes);
bool rz_process_memory_write(int fd, uint64_t at, const void *from, size_t bytes);

/* One range of memory to copy from another process to here. */
struct rz_process_vector {
    void *to;
    uint64_t from; /* an address there */
    size_t bytes;
};
enum { RZ_PROCESS_VECTORS_MAX = 4 };

/* Lets that process of this user, and its descendants, read this one's memory, if the system
 * requires such permission (Yama); by 0: any process of this user. */
void rz_process_let_read(pid_t by);

/* How many process numbers the system gives, in turn, before it gives one again
 * (kernel.pid_max); 0: it does not say. */
unsigned long rz_process_numbers(void);

/* Copies all vectors in one system call. False: refused, the process has ended (errno: ESRCH), or
 * no such memory. */
bool rz_process_copy(pid_t pid, const struct rz_process_vector *vectors, unsigned n);

/* A range of memory of another process. */
struct rz_process_range {
    uint64_t at;
    size_t bytes;
};
enum { RZ_PROCESS_RANGES_MAX = 256 };

/* Copies n ranges of another process's memory to the row `here`, or the row to them, in one system
 * call. Less than 2 GiB in all. False: as above; a part may have been copied. */
bool rz_process_gather(pid_t pid, const struct rz_process_range *ranges, unsigned n, void *here);
bool rz_process_scatter(pid_t pid, const struct rz_process_range *ranges, unsigned n,
                        const void *here);

#endif
