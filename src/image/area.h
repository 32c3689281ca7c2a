/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of this module: at a fixed address in the reserved region, so that it is in no image
 * and pointers into it mean the same before and after a restore. And the functions that the files
 * of this module share. A function that fails says why in area->why; none of them uses libc.
 */
#ifndef RZ_IMAGE_AREA_H
#define RZ_IMAGE_AREA_H

#include "base/status.h"
#include "image/format.h"
#include "image/image.h"
#include "port/kill_point.h"
#include "port/lock_owners.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* The reserved region: area, restore program with its stack, pools, and what callers reserve. */
#define RZ_IMAGE_PROGRAM_AT (RZ_IMAGE_REGION + ((uintptr_t)1 << 30))
#define RZ_IMAGE_PROGRAM_MAX ((uintptr_t)1 << 20)
#define RZ_IMAGE_STACK_AT (RZ_IMAGE_PROGRAM_AT + 2 * RZ_IMAGE_PROGRAM_MAX)
#define RZ_IMAGE_STACK_BYTES ((uintptr_t)1 << 18)
#define RZ_IMAGE_ASIDE_AT (RZ_IMAGE_PROGRAM_AT + ((uintptr_t)1 << 29)) /* the vdso, on its way */
#define RZ_IMAGE_POOL_AT (RZ_IMAGE_REGION + ((uintptr_t)16 << 30))
#define RZ_IMAGE_POOL_MAX ((uintptr_t)16 << 30)

#define RZ_IMAGE_RANGES 4096
#define RZ_IMAGE_DESCRIPTORS (1 << 20)
#define RZ_IMAGE_EXCLUDED_THREADS 64
#define RZ_IMAGE_WORDS 512
#define RZ_IMAGE_NAMESPACES 8
#define RZ_IMAGE_CONTROLS 3
#define RZ_IMAGE_GIVEN 3 /* descriptors 0, 1 and 2 */
#define RZ_IMAGE_PARK_SIGNAL 33

/* Arrays that grow; each has a place of its own, where it never moves. */
enum rz_image_pool {
    RZ_POOL_SCANNED, /* runs: pages that are the process's own; value: written or not */
    RZ_POOL_KNOWN,   /* runs: value: the save that last found them changed; area->turn */
    RZ_POOL_KNOWN_OTHER,
    RZ_POOL_HASHES, /* struct rz_image_hashed, of the pages whose changes are found so */
    RZ_POOL_HASHES_OTHER,
    RZ_POOL_OLDER,   /* runs: the index of the image that is written over */
    RZ_POOL_PLACED,  /* runs: value: slot, or none yet */
    RZ_POOL_INDEX,   /* runs: value: slot */
    RZ_POOL_USED,    /* bitmap of slots */
    RZ_POOL_WRITTEN, /* bitmap of pages of the file */
    RZ_POOL_COUNT
};

#define RZ_NO_SLOT UINT64_MAX /* the value of a page that has none yet */

enum rz_image_thread_state {
    RZ_THREAD_FREE,   /* the kernel stores this where a thread that ends has been told to */
    RZ_THREAD_LISTED, /* it has not got its signal, which it would not take now */
    RZ_THREAD_CALLED,
    RZ_THREAD_STANDS, /* in the handler, until all others do */
    RZ_THREAD_PARKED, /* all stood, and it has noted its signals */
    RZ_THREAD_GONE,
};

/* What a thread may have changed that only the thread itself can look at. */
enum rz_image_changed {
    RZ_CHANGED_NOTHING,
    RZ_CHANGED_CONTROL, /* the first one of these */
    RZ_CHANGED_KEYS = RZ_CHANGED_CONTROL + RZ_IMAGE_CONTROLS,
    RZ_CHANGED_SESSION_KEYS,
    RZ_CHANGED_TIME_STAMPS,
    RZ_CHANGED_PROCESSOR_ID,
};

enum rz_image_order { RZ_ORDER_WAIT, RZ_ORDER_NOTE, RZ_ORDER_GO, RZ_ORDER_END };

enum rz_image_method { RZ_METHOD_UNKNOWN, RZ_METHOD_PROTECTION, RZ_METHOD_HASHES };

/* A thread that stands in the handler. */
struct rz_image_parked {
    struct rz_image_thread thread;
    _Atomic int32_t state;
};

struct rz_image_range {
    uint64_t start, end;
};

/* What the launcher gave, apart from descriptors. */
struct rz_image_start {
    char status[4096]; /* /proc/self/status */
    char space[RZ_IMAGE_NAMESPACES][48], root[256];
    int64_t session, group, keys;
    int32_t control[RZ_IMAGE_CONTROLS]; /* as prctl says */
    uint64_t processors[16];
    int32_t processors_bytes;
};

struct rz_image_area {
    struct rz_image_tables image; /* what is saved or restored */
    struct rz_image_tables here;  /* the mappings of the process that restores */
    struct rz_image_parked parked[RZ_IMAGE_THREADS];
    struct rz_image_range excluded[RZ_IMAGE_RANGES]; /* ascending, apart from one another */
    uint8_t excluded_fd[RZ_IMAGE_DESCRIPTORS / 8];
    int excluded_thread[RZ_IMAGE_EXCLUDED_THREADS];
    uint32_t n_excluded, n_excluded_threads, n_parked;
    atomic_flag lists;                 /* the lists of what is excluded are being changed */
    _Atomic uint32_t busy;             /* a call is in progress */
    _Atomic int32_t order;             /* to the parked threads */
    int32_t new_tid[RZ_IMAGE_THREADS]; /* of the threads of the image, in this process */
    struct rz_image_signal pending[RZ_IMAGE_PENDING]; /* tid -1: none */
    _Atomic uint32_t n_pending;
    struct rz_lock_owners *owners;    /* NULL: nobody follows them */
    bool notes_signals;               /* a save stops the threads */
    int32_t restorer;                 /* the thread that restores when all others have ended */
    int32_t park_signal;              /* of the thread that stops others; 0: none yet */
    int32_t stubborn;                 /* the thread that did not stop last time; 0: none */
    uint16_t ordered[RZ_IMAGE_FILES]; /* files of the table, one for each open file, as kcmp says */
    uint32_t n_ordered;
    struct rz_image_given given[RZ_IMAGE_GIVEN];
    struct rz_image_start start;
    int32_t given_at[RZ_IMAGE_GIVEN]; /* during a restore: copies of these; -1: it is closed */
    bool park_left;                   /* the handler must stay: its signal may still arrive */
    uint64_t park_action[4];

    int32_t fd;                  /* the image that is restored */
    struct rz_image_place place; /* while it is written */
    int32_t pagemap;             /* while a save scans */
    int32_t protector;           /* userfaultfd; -1: none */
    enum rz_image_method method, method_wanted;
    uint64_t advised, advised_save; /* of which mappings `advice` is, and since which save */
    uint64_t scan_not;              /* categories of pages that PAGEMAP_SCAN is to leave out */

    uint64_t life[2], saves;
    uint64_t host; /* the boot of this host; 0: unknown */
    int32_t life_pid;
    uint64_t need; /* bytes of the file that the save in progress needs */
    uint32_t turn; /* which KNOWN and HASHES are those of the last save */
    uint64_t pool_bytes[RZ_POOL_COUNT], pool_used[RZ_POOL_COUNT];

    bool in_place; /* the image that is restored is of this process */
    bool restored;
    const struct rz_image_run *known_at; /* where in KNOWN the restore is */
    bool skips;               /* it leaves pages alone that KNOWN says have not changed since */
    struct rz_kill_plan kill; /* of this process; left 0: none */
    uint64_t handover_bytes, handover_next_bytes;
    uint8_t handover[RZ_IMAGE_HANDOVER_MAX], handover_next[RZ_IMAGE_HANDOVER_MAX];
    uint8_t advice[RZ_IMAGE_REGIONS]; /* enum rz_image_advice, without what can be asked for */
    char why[RZ_IMAGE_WORDS];
    char maps[4 << 20];   /* the text of /proc; and other lists */
    uint64_t words[4096]; /* of /proc/self/pagemap */
};

#define RZ_AREA ((struct rz_image_area *)RZ_IMAGE_REGION)

/* area.c */
bool rz_image_map_at(uintptr_t at, uint64_t bytes); /* nothing is there; false: something is */
bool rz_image_area_ready(void); /* makes the area; false: another mapping is there */
rz_status_t rz_image_refuse(rz_status_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* %s %d %lu %lx; returns status */
rz_status_t rz_image_tell(rz_status_t status, char *why, size_t max); /* copies area->why */
/* One call at a time; blocks all signals. False: *why says why not; all of them are
 * RZ_ERR_UNSUPPORTED. */
bool rz_image_enter(uint64_t *mask, char *why, size_t max);
void rz_image_leave(const uint64_t *mask);

/* pool.c */
static inline void *rz_image_pool(enum rz_image_pool pool)
{
    return (void *)(RZ_IMAGE_POOL_AT + pool * RZ_IMAGE_POOL_MAX);
}
bool rz_image_pool_need(enum rz_image_pool pool, uint64_t bytes);
bool rz_image_pool_add(enum rz_image_pool pool, const struct rz_image_run *run);
static inline uint64_t rz_image_pool_runs(enum rz_image_pool pool)
{
    return RZ_AREA->pool_used[pool] / sizeof(struct rz_image_run);
}
/* The same, but a run that continues the last one becomes part of it: with the same value, or where
 * values count up with the pages, with the next one. */
bool rz_image_pool_append(enum rz_image_pool pool, struct rz_image_run run, bool counts);

/* Through the runs of a pool, ascending; also in the restore program. */
struct rz_image_cursor {
    const struct rz_image_run *run, *end;
};

static inline struct rz_image_cursor rz_image_cursor_of(enum rz_image_pool pool)
{
    const struct rz_image_run *runs = rz_image_pool(pool);
    return (struct rz_image_cursor){runs, runs + rz_image_pool_runs(pool)};
}

/* Whether the page is in the list; *pages is cut to how many from it on are or are not, alike. */
static inline bool rz_image_look(struct rz_image_cursor *cursor, uint64_t page, uint64_t *pages)
{
    while (cursor->run < cursor->end && cursor->run->page + cursor->run->pages <= page) {
        cursor->run++;
    }
    if (cursor->run == cursor->end) {
        return false;
    }
    bool inside = cursor->run->page <= page;
    uint64_t until = inside ? cursor->run->page + cursor->run->pages : cursor->run->page;
    *pages = *pages < until - page ? *pages : until - page;
    return inside;
}

/* A page of this process, ascending. */
struct rz_image_hashed {
    uint64_t page;
    struct rz_page_hash hash;
};

/* Through those of the save before. */
struct rz_image_hashing {
    const struct rz_image_hashed *before, *end;
};

/* excluded.c; also in the restore program */
bool rz_image_excluded(uint64_t start, uint64_t end);       /* any of it */
bool rz_image_excluded_whole(uint64_t start, uint64_t end); /* all of it */
/* The first part of [*at, end) that is not excluded: [*at, *stop); false: there is none. */
bool rz_image_next_included(uint64_t *at, uint64_t end, uint64_t *stop);
static inline bool rz_image_excluded_descriptor(int fd)
{
    return fd >= 0 && fd < RZ_IMAGE_DESCRIPTORS && RZ_AREA->excluded_fd[fd / 8] >> fd % 8 & 1;
}
static inline bool rz_image_in_region(uint64_t start, uint64_t end)
{
    return start < RZ_IMAGE_REGION + RZ_IMAGE_REGION_BYTES && RZ_IMAGE_REGION < end;
}

/* maps.c; also in the restore program */
rz_status_t rz_image_read_maps(struct rz_image_tables *tables);
/* A hexadecimal number without a prefix; returns what is behind the character that ends it. */
const char *rz_image_take_number(const char *c, uint64_t *value);
const struct rz_image_region *rz_image_named(const struct rz_image_tables *tables,
                                             const char *name);
static inline bool rz_image_of_kernel(const char *path) /* [vvar], [vvar_vclock], [vdso], ... */
{
    return path[0] == '[' && path[1] == 'v';
}
/* When the open file, or the one of that name, was made, in ns; 0: its file system does not say. */
uint64_t rz_image_made_ns(int fd, const char *path, int flags);
/* The next number among the names of a folder, as getdents64 gives them in pieces: from *at on in
 * this one; -1: none. */
int rz_image_next_number(const char *list, long bytes, long *at);
/* A file of /proc or another small one: the bytes, or below 0 the error. */
long rz_image_read_file(const char *path, char *to, size_t max);
/* Why a file of /proc was not opened. */
static inline const char *rz_image_why_unread(long error)
{
    return error == -EMFILE   ? "the program has all descriptors open that it may have (ulimit -n)"
           : error == -ENFILE ? "the system has no more descriptors"
                              : "/proc cannot be read";
}

/* threads.c */
rz_status_t rz_image_threads_stop(void);
void rz_image_threads_order(enum rz_image_order order);
void rz_image_threads_await(void);
void rz_image_await_order(void); /* until there is one */
void rz_image_thread_note(struct rz_image_thread *thread);
/* Of those that stand, and its own; saves: also what an image does not carry. */
rz_status_t rz_image_threads_refuse(const struct rz_image_thread *own, bool saves);
bool rz_image_thread_forget(const struct rz_image_thread *thread);
void rz_image_thread_become(const struct rz_image_thread *thread);

/* Whether a file that has the same inode number is the same one: the times at which it was made. */
static inline bool rz_image_same_made(uint64_t a, uint64_t b)
{
    return a == b || a == 0 || b == 0;
}

/* file_identity.c; also in the restore program */
uint64_t rz_image_now_ns(void); /* as files get it */
uint64_t rz_image_host(void);   /* the boot of this host; 0: unknown */
struct rz_image_identity rz_image_identity_of(const struct stat *st, uint64_t made_ns);
/* Whether a file with this identity has what it had when the image was saved. On another host, if
 * it is another file there, its size and the time at which it was written to say so. */
bool rz_image_same_content(const struct rz_image_head *head, const struct rz_image_identity *was,
                           const struct rz_image_identity *is);
/* Whether one that was open to be read goes on where it was: others may have written to it, but no
 * other file has its name; or that is on another host, has the same size, and was there already. */
bool rz_image_same_reading(const struct rz_image_head *head, const struct rz_image_identity *was,
                           const struct rz_image_identity *is);

/* files.c: which one of the given descriptors this is; -1: none */
int rz_image_given_of(int fd, const struct stat *st);

/* given.c */
void rz_image_note_given(void); /* as it is now */
rz_status_t rz_image_refuse_changed(void);
int32_t rz_image_changed(void); /* what this thread has changed: enum rz_image_changed */
rz_status_t rz_image_refuse_thread(const struct rz_image_thread *thread);
bool rz_image_given_processors(const struct rz_image_thread *thread); /* those of the start */

/* locks.c: of this file, into it */
rz_status_t rz_image_note_lock(struct rz_image_file *file, const char *path);

/* pending_signals.c */
void rz_image_forget_signals(void);
void rz_image_note_signals(bool shared); /* of this thread; shared: and of the process */
rz_status_t rz_image_keep_signals(struct rz_image_tables *image);
void rz_image_queue_signals(int32_t tid);                 /* of the image; 0: of the process */
void rz_image_note_timers(struct rz_image_tables *image); /* before signals are */
void rz_image_settle_timers(struct rz_image_tables *image);

/* regions.c, files.c, refusals.c, process_state.c, build_id.c: the tables */
rz_status_t rz_image_choose_regions(struct rz_image_tables *image);
void rz_image_note_identities(struct rz_image_tables *image); /* of the files that are mapped */
void rz_image_note_advice(struct rz_image_tables *image);     /* advice.c */
rz_status_t rz_image_note_files(struct rz_image_tables *image, int fd);
rz_status_t rz_image_note_closed(struct rz_image_tables *image, const struct rz_image_place *place);
rz_status_t rz_image_refuse_others(void);
rz_status_t rz_image_note_process(struct rz_image_tables *image);
rz_status_t rz_image_check_process(const struct rz_image_tables *image);
uint64_t rz_image_vdso(const struct rz_image_tables *tables, uint64_t *hash);
uint32_t rz_image_build_id(const void *at, size_t bytes, uint8_t id[20]);
uint32_t rz_image_build_id_of(const char *path, uint8_t id[20]);
/* Appends to the text; the place, or UINT32_MAX: it is full. */
uint32_t rz_image_keep_text(struct rz_image_tables *image, const char *text);
void rz_image_number(char *to, uint64_t value);

/* changes.c, hashes.c, slots.c, write.c */
rz_status_t rz_image_scan(const struct rz_image_tables *tables);
rz_status_t rz_image_refuse_unreadable(const struct rz_image_region *r);
void rz_image_hash_begin(struct rz_image_hashing *hashing);
rz_status_t rz_image_hash_region(struct rz_image_hashing *hashing, const struct rz_image_region *r);
void rz_image_forget_changes(void);
/* Before descriptors are looked at: what the program has under a lost one's number is its own. */
void rz_image_check_protector(void);
rz_status_t rz_image_plan(uint64_t older_slots, uint64_t older_save);
/* The list of known changes as of now, for a restore that leaves unchanged pages alone. */
rz_status_t rz_image_know_changes(void);
/* These pages of the file are in its bitmap of those that were written. False: no memory. */
bool rz_image_mark(uint64_t first, uint64_t n);
rz_status_t rz_image_write(const struct rz_image_place *place);
/* Reads head, tables, and the index into that pool. RZ_ERR_MALFORMED: they are not whole, not as
 * they were written, or the index leads out of them. */
rz_status_t rz_image_take_tables(int fd, struct rz_image_tables *image, enum rz_image_pool pool);

/* restore_checks.c: whether this process can become what the image says, which was read with its
 * index in the pool; fd: its file. Changes nothing. */
rz_status_t rz_image_check_restore(const struct rz_image_tables *image, int fd);

/* registers.c; also in the restore program */
int rz_image_registers_save(struct rz_image_registers *) __attribute__((returns_twice));
_Noreturn void rz_image_registers_load(const struct rz_image_registers *);
void rz_image_signal_return(void);
_Noreturn void rz_image_on_stack(uintptr_t stack_end, uintptr_t run);

/* The restore program, as it is linked into this library (restore_embed.c), and its start. */
extern const uint8_t rz_restore_program[], rz_restore_program_end[];
_Noreturn void rz_image_run_restore(void); /* restore.c */

#endif
