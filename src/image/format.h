/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an image consists of. In the file, in pages of 4096 bytes: the head; `slots` pages of the
 * process; at head.tables_at the tables, in the order of struct rz_image_tables, and behind them
 * the index: which pages of the process are in which slots, in runs, ascending. The same program,
 * on the same kind of machine, writes and reads it: structures are written as they are.
 */
#ifndef RZ_IMAGE_FORMAT_H
#define RZ_IMAGE_FORMAT_H

#include "ckpt/pages.h"

#include <stdint.h>

#define RZ_IMAGE_MAGIC UINT64_C(0x3565676d495a5201)
#define RZ_IMAGE_PAGE UINT64_C(4096)
#define RZ_IMAGE_THREADS 1024
#define RZ_IMAGE_REGIONS 32768
#define RZ_IMAGE_FILES 4096
#define RZ_IMAGE_TEXT (4 << 20)
#define RZ_IMAGE_SIGNALS 65
#define RZ_IMAGE_LIMITS 16
#define RZ_IMAGE_PENDING 512
/* The commands of membarrier that register a process: bits of what GET_BARRIERS says. */
#define RZ_IMAGE_BARRIERS 0x154
#define RZ_IMAGE_GET_BARRIERS 0x200 /* since Linux 6.3 */

/* At a call only these are in use; all others are the caller's to save. */
struct rz_image_registers {
    uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
    uint32_t mxcsr;
    uint32_t x87[7]; /* its environment: control, flags, where the last exception was */
};

struct rz_image_thread {
    struct rz_image_registers registers;
    uint64_t fs, tid_at, robust, robust_bytes, mask, rseq;
    uint64_t stack[3]; /* sigaltstack */
    uint64_t processors[16];
    uint64_t schedule[6]; /* sched_attr */
    uint64_t timer_slack, gs, memory_nodes[16], personality;
    int32_t io_priority, memory_mode, parent_signal, processors_own;
    int32_t tid, processors_bytes;
    int32_t slot;         /* its place among the parked threads, which its handler knows */
    int32_t rseq_unknown; /* not of an image: it cannot be saved */
    int32_t changed;      /* so this: enum rz_image_changed */
    char name[16];
};

enum rz_image_kind {
    RZ_IMAGE_ANONYMOUS,
    RZ_IMAGE_MAPPED, /* of a file that has a name */
    RZ_IMAGE_WHOLE,  /* of one that has none: every page that it has is in the image */
};

/* Which file, and when its content was what the image means. */
struct rz_image_identity {
    uint64_t device, inode, made_ns; /* a number of an inode is used again; made_ns 0: its file
                                        system does not say */
    uint64_t bytes, written_ns, changed_ns; /* mtime, ctime */
};

/* What the system was told of a mapping, beside its protection. */
enum rz_image_advice {
    RZ_ADVICE_GROWS_DOWN = 1,
    RZ_ADVICE_NOT_FORKED = 2,
    RZ_ADVICE_WIPED = 4, /* in a child */
    RZ_ADVICE_NOT_DUMPED = 8,
    RZ_ADVICE_HUGE = 16,
    RZ_ADVICE_NOT_HUGE = 32,
    RZ_ADVICE_SEALED = 64, /* mseal */
};

/* A mapping. The file's identity is its build id, or if it has none that of the file. WHOLE: behind
 * file_bytes there are no pages: the file ends there. */
struct rz_image_region {
    uint64_t start, end, offset, file_bytes;
    struct rz_image_identity file; /* MAPPED */
    uint32_t path;                 /* in the text */
    uint8_t protection, shared, kind, id_bytes, id[20];
    uint32_t advice; /* enum rz_image_advice */
};

enum rz_image_lock {
    RZ_LOCK_NONE,
    RZ_LOCK_FLOCK,   /* flock */
    RZ_LOCK_PROCESS, /* fcntl, F_SETLK */
    RZ_LOCK_FILE,    /* F_OFD_SETLK */
};

struct rz_image_file {
    int32_t lock, lock_type;
    uint64_t lock_start, lock_bytes; /* bytes 0: to the end */
    int32_t fd;                      /* -1: it is not open, and behind all that are */
    int32_t flags, close_on_exec;
    int32_t same_as; /* another descriptor of the same open file; -1: none before it */
    int32_t given;   /* 0 to 2: what the launcher gave under this number; -1: a file */
    uint64_t offset;
    struct rz_image_identity is;
    uint32_t path, mode;
};

/* A signal that is pending: for the thread with this id; 0: for the process. */
struct rz_image_signal {
    _Alignas(16) uint8_t info[128]; /* siginfo_t */
    int32_t tid;
};

/* Pages of the process and a value for them: a slot (of the first page; the others follow), or the
 * save that last found them changed. */
struct rz_image_run {
    uint64_t page, pages, value;
};

struct rz_image_head {
    uint64_t magic, bytes;
    uint64_t note[2];       /* the caller's */
    uint64_t host;          /* the boot of the host; 0: unknown */
    uint64_t saved_ns;      /* by its clock: when the tables of files were made */
    uint64_t life[2], save; /* which process, which of its saves */
    uint64_t slots, tables_at, n_index;
    struct rz_page_hash hash; /* of the tables, the index, and the head without it */
    uint32_t n_threads, n_regions, n_files, n_text, n_signals;
    int32_t pid;
    int32_t dumpable, huge_pages_off, subreaper, no_new_privileges;
    int32_t barriers; /* what it has registered for membarrier; below 0: the system does not say */
    uint64_t personality;
    uint32_t leader; /* the kernel's first thread; n_threads: it has ended */
    uint32_t folder, program, mask_of_files;
    uint64_t owners; /* the address of its struct rz_lock_owners; 0: none */
    uint64_t brk, vdso, vdso_hash, processor[3], vector_permission;
    uint64_t action[RZ_IMAGE_SIGNALS][4], limit[RZ_IMAGE_LIMITS][2], timer[3][4];
};

struct rz_image_tables {
    struct rz_image_head head;
    struct rz_image_thread thread[RZ_IMAGE_THREADS]; /* 0: the one that saves */
    struct rz_image_region region[RZ_IMAGE_REGIONS];
    struct rz_image_file file[RZ_IMAGE_FILES];
    struct rz_image_signal signal[RZ_IMAGE_PENDING];
    char text[RZ_IMAGE_TEXT];
};

_Static_assert(sizeof(struct rz_image_head) <= RZ_IMAGE_PAGE, "the head is one page");

#endif
