/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands each part of a file on to where it is written, and acknowledges it. */
#include "daemon/launcher/bring.h"

#include "daemon/launcher/keeper.h"
#include "port/kill_point.h"

static void acknowledge(const struct rz_bring *bring)
{
    const struct rz_launch_message message = {
        .type = RZ_LAUNCH_FILES_TAKEN,
        .files_taken = {.bytes = bring->brought->bytes, .files = bring->n_whole}};
    rz_report_send(&bring->own->report, &message);
}

/* The keeper knows the folder before it exists: whenever the daemon is killed, it is removed. */
static const char *make_folder(struct rz_bring *bring)
{
    struct rz_brought *brought = bring->brought;
    const char *why = rz_brought_choose(brought);
    if (!why && bring->lifeline_fd >= 0 &&
        rz_keeper_folder(bring->lifeline_fd, brought->folder) != RZ_OK) {
        why = "the keeper of the daemon has ended";
    }
    return why ? why : rz_brought_make(brought);
}

static const char *on_file_begin(void *arg, const struct rz_launch_message *message)
{
    struct rz_bring *bring = arg;
    const struct rz_launch_file_begin *told = &message->file_begin;
    const char *why = NULL;
    if (bring->own->job.n_ranks > 0) {
        return "a file comes after JOB";
    }
    if (bring->brought->held < 0) {
        why = make_folder(bring);
        rz_kill_here(RZ_KILL_FILES_FOLDER);
    }
    return why ? why : rz_brought_begin(bring->brought, told->name, told->mode, told->bytes);
}

static const char *on_file_part(void *arg, const struct rz_launch_message *message)
{
    struct rz_bring *bring = arg;
    const char *why =
        rz_brought_part(bring->brought, message->file_part.data, message->file_part.data_length);
    rz_kill_here(RZ_KILL_FILES_PART);
    if (!why) {
        acknowledge(bring);
    }
    return why;
}

static const char *on_file_end(void *arg, const struct rz_launch_message *message)
{
    struct rz_bring *bring = arg;
    const char *why = rz_brought_end(bring->brought, message->file_end.checksum);
    if (!why) {
        bring->n_whole++;
        acknowledge(bring);
        rz_kill_here(RZ_KILL_FILES_WHOLE);
    }
    return why;
}

void rz_bring_register(struct rz_bring *bring, struct rz_launcher *launcher)
{
    const struct {
        enum rz_launch_type type;
        rz_launcher_handler_fn handler;
    } orders[] = {{RZ_LAUNCH_FILE_BEGIN, on_file_begin},
                  {RZ_LAUNCH_FILE_PART, on_file_part},
                  {RZ_LAUNCH_FILE_END, on_file_end}};
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
        rz_launcher_handle(launcher, orders[i].type, RZ_LAUNCHER_BEFORE_END, orders[i].handler,
                           bring);
    }
}
