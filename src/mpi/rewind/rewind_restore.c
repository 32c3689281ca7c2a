/* SPDX-License-Identifier: BSD-3-Clause */
/* From the start of a process to the image of its rank, and from the image back into the job. */
#include "mpi/rewind/rewind_restore.h"

#include "image/image.h"
#include "mpi/impl.h"
#include "mpi/engine/count_traffic.h"
#include "mpi/engine/epoch.h"
#include "mpi/engine/epoch_barrier.h"
#include "mpi/engine/paths.h"
#include "mpi/engine/peer.h"
#include "mpi/engine/transport.h"
#include "mpi/engine/waiting.h"
#include "mpi/p2p/early_fetch.h"
#include "mpi/rewind/closed_files.h"
#include "mpi/rewind/image_keep.h"
#include "mpi/rewind/output_mark.h"
#include "mpi/rewind/undone_files.h"
#include "port/clock.h"
#include "port/file_mark.h"
#include "port/kill_point.h"
#include "port/lock_owners.h"
#include "port/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct rz_link *joined; /* before MPI_Init; NULL: not */

/* Before anything is mapped: shared memory lies in the upper half of the region that no image
 * has. */
static void keep_apart(void)
{
    const size_t half = RZ_IMAGE_REGION_BYTES / 2;
    rz_memory_keep_apart((void *)(RZ_IMAGE_REGION + half), half);
}

rz_status_t rz_restore_open_link(struct rz_link **link)
{
    if (joined) {
        *link = joined;
        return rz_link_hold(joined);
    }
    if (getenv(RZ_REWIND_ENVIRONMENT) && getenv("RZ_LINK_FD")) {
        keep_apart();
    }
    return rz_link_open(link);
}

/* ---- The image of this rank ---- */

/* What a process tells the image that it becomes. */
struct restore_handover {
    int image;                /* the descriptor of the image */
    struct rz_kill_plan kill; /* left 0: none */
    _Alignas(16) unsigned char link[RZ_LINK_HANDOVER_BYTES];
};

struct wanted {
    uint32_t epoch;
    bool answered;
    struct rz_link_piece piece;
    int fd; /* -1: there is none */
};

static void on_image(void *arg, const struct rz_link_message *message, const int *fds,
                     unsigned n_fds)
{
    struct wanted *wanted = arg;
    bool fits = message->piece.epoch == wanted->epoch && !wanted->answered;
    for (unsigned i = fits ? 1 : 0; i < n_fds; i++) {
        close(fds[i]);
    }
    if (fits) {
        wanted->piece = message->piece;
        wanted->fd = n_fds > 0 ? fds[0] : -1;
        wanted->answered = true;
    }
}

/* Asks for the image of the epoch that the board shows. RZ_OK: answered. */
static rz_status_t ask_for_image(struct rz_link *link, struct wanted *wanted)
{
    const struct rz_board *board = rz_link_info(link)->board;
    *wanted = (struct wanted){
        .epoch = (uint32_t)(atomic_load_explicit(&board->epoch_phase, memory_order_acquire) >> 8),
        .fd = -1};
    rz_kill_here(RZ_KILL_RESTORE_JOINED);
    rz_link_handle(link, RZ_LINK_PIECE, on_image, wanted);
    const struct rz_link_message want = {.type = RZ_LINK_WANT_PIECE,
                                         .want_piece = {.epoch = wanted->epoch}};
    rz_status_t status = rz_link_send(link, &want, -1);
    rz_kill_here(RZ_KILL_RESTORE_ASKED);
    status = status == RZ_OK ? rz_link_await(link, &wanted->answered) : status;
    rz_link_handle(link, RZ_LINK_PIECE, NULL, NULL);
    return status;
}

/* Before the process has an image its end is a failure like any other. */
static _Noreturn void restore_impossible(const struct rz_link *link, const char *why)
{
    fprintf(stderr, "rhizome: rank %u cannot continue from the image of its memory: %s\n",
            rz_link_info(link)->self.rank, why);
    _exit(EXIT_FAILURE);
}

/* The daemon says why to the user, and takes care that the next processes get another image. */
static _Noreturn void give_image_up(struct rz_link *link, const char *why)
{
    const struct rz_link_message unrestored = {.type = RZ_LINK_UNRESTORED,
                                               .unrestored = {.reason = why}};
    rz_link_send(link, &unrestored, -1); /* without a daemon the process ends anyway */
    _exit(EXIT_FAILURE);
}

/* Returns only if there is no image. */
static void become_image(struct rz_link *link)
{
    struct wanted wanted;
    char why[256];
    struct restore_handover handover;
    rz_status_t status = ask_for_image(link, &wanted);
    if (status != RZ_OK) {
        restore_impossible(link, rz_status_text(status));
    }
    if (wanted.fd < 0) {
        rz_closed_files_tell(link, wanted.epoch);
        status = rz_output_begin(link);
        if (status != RZ_OK) {
            restore_impossible(link, rz_status_text(status));
        }
        return;
    }
    rz_kill_here(RZ_KILL_RESTORE_FETCHED);
    const struct rz_link_message restored = {
        .type = RZ_LINK_RESTORED,
        .restored = {.epoch = wanted.epoch, .generation = wanted.piece.generation}};
    rz_link_send(link, &restored, -1); /* for the record only */
    status = rz_input_skip(link, rz_image_note(wanted.fd, RZ_NOTE_INPUT));
    if (status != RZ_OK) {
        give_image_up(link, "standard input is shorter than when the image was made, or another");
    }
    uint64_t since = rz_image_note(wanted.fd, RZ_NOTE_MOMENT);
    if (rz_closed_files_restore(link, wanted.epoch, since, why, sizeof(why)) != RZ_OK) {
        give_image_up(link, why);
    }
    rz_link_renumber(link, rz_image_descriptor_aside);
    int aside = rz_image_descriptor_aside(wanted.fd);
    handover.image = aside >= 0 ? aside : wanted.fd;
    handover.kill = rz_kill_plan ? *rz_kill_plan : (struct rz_kill_plan){.left = 0};
    rz_link_hand_over(link, handover.link);
    rz_image_restore(handover.image, wanted.piece.bytes, &handover, sizeof(handover), why,
                     sizeof(why));
    give_image_up(link, why);
}

/* How often the earlier processes of the rank have passed the point; UINT64_MAX: a process in place
 * of another one does not fail there. */
static uint64_t passed_before(enum rz_kill_point point, uint32_t incarnation)
{
    bool restores = (point >= RZ_KILL_RESTORE_JOIN && point <= RZ_KILL_RESTORE_OVER) ||
                    (point >= RZ_KILL_IMAGE_CHECKED && point <= RZ_KILL_IMAGE_THREADS);
    bool begins = point == RZ_KILL_AT_START || point == RZ_KILL_START_TOLD;
    return restores && incarnation > 1 ? incarnation - 2 : begins ? incarnation - 1 : UINT64_MAX;
}

/* RZ_KILL_AT, for a process that takes the place of a failed one. */
static void take_kill_plan(void)
{
    const char *text = getenv(RZ_KILL_AT), *rank = getenv("RZ_RANK"),
               *incarnation = getenv("RZ_INCARNATION");
    if (!text || !rank || !incarnation || !rz_kill_arm(text, (uint32_t)strtoul(rank, NULL, 10)) ||
        !rz_kill_plan) {
        return;
    }
    uint64_t before = passed_before(rz_kill_plan->point, (uint32_t)strtoul(incarnation, NULL, 10));
    if (rz_kill_plan->left <= before) {
        rz_kill_plan = NULL;
    } else {
        rz_kill_plan->left -= before;
    }
}

/* A script may have put something else in the place of what the daemon gave. */
static void note_given(void)
{
    struct rz_image_given given[3];
    const char *streams = getenv(RZ_STREAMS_ENVIRONMENT);
    if (streams &&
        sscanf(streams, "%" SCNx64 ".%" SCNx64 " %" SCNx64 ".%" SCNx64 " %" SCNx64 ".%" SCNx64,
               &given[0].device, &given[0].inode, &given[1].device, &given[1].inode,
               &given[2].device, &given[2].inode) == 6) {
        rz_image_set_given(given);
    }
}

/* Before main: of the program itself nothing has run that had an effect. */
__attribute__((constructor)) static void restore_begin(void)
{
    const char *rewind = getenv(RZ_REWIND_ENVIRONMENT);
    if (!rewind || !getenv("RZ_LINK_FD")) {
        return;
    }
    note_given();
    rz_image_set_owners(rz_lock_owners_follow());
    rz_closed_files_lead();
    if (strcmp(rewind, "image") != 0) {
        return;
    }
    take_kill_plan();
    rz_kill_here(RZ_KILL_RESTORE_JOIN);
    keep_apart();
    if (rz_link_join(&joined) != RZ_OK) {
        _exit(EXIT_FAILURE); /* the reason was printed */
    }
    become_image(joined);
}

/* ---- Back into the job ---- */

void rz_restore_wake(void)
{
    static struct rz_kill_plan plan;
    size_t bytes;
    const struct restore_handover *handover = rz_image_handover(&bytes);
    plan = handover->kill; /* what the saved process had was for that one */
    rz_kill_plan = plan.left > 0 ? &plan : NULL;
    rz_engine.process_id = getpid();
    rz_kill_here(RZ_KILL_RESTORE_WOKEN);
    rz_status_t status = rz_link_take_over(rz_engine.link, handover->link);
    close(handover->image);
    if (status == RZ_OK) {
        status = rz_link_hold(rz_engine.link);
    }
    if (status != RZ_OK) {
        restore_impossible(rz_engine.link, "it belongs to another place in the job");
    }
    rz_engine.news_seen = 0;
    rz_engine.wake_at = rz_engine.wake_at == RZ_TIME_NEVER ? RZ_TIME_NEVER : rz_clock_now();
    /* The saved process has told another daemon, perhaps of another run (--restart). */
    const struct rz_link_message repairing = {.type = RZ_LINK_REPAIRING};
    rz_link_send(rz_engine.link, &repairing, -1);
    char why[RZ_FILE_PATH_BYTES + 100];
    if (!rz_closed_files_undone(rz_epoch_on_board(), why, sizeof(why))) {
        give_image_up(rz_engine.link, why);
    }
    rz_traffic_settle();
    rz_output_go_on();
    rz_paths_abandon();
    rz_peers_forget();
    status = rz_transport_open();
    if (status != RZ_OK) {
        give_image_up(rz_engine.link, rz_status_text(status));
    }
    rz_kill_here(RZ_KILL_RESTORE_OPENED);
    rz_epoch_reach_start();
    rz_undone_look_for_missing(); /* now all ranks have given names back */
    rz_early_into_epoch();
    rz_kill_here(RZ_KILL_RESTORE_OVER);
}
