/* SPDX-License-Identifier: BSD-3-Clause */
/* The marks that this node knows, their second copies, and who restores them. */
#include "daemon/service/file_marks.h"

#include "base/no_memory.h"
#include "port/descriptor.h"
#include "port/file_mark.h"

#include <stdlib.h>
#include <string.h>

struct file_mark {
    struct file_mark *next;
    uint64_t number; /* 1, 2, ... at this daemon */
    uint32_t rank;   /* whose process made it */
    uint64_t moment; /* of the last snapshot before it */
    rz_id owner;     /* the node that takes care of its second copy */
    rz_id kept_by;   /* of an own one; RZ_ID_NONE: by no other, or by all */
    uint32_t given;  /* the newest epoch in which a process was told to restore it */
    struct rz_file_mark file;
    char path[];
};

/* A process waits for one mark at a time, and for no more than 30 s: one that sends more is not
 * told, so that it does not use up the daemon's descriptors. */
#define WAITERS_MAX 4

/* A mark that another daemon has not confirmed yet. */
struct unconfirmed_mark {
    struct unconfirmed_mark *next;
    uint64_t number;
    uint32_t rank;
    rz_id node;
    int waiter; /* of the process; -1: it does not wait */
};

struct rz_file_marks {
    struct rz_file_marks_config config;
    const struct rz_own_node *own; /* copied from config */
    struct file_mark *first, **last;
    uint32_t n;
    uint64_t number;
    struct unconfirmed_mark *unconfirmed;
};

/* ---- The list ---- */

static bool same_marked(const struct file_mark *mark, uint32_t rank, uint64_t moment,
                        const struct rz_file_mark *file)
{
    return mark->rank == rank && mark->moment == moment && mark->file.host == file->host &&
           mark->file.device == file->device && mark->file.inode == file->inode &&
           mark->file.made_ns == file->made_ns && strcmp(mark->path, file->path) == 0;
}

static void drop_oldest(struct rz_file_marks *marks)
{
    struct file_mark *mark = marks->first;
    marks->first = mark->next;
    marks->last = marks->first ? marks->last : &marks->first;
    marks->n--;
    free(mark);
}

/* One that is known already keeps the least length: it was made again after a failure. */
static struct file_mark *put_mark(struct rz_file_marks *marks, uint32_t rank, uint64_t moment,
                                  rz_id owner, const struct rz_file_mark *file)
{
    size_t bytes = strlen(file->path) + 1;
    for (struct file_mark *mark = marks->first; mark; mark = mark->next) {
        if (same_marked(mark, rank, moment, file)) {
            mark->file.bytes = file->bytes < mark->file.bytes ? file->bytes : mark->file.bytes;
            mark->file.flags |= file->flags;
            mark->owner = owner;
            return mark;
        }
    }
    struct file_mark *mark = malloc(sizeof(*mark) + bytes);
    rz_need_memory(mark, "for the length of a file");
    *mark = (struct file_mark){.number = ++marks->number,
                               .rank = rank,
                               .moment = moment,
                               .owner = owner,
                               .kept_by = RZ_ID_NONE,
                               .file = *file};
    memcpy(mark->path, file->path, bytes);
    mark->file.path = mark->path;
    *marks->last = mark;
    marks->last = &mark->next;
    if (++marks->n > RZ_FILE_MARKS_MAX) {
        drop_oldest(marks);
    }
    return mark;
}

/* ---- Second copies ---- */

static bool has_ranks(const struct rz_file_marks *marks, rz_id node)
{
    const struct rz_membership *membership = &marks->own->membership;
    for (uint32_t rank = 0; rank < marks->own->job.n_ranks; rank++) {
        if (membership->slots[rank].node == node) {
            return true;
        }
    }
    return false;
}

static bool may_keep(const struct rz_file_marks *marks, rz_id node)
{
    return node != marks->own->job.node &&
           !rz_membership_node_has_failed(&marks->own->membership, node);
}

static bool may_wait(const struct rz_file_marks *marks, uint32_t rank, rz_id node)
{
    unsigned n = 0;
    for (const struct unconfirmed_mark *one = marks->unconfirmed; one; one = one->next) {
        n += one->rank == rank && one->node == node && one->waiter >= 0;
    }
    return n < WAITERS_MAX;
}

static void send_mark(struct rz_file_marks *marks, const struct file_mark *mark, rz_id node,
                      int waiter)
{
    const struct rz_file_mark *file = &mark->file;
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_FILE_MARK,
                                               .file_mark = {.serial = mark->number,
                                                             .rank = mark->rank,
                                                             .moment = mark->moment,
                                                             RZ_FILE_MARK_MEMBERS(file)}};
    struct unconfirmed_mark *unconfirmed = malloc(sizeof(*unconfirmed));
    rz_need_memory(unconfirmed, "for the length of a file");
    *unconfirmed = (struct unconfirmed_mark){.next = marks->unconfirmed,
                                             .number = mark->number,
                                             .rank = mark->rank,
                                             .node = node,
                                             .waiter = -1};
    if (waiter >= 0 && may_wait(marks, mark->rank, node) &&
        rz_descriptor_copy(waiter, &unconfirmed->waiter) != RZ_OK) {
        unconfirmed->waiter = -1; /* the process waits for a while, and goes on */
    }
    marks->unconfirmed = unconfirmed;
    rz_overlay_send(marks->config.overlay, node, &message);
}

/* The next node that has ranks, since only processes can restore files. Where no other node has
 * any, ranks will be on one of the others if this node fails: all get it. False: there are none. */
static bool copy_mark(struct rz_file_marks *marks, struct file_mark *mark, int waiter)
{
    uint32_t n_nodes = marks->own->membership.n_nodes;
    bool sent = false;
    for (uint32_t i = 1; i < n_nodes; i++) {
        rz_id node = (marks->own->job.node + i) % n_nodes;
        if (may_keep(marks, node) && has_ranks(marks, node)) {
            mark->kept_by = node;
            send_mark(marks, mark, node, waiter);
            return true;
        }
    }
    for (rz_id node = 0; node < n_nodes; node++) {
        if (may_keep(marks, node)) {
            send_mark(marks, mark, node, waiter);
            sent = true;
        }
    }
    return sent;
}

/* The process goes on when the last of its confirmations has come, or can come no more. */
static void confirm_mark(struct rz_file_marks *marks, struct unconfirmed_mark **at)
{
    struct unconfirmed_mark *unconfirmed = *at;
    *at = unconfirmed->next;
    bool more = false;
    for (const struct unconfirmed_mark *one = marks->unconfirmed; one; one = one->next) {
        more = more || one->number == unconfirmed->number;
    }
    if (unconfirmed->waiter >= 0) {
        if (!more) {
            rz_event_fd_ring(unconfirmed->waiter);
        }
        rz_descriptor_close(unconfirmed->waiter);
    }
    free(unconfirmed);
}

void rz_file_marks_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_file_marks *marks = arg;
    (void)proof;
    for (struct file_mark *mark = first ? marks->first : NULL; mark; mark = mark->next) {
        bool mine = mark->owner == marks->own->job.node && mark->kept_by == node;
        if (mark->owner == node || mine) {
            int waiter = -1;
            for (struct unconfirmed_mark *one = marks->unconfirmed; one; one = one->next) {
                waiter = one->node == node && one->number == mark->number ? one->waiter : waiter;
            }
            mark->owner = marks->own->job.node;
            mark->kept_by = RZ_ID_NONE;
            copy_mark(marks, mark, waiter);
        }
    }
    for (struct unconfirmed_mark **at = &marks->unconfirmed; *at;) {
        if ((*at)->node == node) {
            confirm_mark(marks, at);
        } else {
            at = &(*at)->next;
        }
    }
}

/* ---- Messages ---- */

static bool on_file_mark(void *arg, struct rz_child *p, const struct rz_link_message *message,
                         int *fd)
{
    struct rz_file_marks *marks = arg;
    const struct rz_link_file_mark *told = &message->file_mark;
    const struct rz_file_mark file = {RZ_FILE_MARK_MEMBERS(told)};
    if (strlen(told->path) >= RZ_FILE_PATH_BYTES) {
        return false;
    }
    struct file_mark *mark = put_mark(marks, p->rank, told->moment, marks->own->job.node, &file);
    if (!copy_mark(marks, mark, *fd) && *fd >= 0) {
        rz_event_fd_ring(*fd);
    }
    return true;
}

static void on_file_mark_copy(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_file_marks *marks = arg;
    const struct rz_overlay_file_mark *told = &message->file_mark;
    const struct rz_file_mark file = {RZ_FILE_MARK_MEMBERS(told)};
    if (told->rank < marks->own->job.n_slots) {
        put_mark(marks, told->rank, told->moment, from, &file);
    }
    const struct rz_overlay_message kept = {.type = RZ_OVERLAY_FILE_MARK_KEPT,
                                            .file_mark_kept = {.serial = told->serial}};
    rz_overlay_send(marks->config.overlay, from, &kept);
}

static void on_file_mark_kept(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_file_marks *marks = arg;
    for (struct unconfirmed_mark **at = &marks->unconfirmed; *at; at = &(*at)->next) {
        if ((*at)->node == from && (*at)->number == message->file_mark_kept.serial) {
            confirm_mark(marks, at);
            return;
        }
    }
}

/* A rank of this node restores its own; those of ranks of other nodes the first process that asks,
 * where this node sees the file. */
static bool is_for(const struct rz_file_marks *marks, const struct file_mark *mark,
                   const struct rz_child *p, uint32_t epoch)
{
    bool here = marks->own->membership.slots[mark->rank].node == marks->own->job.node;
    return here ? mark->rank == p->rank : mark->given < epoch;
}

static bool on_ask_mark(void *arg, struct rz_child *p, const struct rz_link_message *message,
                        int *fd)
{
    struct rz_file_marks *marks = arg;
    const struct rz_link_file_mark_ask *asked = &message->file_mark_ask;
    struct rz_link_message answer = {.type = RZ_LINK_FILE_MARK_IS, .file_mark_is = {.path = ""}};
    (void)fd;
    for (struct file_mark *mark = marks->first; mark; mark = mark->next) {
        if (mark->number > asked->after && mark->moment >= asked->since &&
            is_for(marks, mark, p, asked->epoch)) {
            const struct rz_file_mark *file = &mark->file;
            mark->given = asked->epoch;
            answer.file_mark_is =
                (struct rz_link_file_mark_is){.number = mark->number, RZ_FILE_MARK_MEMBERS(file)};
            break;
        }
    }
    rz_link_router_send(p, &answer);
    return true;
}

/* ---- Begin and end ---- */

rz_status_t rz_file_marks_open(struct rz_file_marks **result,
                               const struct rz_file_marks_config *config)
{
    *result = NULL;
    if (!(config->own->job.flags & RZ_JOB_REWIND)) {
        return RZ_OK;
    }
    struct rz_file_marks *marks = calloc(1, sizeof(*marks));
    if (!marks) {
        return RZ_ERR_NO_MEMORY;
    }
    marks->config = *config;
    marks->own = config->own;
    marks->last = &marks->first;
    rz_link_router_handle(config->router, RZ_LINK_FILE_MARK, on_file_mark, marks);
    rz_link_router_handle(config->router, RZ_LINK_FILE_MARK_ASK, on_ask_mark, marks);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FILE_MARK, on_file_mark_copy,
                             marks);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FILE_MARK_KEPT, on_file_mark_kept,
                             marks);
    *result = marks;
    return RZ_OK;
}

void rz_file_marks_close(struct rz_file_marks *marks)
{
    if (!marks) {
        return;
    }
    while (marks->unconfirmed) {
        confirm_mark(marks, &marks->unconfirmed);
    }
    while (marks->first) {
        drop_oldest(marks);
    }
    free(marks);
}
