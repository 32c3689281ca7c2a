/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands each part of a file on to where it is written, and acknowledges it. */
#include "daemon/launcher/preload_orders.h"

#include "daemon/launcher/keeper.h"
#include "port/kill_point.h"

static void acknowledge(const struct rz_preload_orders *preload)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FILES_TAKEN,
        .files_taken = {.bytes = preload->preloaded->bytes, .files = preload->n_whole}};
    rz_report_send(&preload->own->report, &message);
}

/* The keeper knows the folder before it exists: whenever the daemon is killed, it is removed. */
static const char *make_folder(struct rz_preload_orders *preload)
{
    struct rz_preloaded *preloaded = preload->preloaded;
    const char *why = rz_preloaded_choose(preloaded);
    if (!why && preload->lifeline_fd >= 0 &&
        rz_keeper_folder(preload->lifeline_fd, preloaded->folder) != RZ_OK) {
        why = "the keeper of the daemon has ended";
    }
    return why ? why : rz_preloaded_make(preloaded);
}

static const char *on_file_begin(void *arg, const struct rz_launch_message *message)
{
    struct rz_preload_orders *preload = arg;
    const struct rz_launch_file_begin *told = &message->file_begin;
    const char *why = NULL;
    if (preload->own->job.n_ranks > 0) {
        return "a file comes after JOB";
    }
    if (preload->preloaded->held < 0) {
        why = make_folder(preload);
        rz_kill_here(RZ_KILL_FILES_FOLDER);
    }
    return why ? why : rz_preloaded_begin(preload->preloaded, told->name, told->mode, told->bytes);
}

static const char *on_file_part(void *arg, const struct rz_launch_message *message)
{
    struct rz_preload_orders *preload = arg;
    const char *why = rz_preloaded_part(preload->preloaded, message->file_part.data,
                                        message->file_part.data_length);
    rz_kill_here(RZ_KILL_FILES_PART);
    if (!why) {
        acknowledge(preload);
    }
    return why;
}

static const char *on_file_end(void *arg, const struct rz_launch_message *message)
{
    struct rz_preload_orders *preload = arg;
    const char *why = rz_preloaded_end(preload->preloaded, message->file_end.checksum);
    if (!why) {
        preload->n_whole++;
        acknowledge(preload);
        rz_kill_here(RZ_KILL_FILES_WHOLE);
    }
    return why;
}

void rz_preload_orders_register(struct rz_preload_orders *preload, struct rz_launcher *launcher)
{
    const struct {
        enum rz_launch_type type;
        rz_launcher_handler_fn handler;
    } orders[] = {{RZ_LAUNCH_FILE_BEGIN, on_file_begin},
                  {RZ_LAUNCH_FILE_PART, on_file_part},
                  {RZ_LAUNCH_FILE_END, on_file_end}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
        rz_launcher_handle(launcher, orders[i].type, RZ_LAUNCHER_BEFORE_END, orders[i].handler,
                           preload);
    }
}
