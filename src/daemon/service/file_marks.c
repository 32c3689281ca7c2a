/* SPDX-License-Identifier: BSD-3-Clause */
/* The marks that this node knows, their second copies, and who restores them. */
#include "daemon/service/file_marks_private.h"

#include "base/no_memory.h"
#include "base/random.h"
#include "port/descriptor.h"
#include "port/file_mark.h"
#include "port/prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process waits for one mark at a time, and for no more than 30 s: one that sends more is not
 * told, so that it does not use up the daemon's descriptors. */
#define WAITERS_MAX 4

/* A process that does not wait for so many sends no more content. */
#define CONTENTS_UNCONFIRMED_MAX 64

/* And one that does not wait for so many, to each node, is ended. */
#define UNCONFIRMED_MAX 1024

/* ---- The tables ---- */

static uint32_t same_bucket(const struct rz_file_marks *marks, uint32_t rank, uint64_t moment,
                            const struct rz_file_mark *file)
{
    uint64_t hash = rz_mix(rz_mix(rz_mix(rank, moment), file->inode), file->made_ns);
    hash = rz_mix_text(rz_mix(rz_mix(hash, file->device), file->host), file->path);
    return (uint32_t)(hash >> 32 ^ hash) & (marks->n_buckets - 1);
}

static uint32_t number_bucket(const struct rz_file_marks *marks, uint64_t number)
{
    return (uint32_t)number & (marks->n_buckets - 1);
}

static void table_add(struct rz_file_marks *marks, struct file_mark *mark)
{
    struct file_mark **same =
        &marks->same[same_bucket(marks, mark->rank, mark->moment, &mark->file)];
    struct file_mark **under = &marks->under[number_bucket(marks, mark->number)];
    mark->next_same = *same;
    mark->next_number = *under;
    *same = *under = mark;
}

static void table_remove(struct rz_file_marks *marks, const struct file_mark *mark)
{
    struct file_mark **at = &marks->same[same_bucket(marks, mark->rank, mark->moment, &mark->file)];
    while (*at != mark) {
        at = &(*at)->next_same;
    }
    *at = mark->next_same;
    at = &marks->under[number_bucket(marks, mark->number)];
    while (*at != mark) {
        at = &(*at)->next_number;
    }
    *at = mark->next_number;
}

static void table_grow(struct rz_file_marks *marks)
{
    enum { FIRST = 64 };
    if (marks->n < marks->n_buckets) {
        return;
    }
    marks->n_buckets = marks->n_buckets ? 2 * marks->n_buckets : FIRST;
    free(marks->same);
    free(marks->under);
    marks->same = calloc(marks->n_buckets, sizeof(struct file_mark *));
    marks->under = calloc(marks->n_buckets, sizeof(struct file_mark *));
    rz_need_memory(marks->same, "for the lengths of files");
    rz_need_memory(marks->under, "for the lengths of files");
    for (struct file_mark *mark = marks->first; mark; mark = mark->next) {
        table_add(marks, mark);
    }
}

/* ---- The lists ---- */

static bool same_marked(const struct file_mark *mark, uint32_t rank, uint64_t moment,
                        const struct rz_file_mark *file)
{
    return !(mark->file.flags & RZ_FILE_RENAMED) && mark->rank == rank && mark->moment == moment &&
           mark->file.host == file->host && mark->file.device == file->device &&
           mark->file.inode == file->inode && mark->file.made_ns == file->made_ns &&
           strcmp(mark->path, file->path) == 0;
}

static void free_content(struct rz_file_marks *marks, struct file_mark *mark)
{
    marks->ranks[mark->rank].contents -= mark->file.content_length;
    free(mark->content);
    mark->content = NULL;
    mark->file.content = NULL;
    mark->file.content_length = 0;
}

/* The one at *at, a place in the list of its rank. */
static void forget_mark(struct rz_file_marks *marks, struct file_mark **at)
{
    struct file_mark *mark = *at;
    struct rank_marks *of = &marks->ranks[mark->rank];
    *at = mark->next_of_rank;
    of->last = *at ? of->last : at;
    of->n--;
    *(mark->prev ? &mark->prev->next : &marks->first) = mark->next;
    *(mark->next ? &mark->next->prev : &marks->last) = mark->prev;
    table_remove(marks, mark);
    marks->n--;
    free_content(marks, mark);
    free(mark);
}

/* If that is news: a mark of the newest moment cannot be restored any more. */
static void tell_dropped(struct rz_file_marks *marks, uint32_t rank, uint64_t moment,
                         const char *what)
{
    struct rank_marks *of = &marks->ranks[rank];
    if (moment < of->newest || of->told > moment || of->owner != marks->own->job.node) {
        return;
    }
    of->told = moment + 1;
    rz_report_log(
        &marks->own->report, 0,
        "rank %u has %s: before the next snapshot a failure restarts the program from its "
        "start",
        rank, what);
}

static void drop_oldest(struct rz_file_marks *marks, uint32_t rank)
{
    struct rank_marks *of = &marks->ranks[rank];
    uint64_t moment = of->first->moment;
    of->dropped = of->dropped > moment ? of->dropped : moment + 1;
    forget_mark(marks, &of->first);
    char what[160];
    snprintf(what, sizeof(what),
             "opened more than %u files for writing since its last snapshot, and how long all of "
             "them were is not kept",
             marks->each);
    tell_dropped(marks, rank, moment, what);
}

/* The image of its moment is refused then, by whoever is to restore the file. */
static void lose_content(struct rz_file_marks *marks, struct file_mark *mark)
{
    free_content(marks, mark);
    mark->file.flags |= RZ_FILE_EMPTIED;
    tell_dropped(marks, mark->rank, mark->moment,
                 "changed more files since its last snapshot than a daemon keeps the content of");
}

/* Gives the mark what the process has found in the file. */
static void keep_content(struct rz_file_marks *marks, struct file_mark *mark,
                         const struct rz_file_mark *file)
{
    struct rank_marks *of = &marks->ranks[mark->rank];
    uint32_t bytes = file->content_length;
    bytes = bytes < mark->file.bytes ? bytes : (uint32_t)mark->file.bytes;
    if (!(file->flags & (RZ_FILE_CONTENT | RZ_FILE_RENAMED))) {
        return;
    }
    mark->file.changed_ns = file->changed_ns;
    mark->file.mode = file->mode;
    if (bytes == 0) {
        return;
    }
    mark->content = malloc(bytes);
    rz_need_memory(mark->content, "for the content of a file");
    memcpy(mark->content, file->content, bytes);
    mark->file.content = mark->content;
    mark->file.content_length = bytes;
    of->contents += bytes;
    for (struct file_mark *old = of->first; of->contents > marks->contents_each;
         old = old->next_of_rank) {
        if (old->content) {
            lose_content(marks, old);
        }
    }
}

/* Programs make many files that they remove again: there is nothing to cut. Those of a few new
 * marks are not worth a look at all. */
static void make_room(struct rz_file_marks *marks, const struct file_mark *newest)
{
    uint32_t rank = newest->rank;
    struct rank_marks *of = &marks->ranks[rank];
    if (of->n > marks->each && of->made > marks->each / 4) {
        uint64_t host = rz_file_mark_host();
        of->made = 0;
        for (struct file_mark **at = &of->first; *at != newest;) {
            if (rz_file_mark_is_gone(&(*at)->file, host)) {
                forget_mark(marks, at);
            } else {
                at = &(*at)->next_of_rank;
            }
        }
    }
    while (of->n > marks->each) {
        drop_oldest(marks, rank);
    }
}

static struct file_mark *find_mark(const struct rz_file_marks *marks, uint32_t rank,
                                   uint64_t moment, const struct rz_file_mark *file)
{
    bool alone = file->flags & RZ_FILE_RENAMED; /* in their order they say where a file went */
    struct file_mark *mark =
        marks->n > 0 && !alone ? marks->same[same_bucket(marks, rank, moment, file)] : NULL;
    while (mark && !same_marked(mark, rank, moment, file)) {
        mark = mark->next_same;
    }
    return mark;
}

static struct file_mark *find_number(const struct rz_file_marks *marks, uint64_t number)
{
    struct file_mark *mark = marks->n > 0 ? marks->under[number_bucket(marks, number)] : NULL;
    while (mark && mark->number != number) {
        mark = mark->next_number;
    }
    return mark;
}

/* One that is known already keeps the least length, and the first content: it was made again after
 * a failure, or the file was changed further. */
static struct file_mark *put_mark(struct rz_file_marks *marks, uint32_t rank, uint64_t moment,
                                  rz_id owner, const struct rz_file_mark *file)
{
    size_t bytes = strlen(file->path) + 1;
    struct rank_marks *of = &marks->ranks[rank];
    struct file_mark *mark = find_mark(marks, rank, moment, file);
    of->owner = owner;
    if (mark) {
        bool had = mark->file.flags & RZ_FILE_CONTENT;
        if (!had && file->bytes < mark->file.bytes) {
            mark->file.bytes = file->bytes;
        }
        mark->file.flags |= file->flags & ~(uint32_t)(had ? RZ_FILE_UNREAD : 0);
        mark->owner = mark->by_all ? marks->own->job.node : owner;
        if (!had) {
            keep_content(marks, mark, file);
        }
        return mark;
    }
    mark = malloc(sizeof(*mark) + bytes);
    rz_need_memory(mark, "for the length of a file");
    *mark = (struct file_mark){.number = ++marks->number,
                               .rank = rank,
                               .moment = moment,
                               .owner = owner,
                               .kept_by = RZ_ID_NONE,
                               .prev = marks->last,
                               .file = *file};
    memcpy(mark->path, file->path, bytes);
    mark->file.path = mark->path;
    mark->file.content = NULL;
    mark->file.content_length = 0;
    table_grow(marks);
    *(marks->last ? &marks->last->next : &marks->first) = mark;
    marks->last = mark;
    *(of->first ? of->last : &of->first) = mark;
    of->last = &mark->next_of_rank;
    table_add(marks, mark);
    marks->n++;
    of->n++;
    of->made++;
    of->newest = moment > of->newest ? moment : of->newest;
    make_room(marks, mark);
    keep_content(marks, mark, file);
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

/* A message about the mark, which the node confirms. */
static void send_about(struct rz_file_marks *marks, const struct file_mark *mark, rz_id node,
                       const struct rz_overlay_message *message, int waiter, bool again)
{
    struct unconfirmed_mark *unconfirmed = malloc(sizeof(*unconfirmed));
    rz_need_memory(unconfirmed, "for the length of a file");
    *unconfirmed = (struct unconfirmed_mark){.next = marks->unconfirmed,
                                             .number = mark->number,
                                             .rank = mark->rank,
                                             .node = node,
                                             .waiter = -1,
                                             .again = again};
    if (waiter >= 0 && may_wait(marks, mark->rank, node) &&
        rz_descriptor_copy(waiter, &unconfirmed->waiter) != RZ_OK) {
        unconfirmed->waiter = -1; /* the process waits for a while, and goes on */
    }
    marks->unconfirmed = unconfirmed;
    rz_overlay_send(marks->config.overlay, node, message);
}

static void send_mark(struct rz_file_marks *marks, const struct file_mark *mark, rz_id node,
                      int waiter, bool again)
{
    const struct rz_file_mark *file = &mark->file;
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_FILE_MARK,
                                               .file_mark = {.serial = mark->number,
                                                             .oldest = marks->oldest,
                                                             .rank = mark->rank,
                                                             .moment = mark->moment,
                                                             RZ_FILE_MARK_MEMBERS(file)}};
    send_about(marks, mark, node, &message, waiter, again);
}

/* The others than the keeper: who gives names to files must be known to each that restores. */
static void make_known(struct rz_file_marks *marks, const struct file_mark *mark, int waiter)
{
    struct file_mark known = *mark;
    known.file.flags |= RZ_FILE_KNOWN;
    for (rz_id node = 0; node < marks->own->membership.n_nodes; node++) {
        if (may_keep(marks, node) && node != mark->kept_by) {
            send_mark(marks, &known, node, waiter, false);
        }
    }
}

/* All must know that its keeper has marks of that moment, in case that both are lost. */
static void tell_keeper(struct rz_file_marks *marks, const struct file_mark *mark, int waiter)
{
    const struct rz_overlay_message message = {.type = RZ_OVERLAY_MARK_KEEPER,
                                               .mark_keeper = {.serial = mark->number,
                                                               .oldest = marks->oldest,
                                                               .moment = mark->moment,
                                                               .keeper = mark->kept_by,
                                                               .old_owner = RZ_ID_NONE,
                                                               .old_keeper = RZ_ID_NONE}};
    rz_id own = marks->own->job.node;
    if (rz_mark_keepers_has(&marks->keepers, own, mark->kept_by, mark->moment)) {
        return;
    }
    for (rz_id node = 0; node < marks->own->membership.n_nodes; node++) {
        if (may_keep(marks, node) && node != mark->kept_by) {
            send_about(marks, mark, node, &message, waiter, false);
        }
    }
}

/* The next node that has ranks, since only processes can restore files. Where no other node has
 * any, ranks will be on one of the others if this node fails: all get it. False: there are none. */
static bool copy_mark(struct rz_file_marks *marks, struct file_mark *mark, int waiter, bool again)
{
    uint32_t n_nodes = marks->own->membership.n_nodes;
    bool sent = false;
    for (uint32_t i = 1; i < n_nodes && !(mark->file.flags & RZ_FILE_AT_ALL); i++) {
        rz_id node = (marks->own->job.node + i) % n_nodes;
        if (may_keep(marks, node) && has_ranks(marks, node)) {
            mark->kept_by = node;
            send_mark(marks, mark, node, waiter, again);
            if (mark->file.flags & RZ_FILE_RENAMED && !again) {
                make_known(marks, mark, waiter);
            }
            if (!again || waiter >= 0) { /* the process has not written yet */
                tell_keeper(marks, mark, waiter);
            }
            return true;
        }
    }
    mark->file.flags |= RZ_FILE_AT_ALL;
    for (rz_id node = 0; node < n_nodes; node++) {
        if (may_keep(marks, node)) {
            send_mark(marks, mark, node, waiter, again);
            sent = true;
        }
    }
    return sent;
}

/* When all that is on its way is confirmed, all nodes are told where it is. */
static void tell_moved(struct rz_file_marks *marks)
{
    rz_id own = marks->own->job.node;
    for (const struct unconfirmed_mark *one = marks->moved ? marks->unconfirmed : NULL; one;
         one = one->next) {
        if (one->again) {
            return;
        }
    }
    while (marks->moved) {
        struct moved_marks *moved = marks->moved;
        const struct rz_overlay_message message = {.type = RZ_OVERLAY_MARK_KEEPER,
                                                   .mark_keeper = {.oldest = marks->oldest,
                                                                   .moment = moved->moment,
                                                                   .keeper = moved->to,
                                                                   .old_owner = moved->owner,
                                                                   .old_keeper = moved->keeper}};
        rz_mark_keepers_note(&marks->keepers, own, moved->to, moved->moment);
        rz_mark_keepers_drop(&marks->keepers, moved->owner, moved->keeper);
        for (rz_id node = 0; node < marks->own->membership.n_nodes; node++) {
            if (may_keep(marks, node)) {
                rz_overlay_send(marks->config.overlay, node, &message);
            }
        }
        marks->moved = moved->next;
        free(moved);
    }
}

static void add_moved(struct rz_file_marks *marks, rz_id owner, rz_id keeper,
                      const struct file_mark *mark)
{
    struct moved_marks *moved = marks->moved;
    while (moved && (moved->owner != owner || moved->keeper != keeper)) {
        moved = moved->next;
    }
    if (!moved) {
        moved = malloc(sizeof(*moved));
        rz_need_memory(moved, "for the keepers of files");
        *moved = (struct moved_marks){.next = marks->moved, .owner = owner, .keeper = keeper};
        marks->moved = moved;
    }
    moved->to = mark->kept_by;
    moved->moment = mark->moment > moved->moment ? mark->moment : moved->moment;
}

/* All know its keeper. */
static void note_known(struct rz_file_marks *marks, uint64_t number)
{
    const struct file_mark *mark = find_number(marks, number);
    if (mark) {
        rz_mark_keepers_note(&marks->keepers, marks->own->job.node, mark->kept_by, mark->moment);
    }
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
    if (!more && !unconfirmed->again) {
        note_known(marks, unconfirmed->number);
    }
    if (unconfirmed->waiter >= 0) {
        if (!more) {
            rz_descriptor_signal(unconfirmed->waiter);
        }
        rz_prompt_close(unconfirmed->waiter);
    }
    free(unconfirmed);
}

void rz_file_marks_node_failed(void *arg, rz_id node, bool proof, bool first)
{
    struct rz_file_marks *marks = arg;
    (void)proof;
    for (uint32_t slot = 0; first && slot < marks->own->job.n_slots; slot++) {
        struct rank_marks *of = &marks->ranks[slot];
        of->owner = of->owner == node ? marks->own->job.node : of->owner;
    }
    for (struct file_mark *mark = first ? marks->first : NULL; mark; mark = mark->next) {
        bool mine = mark->owner == marks->own->job.node && mark->kept_by == node;
        if (mark->file.flags & RZ_FILE_AT_ALL) {
            mark->by_all = mark->by_all || mark->owner == node;
            mark->owner = mark->by_all ? marks->own->job.node : mark->owner;
        } else if (!(mark->file.flags & RZ_FILE_KNOWN) && (mark->owner == node || mine)) {
            int waiter = -1;
            for (struct unconfirmed_mark *one = marks->unconfirmed; one; one = one->next) {
                waiter = one->node == node && one->number == mark->number ? one->waiter : waiter;
            }
            rz_id owner = mark->owner, keeper = owner == node ? marks->own->job.node : node;
            mark->owner = marks->own->job.node;
            mark->kept_by = RZ_ID_NONE;
            copy_mark(marks, mark, waiter, true);
            add_moved(marks, owner, keeper, mark);
        }
    }
    for (struct unconfirmed_mark **at = &marks->unconfirmed; *at;) {
        if ((*at)->node == node) {
            confirm_mark(marks, at);
        } else {
            at = &(*at)->next;
        }
    }
    for (struct moved_marks *moved = marks->moved; moved; moved = moved->next) {
        moved->to = moved->to == node ? RZ_ID_NONE : moved->to;
    }
    tell_moved(marks);
}

/* ---- What no image needs ---- */

static void forget_before(struct rz_file_marks *marks, uint64_t oldest)
{
    if (oldest <= marks->oldest) {
        return;
    }
    marks->oldest = oldest;
    rz_mark_keepers_forget(&marks->keepers, oldest);
    for (uint32_t slot = 0; slot < marks->own->job.n_slots; slot++) {
        for (struct file_mark **at = &marks->ranks[slot].first; *at;) {
            if ((*at)->moment < oldest) {
                forget_mark(marks, at);
            } else {
                at = &(*at)->next_of_rank;
            }
        }
    }
}

void rz_file_marks_committed(struct rz_file_marks *marks, uint64_t before)
{
    if (marks) {
        forget_before(marks, before);
    }
}

/* ---- Messages ---- */

static uint32_t count_unconfirmed(const struct rz_file_marks *marks, uint32_t rank)
{
    uint32_t n = 0;
    for (const struct unconfirmed_mark *one = marks->unconfirmed; one; one = one->next) {
        n += one->rank == rank && !one->again;
    }
    return n;
}

/* Without its content, as if it could not have been had. */
static void leave_content_out(struct rz_file_mark *file)
{
    file->content = NULL;
    file->content_length = 0;
    file->flags |= RZ_FILE_EMPTIED;
}

static bool on_file_mark(void *arg, struct rz_child *p, const struct rz_link_message *message,
                         int *fd)
{
    struct rz_file_marks *marks = arg;
    const struct rz_link_file_mark *told = &message->file_mark;
    struct rz_file_mark file = {RZ_FILE_MARK_MEMBERS(told)};
    file.flags &= ~(RZ_FILE_KNOWN | RZ_FILE_AT_ALL);
    uint32_t unconfirmed = count_unconfirmed(marks, p->rank);
    if (strlen(told->path) >= RZ_FILE_PATH_BYTES || told->content_length > RZ_FILE_CONTENT_MAX ||
        told->moment == UINT64_MAX ||
        unconfirmed >= UNCONFIRMED_MAX * marks->own->membership.n_nodes) {
        return false;
    }
    if (file.content_length > 0 && unconfirmed >= CONTENTS_UNCONFIRMED_MAX) {
        leave_content_out(&file);
    }
    struct file_mark *mark = put_mark(marks, p->rank, told->moment, marks->own->job.node, &file);
    if (!copy_mark(marks, mark, *fd, false) && *fd >= 0) {
        rz_descriptor_signal(*fd);
    }
    return true;
}

static void on_file_mark_copy(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_file_marks *marks = arg;
    const struct rz_overlay_file_mark *told = &message->file_mark;
    struct rz_file_mark file = {RZ_FILE_MARK_MEMBERS(told)};
    if (file.content_length > RZ_FILE_CONTENT_MAX) {
        leave_content_out(&file);
    }
    forget_before(marks, told->oldest);
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
            tell_moved(marks);
            return;
        }
    }
}

static void on_mark_keeper(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    struct rz_file_marks *marks = arg;
    const struct rz_overlay_mark_keeper *told = &message->mark_keeper;
    const struct rz_overlay_message kept = {.type = RZ_OVERLAY_FILE_MARK_KEPT,
                                            .file_mark_kept = {.serial = told->serial}};
    forget_before(marks, told->oldest);
    rz_mark_keepers_note(&marks->keepers, from, told->keeper, told->moment);
    rz_mark_keepers_drop(&marks->keepers, told->old_owner, told->old_keeper);
    if (told->serial != 0) {
        rz_overlay_send(marks->config.overlay, from, &kept);
    }
}

/* A rank of this node restores its own; those of a rank of another node the first process that
 * asks. One process gets all of a rank, and brings them in order: two may write back the same
 * content, but not give the same names back. So the owner gives them out, and where all nodes are
 * owners, the one that has the rank now. One that begins at its start restores nothing, and is told
 * of its own. */
static bool is_for(struct rz_file_marks *marks, const struct file_mark *mark,
                   const struct rz_child *p, const struct rz_link_file_mark_ask *asked)
{
    struct rank_marks *of = &marks->ranks[mark->rank];
    bool here = marks->own->membership.slots[mark->rank].node == marks->own->job.node;
    if (mark->file.flags & RZ_FILE_KNOWN) {
        return false;
    }
    bool gives = mark->by_all ? here : mark->owner == marks->own->job.node || asked->since == 0;
    if (!gives || here || asked->since == 0) {
        return gives && mark->rank == p->rank;
    }
    uint32_t epoch = marks->own->membership.epoch;
    if (asked->epoch != epoch || p->reached_epoch == epoch) {
        return false; /* it runs, or is ended: it restores nothing */
    }
    if (of->given < asked->epoch) {
        of->given = asked->epoch;
        of->taker = p->rank;
    }
    return of->given == asked->epoch && of->taker == p->rank;
}

/* The first one that may have a greater number than this one, which was given before. */
static struct file_mark *after_number(const struct rz_file_marks *marks, uint64_t number)
{
    struct file_mark *mark = find_number(marks, number);
    return mark ? mark->next : marks->first;
}

static bool on_ask_mark(void *arg, struct rz_child *p, const struct rz_link_message *message,
                        int *fd)
{
    struct rz_file_marks *marks = arg;
    const struct rz_link_file_mark_ask *asked = &message->file_mark_ask;
    struct file_mark *mark = after_number(marks, asked->after);
    struct rz_link_message answer = {.type = RZ_LINK_FILE_MARK_IS, .file_mark_is = {.path = ""}};
    (void)fd;
    if (p->restoring && rz_file_marks_refuse(marks, p, asked)) {
        return true; /* it is ended with its epoch */
    }
    for (; mark; mark = mark->next) {
        if (mark->number > asked->after && mark->moment >= asked->since &&
            is_for(marks, mark, p, asked)) {
            const struct rz_file_mark *file = &mark->file;
            answer.file_mark_is = (struct rz_link_file_mark_is){.number = mark->number,
                                                                .rank = mark->rank,
                                                                .moment = mark->moment,
                                                                RZ_FILE_MARK_MEMBERS(file)};
            break;
        }
    }
    rz_link_router_send(p, &answer);
    return true;
}

/* ---- Begin and end ---- */

/* The variable makes it less, for tests. */
static uint32_t at_most(const char *variable, uint32_t bound)
{
    const char *text = getenv(variable);
    unsigned long each = text ? strtoul(text, NULL, 10) : 0;
    return each > 0 && each < bound ? (uint32_t)each : bound;
}

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
    marks->each = at_most("RZ_FILE_MARKS_EACH", RZ_FILE_MARKS_EACH);
    marks->contents_each = at_most("RZ_FILE_CONTENTS_EACH", RZ_FILE_CONTENTS_EACH);
    marks->ranks = calloc(config->own->job.n_slots, sizeof(*marks->ranks));
    if (!marks->ranks) {
        free(marks);
        return RZ_ERR_NO_MEMORY;
    }
    rz_link_router_handle(config->router, RZ_LINK_FILE_MARK, on_file_mark, marks);
    rz_link_router_handle(config->router, RZ_LINK_FILE_MARK_ASK, on_ask_mark, marks);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FILE_MARK, on_file_mark_copy,
                             marks);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_FILE_MARK_KEPT, on_file_mark_kept,
                             marks);
    rz_overlay_router_handle(config->overlay_router, RZ_OVERLAY_MARK_KEEPER, on_mark_keeper, marks);
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
        forget_mark(marks, &marks->ranks[marks->first->rank].first);
    }
    while (marks->moved) {
        struct moved_marks *moved = marks->moved;
        marks->moved = moved->next;
        free(moved);
    }
    rz_mark_keepers_clear(&marks->keepers);
    free(marks->same);
    free(marks->under);
    free(marks->ranks);
    free(marks);
}
