/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings files to other hosts before the job begins. Few parts are on their way to a daemon at a
 * time, and few daemons are served at a time: what they acknowledge is followed by more. */
#include "launch/session.h"

#include "base/no_memory.h"
#include "outcome/exit_codes.h"
#include "port/kill_point.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

/* Bounds the memory for parts on their way, RZ_LAUNCH_FILE_PARTS for each. */
#define ACTIVE_MAX 64

/* A node to which files are brought. */
struct rz_session_bringing {
    uint32_t file;        /* the one that is being sent; the number of files: all are sent */
    bool begun;           /* it was announced */
    uint64_t offset;      /* in the file */
    uint64_t sent, taken; /* bytes of all files */
    bool active, done;
    XXH3_state_t *sum; /* of what was sent of the file */
};

static void file_changed(struct rz_launch_session *session, const struct rz_preload_file *file)
{
    rz_outcome_decide(&session->referee.outcome, RZ_EXIT_START,
                      "--preload: %s was changed, or cannot be read, while it was brought to other "
                      "hosts; start again when it is complete",
                      file->path);
    rz_launch_session_end(session, 0);
}

/* Sends the next part, or the end, of the current file. False: it cannot be read. */
static bool send_next(struct rz_launch_session *session, struct rz_node *node,
                      const struct rz_preload_file *file)
{
    struct rz_session_bringing *b = &session->preload.nodes[node->index];
    uint64_t left = file->bytes - b->offset;
    if (left == 0) {
        struct rz_launch_message end = {.type = RZ_LAUNCH_FILE_END,
                                        .file_end = {.checksum = XXH3_64bits_digest(b->sum)}};
        rz_node_send(node, &end);
        b->file++;
        b->begun = false;
        return rz_preload_unchanged(file);
    }
    size_t n = left < RZ_LAUNCH_FILE_PART_MAX ? (size_t)left : RZ_LAUNCH_FILE_PART_MAX;
    struct rz_launch_message part = {
        .type = RZ_LAUNCH_FILE_PART,
        .file_part = {.data = session->preload.part, .data_length = (uint32_t)n}};
    if (!rz_preload_read(file, b->offset, session->preload.part, n)) {
        return false;
    }
    XXH3_64bits_update(b->sum, session->preload.part, n);
    rz_node_send(node, &part);
    b->offset += n;
    b->sent += n;
    return true;
}

/* Sends as much as may be on its way. */
static void pump(struct rz_launch_session *session, struct rz_node *node)
{
    const struct rz_preload *preload = &session->options->preload;
    struct rz_session_bringing *b = &session->preload.nodes[node->index];
    while (b->file < preload->n && !session->ending &&
           b->sent - b->taken <= (RZ_LAUNCH_FILE_PARTS - 1) * RZ_LAUNCH_FILE_PART_MAX) {
        const struct rz_preload_file *file = &preload->files[b->file];
        if (!b->begun) {
            struct rz_launch_message begin = {
                .type = RZ_LAUNCH_FILE_BEGIN,
                .file_begin = {.name = file->name, .mode = file->mode, .bytes = file->bytes}};
            rz_node_send(node, &begin);
            b->begun = true;
            b->offset = 0;
            XXH3_64bits_reset(b->sum);
        }
        if (!send_next(session, node, file)) {
            file_changed(session, file);
        }
    }
    rz_kill_here(RZ_KILL_LAUNCH_FILES);
}

/* Serves further nodes, and sends JOB when all have got everything. */
static void go_on(struct rz_launch_session *session)
{
    struct rz_session_preload *preload = &session->preload;
    const struct rz_rzrun_options *options = session->options;
    while (preload->next < options->layout.n_nodes && preload->active < ACTIVE_MAX &&
           !session->ending) {
        struct rz_node *node = &session->nodes[preload->next];
        struct rz_session_bringing *b = &preload->nodes[preload->next++];
        if (!node->remote) {
            continue;
        }
        b->sum = XXH3_createState();
        rz_need_memory(b->sum, "for the files of --preload");
        b->active = true;
        preload->active++;
        pump(session, node);
    }
    if (preload->done == options->n_remote && !session->ending) {
        rz_session_send_job(session);
    }
}

void rz_session_preload(struct rz_launch_session *session)
{
    struct rz_session_preload *preload = &session->preload;
    const struct rz_rzrun_options *options = session->options;
    if (options->preload.n == 0) {
        rz_session_send_job(session);
        return;
    }
    preload->nodes = calloc(options->layout.n_nodes, sizeof(*preload->nodes));
    preload->part = malloc(RZ_LAUNCH_FILE_PART_MAX);
    rz_need_memory(preload->nodes && preload->part, "for the files of --preload");
    go_on(session);
}

void rz_session_preload_taken(struct rz_launch_session *session, struct rz_node *node,
                              const struct rz_launch_files_taken *told)
{
    struct rz_session_preload *preload = &session->preload;
    if (!preload->nodes || session->ending || !preload->nodes[node->index].active) {
        return;
    }
    struct rz_session_bringing *b = &preload->nodes[node->index];
    b->taken = told->bytes < b->sent ? told->bytes : b->sent;
    if (told->files == session->options->preload.n && b->file == told->files) {
        b->active = false;
        b->done = true;
        preload->active--;
        preload->done++;
        go_on(session);
    } else {
        pump(session, node);
    }
}

const char *rz_session_preload_missing(const struct rz_launch_session *session)
{
    static char text[160];
    const struct rz_session_preload *preload = &session->preload;
    uint32_t n_missing = session->options->n_remote - preload->done;
    for (uint32_t i = 0; preload->nodes && i < session->options->layout.n_nodes; i++) {
        if (preload->nodes[i].active) {
            snprintf(text, sizeof(text), "%u have not got all files, the first is %s", n_missing,
                     session->options->layout.nodes[i].host);
            return text;
        }
    }
    return "";
}

void rz_session_preload_close(struct rz_launch_session *session)
{
    struct rz_session_preload *preload = &session->preload;
    for (uint32_t i = 0; preload->nodes && i < session->options->layout.n_nodes; i++) {
        if (preload->nodes[i].sum) {
            XXH3_freeState(preload->nodes[i].sum);
        }
    }
    free(preload->nodes);
    free(preload->part);
    *preload = (struct rz_session_preload){0};
}
