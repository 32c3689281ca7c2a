/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces in files: when what is written, and what follows from it. */
#include "daemon/store/store_files.h"

#include "base/assert.h"
#include "daemon/state/loop.h"
#include "daemon/store/store_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than the number of generations whose files can be in progress at the same time: the one that
 * processes write and the two before (rz_store_files_bound). */
#define UNDER_WAY 4

/* The newest generation of a rank of which the marker was told. */
struct newest {
    uint32_t epoch;
    uint64_t generation; /* whether its file was written, or given up */
};

struct rz_store_files {
    struct rz_store_config config;
    struct rz_store_files_host host;
    const struct rz_own_node *own; /* copied from config */
    struct rz_store_writer *writer;
    struct rz_ckpt_generation restored; /* the generation this run began from; number 0: none */
    uint32_t epoch;
    uint64_t base;   /* the generation to which the epoch rolled back */
    uint64_t *done;  /* [n_ranks]: of own ranks, the newest that was written or given up */
    bool complained; /* the last failure to write was reported */
    bool old_stay;   /* that old generations could not be removed was reported */
    /* Used by the marker only. */
    struct newest *newest;        /* [n_ranks] */
    struct newest bad[UNDER_WAY]; /* [generation % UNDER_WAY]: a generation that lacks a file */
    uint64_t committed;           /* the newest generation that commit knows */
    uint64_t handled;             /* the newest whose mark was ordered, or that was given up */
    uint64_t settled;             /* the newest that has its mark, or never will */
    uint64_t marked;              /* the newest that has its mark */
    bool saving;                  /* rzrun waits for SAVED */
    uint64_t awaited;             /* by rzrun: the newest generation when it asked */
};

static const struct rz_daemon_job *job_of(const struct rz_store_files *files)
{
    return &files->own->job;
}

static bool is_own(const struct rz_store_files *files, uint32_t rank)
{
    return rz_recover_daemon_of(files->config.recover->embedded.state, rank) == job_of(files)->node;
}

/* Whether files are the only keepers of pieces. */
static bool files_alone(const struct rz_store_files *files)
{
    return job_of(files)->scheme.kind == RZ_SCHEME_FILE;
}

/* The lowest daemon live by decision: the same for all daemons of this epoch. */
static rz_id marker(const struct rz_store_files *files)
{
    rz_id node = 0;
    while (rz_recover_daemon_agreed_failed(files->config.recover->embedded.state, node)) {
        node++;
    }
    return node;
}

uint64_t rz_store_files_number(const struct rz_store_files *files, uint64_t generation)
{
    return files ? files->restored.number + generation : generation;
}

/* The full name of a generation, for this epoch. */
static struct rz_ckpt_generation generation_name(const struct rz_store_files *files,
                                                 uint64_t generation)
{
    const struct rz_commit *commit = files->config.commit->embedded.state;
    struct rz_ckpt_generation name = {.run = job_of(files)->checkpoints.run,
                                      .epoch = files->epoch,
                                      .number = rz_store_files_number(files, generation)};
    if (generation == 0) {
        return files->restored;
    }
    if (generation <= files->base) {
        name.epoch = rz_commit_written_in(commit);
    }
    return name;
}

static void order(struct rz_store_files *files, struct rz_store_order *what, uint64_t generation)
{
    what->generation = generation_name(files, generation);
    what->tag = generation;
    if (!rz_store_writer_order(files->writer, what)) {
        files->config.stop(files->config.arg, RZ_ERR_NO_MEMORY,
                           "no memory to order the writing of a checkpoint file");
    }
}

/* ---- the marker ---- */

static uint64_t all_told(const struct rz_store_files *files)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t rank = 0; rank < job_of(files)->n_ranks; rank++) {
        const struct newest *newest = &files->newest[rank];
        uint64_t generation = newest->epoch == files->epoch ? newest->generation : 0;
        least = generation < least ? generation : least;
    }
    return least;
}

static bool is_bad(const struct rz_store_files *files, uint64_t generation)
{
    const struct newest *bad = &files->bad[generation % UNDER_WAY];
    return bad->epoch == files->epoch && bad->generation == generation;
}

static void look_whether_saved(struct rz_store_files *files)
{
    if (!files->saving || marker(files) != job_of(files)->node || files->settled < files->awaited) {
        return;
    }
    files->saving = false;
    struct rz_launch_message message = {
        .type = RZ_LAUNCH_SAVED,
        .saved = {.generation = rz_store_files_number(files, files->marked)}};
    rz_report_send(&files->own->report, &message);
}

static void settle_generation(struct rz_store_files *files, uint64_t generation)
{
    if (generation > files->settled) {
        files->settled = generation;
    }
    look_whether_saved(files);
    files->config.more(files->config.arg); /* processes may be told of more */
}

/* Marks complete generations, in order, and removes those that can never be complete. */
static void look_at_generations(struct rz_store_files *files)
{
    uint64_t told = marker(files) == job_of(files)->node ? all_told(files) : 0;
    while (files->handled < told && !files->own->membership.ending) {
        uint64_t next = files->handled + 1;
        bool lacking = is_bad(files, next);
        struct rz_store_order what = {.kind = lacking ? RZ_STORE_REMOVE : RZ_STORE_COMMIT,
                                      .before = generation_name(files, next - 1),
                                      /* A mark that is only renewed removes nothing. */
                                      .keep =
                                          next > files->base ? job_of(files)->checkpoints.keep : 0};
        if (!lacking && next > files->committed) {
            return;
        }
        files->handled = next;
        if (lacking) {
            settle_generation(files, next);
        }
        if (!lacking || next > files->base) {
            order(files, &what, next);
        }
    }
}

static void hear_written(struct rz_store_files *files, const struct rz_overlay_piece_written *told)
{
    if (told->rank >= job_of(files)->n_ranks || told->epoch < files->epoch) {
        return;
    }
    struct newest *newest = &files->newest[told->rank];
    if (told->epoch < newest->epoch || told->generation == 0) {
        return;
    }
    *newest = (struct newest){.epoch = told->epoch, .generation = told->generation};
    if (told->failed) {
        files->bad[told->generation % UNDER_WAY] = *newest;
    }
    look_at_generations(files);
}

static void on_piece_written(void *arg, rz_id from, const struct rz_overlay_message *message)
{
    (void)from;
    hear_written(arg, &message->piece_written);
}

/* The file of an own rank's piece is written, or was given up: tells the marker. */
static void tell_marker(struct rz_store_files *files, uint32_t rank, uint64_t generation,
                        bool failed)
{
    struct rz_overlay_message message = {
        .type = RZ_OVERLAY_PIECE_WRITTEN,
        .piece_written = {
            .epoch = files->epoch, .generation = generation, .rank = rank, .failed = failed}};
    rz_id to = marker(files);
    if (to == job_of(files)->node) {
        hear_written(files, &message.piece_written);
    } else {
        rz_overlay_send(files->config.overlay, to, &message);
    }
}

void rz_store_files_committed(struct rz_store_files *files, uint64_t generation)
{
    if (!files) {
        return;
    }
    files->committed = generation;
    look_at_generations(files);
}

/* ---- answers of the writer ---- */

static void stop_for(struct rz_store_files *files, rz_status_t why, const char *what)
{
    char words[RZ_CKPT_WORDS_MAX + 128];
    snprintf(words, sizeof(words), "%s%s", what,
             why == RZ_ERR_CHECKPOINT_UNKEPT
                 ? " (with --checkpoint file nothing else keeps checkpoints)"
                 : "");
    files->config.stop(files->config.arg, why, words);
}

/* Reports that something could not be written. */
static void complain(struct rz_store_files *files, const char *what)
{
    if (files_alone(files)) {
        stop_for(files, RZ_ERR_CHECKPOINT_UNKEPT, what);
        return;
    }
    if (!files->complained) {
        rz_report_log(&files->own->report, 0,
                      "%s; the job continues, with checkpoints in memory alone until files can be "
                      "written again",
                      what);
    }
    files->complained = true;
}

static void on_written(struct rz_store_files *files, const struct rz_store_order *done)
{
    uint32_t rank = done->rank;
    bool good = done->status == RZ_OK;
    if (good) {
        files->complained = false;
    } else {
        complain(files, done->status == RZ_ERR_CANCELLED
                            ? "the memory of a checkpoint piece changed while it was written"
                            : done->words.text);
    }
    if (files->own->membership.ending) {
        return;
    }
    if (done->tag > files->done[rank]) {
        files->done[rank] = done->tag;
    }
    if (good && files_alone(files)) {
        rz_core_step(files->config.commit, &(struct rz_event){.kind = RZ_EVENT_CALL,
                                                              .call = RZ_COMMIT_COPIED,
                                                              .arg = {files->epoch, done->tag, rank,
                                                                      job_of(files)->node}});
    }
    tell_marker(files, rank, done->tag, !good);
    files->config.more(files->config.arg); /* processes may be told of more */
}

static void on_read(struct rz_store_files *files, const struct rz_store_order *done)
{
    struct rz_ckpt_content content = done->content;
    if (done->status == RZ_OK) {
        files->host.came(files->host.arg, done->rank, done->tag, content.fd, content.bytes,
                         content.hash);
    } else {
        stop_for(files, RZ_ERR_CHECKPOINT_LOST, done->words.text);
    }
}

static void on_marked(struct rz_store_files *files, const struct rz_store_order *done)
{
    if (done->status == RZ_OK && done->tag > files->marked) {
        files->marked = done->tag;
    }
    settle_generation(files, done->tag);
    if (done->status != RZ_OK) {
        complain(files, done->words.text);
        return;
    }
    if (done->pruned != RZ_OK && !files->old_stay) {
        rz_report_log(&files->own->report, 0, "an old checkpoint stays: %s", done->words.text);
    }
    if (done->keep > 0) {
        files->old_stay = done->pruned != RZ_OK;
    }
    rz_report_log(&files->own->report, 2, "generation %llu is marked in its files",
                  (unsigned long long)done->generation.number);
}

static void on_done(void *arg, const struct rz_store_order *done)
{
    struct rz_store_files *files = arg;
    if (files->own->membership.ending) {
        if (done->kind == RZ_STORE_READ && done->status == RZ_OK) {
            close(done->content.fd);
        }
        return;
    }
    switch (done->kind) {
    case RZ_STORE_WRITE:
        on_written(files, done);
        break;
    case RZ_STORE_READ:
        on_read(files, done);
        break;
    case RZ_STORE_COMMIT:
        on_marked(files, done);
        break;
    case RZ_STORE_REMOVE:
        break; /* what could not be removed is found by the next run */
    }
}

/* ---- calls of the store ---- */

void rz_store_files_epoch(struct rz_store_files *files, uint32_t epoch, uint64_t generation)
{
    if (!files) {
        return;
    }
    rz_store_writer_drop(files->writer);
    files->epoch = epoch;
    files->base = files->committed = generation;
    files->handled = files->settled = generation > 0 ? generation - 1 : 0;
    for (uint32_t rank = 0; rank < job_of(files)->n_ranks; rank++) {
        files->done[rank] = files->handled;
    }
    files->marked = files->handled;
    files->awaited = generation;
    look_at_generations(files); /* other daemons may have entered the epoch before */
    look_whether_saved(files);
}

void rz_store_files_save(struct rz_store_files *files)
{
    if (files) {
        files->saving = true;
        files->awaited = files->committed;
        look_whether_saved(files);
    }
}

void rz_store_files_keep(struct rz_store_files *files, uint32_t rank, uint64_t generation, int fd,
                         uint64_t bytes, uint64_t hash)
{
    struct rz_store_order what = {
        .kind = RZ_STORE_WRITE, .rank = rank, .content = {.fd = fd, .bytes = bytes, .hash = hash}};
    if (files && generation > 0) {
        order(files, &what, generation);
    }
}

void rz_store_files_fetch(struct rz_store_files *files, uint32_t rank, uint64_t generation)
{
    struct rz_store_order what = {.kind = RZ_STORE_READ, .rank = rank};
    rz_assert(files && generation == files->base);
    order(files, &what, generation);
}

bool rz_store_files_begins(const struct rz_store_files *files)
{
    return files && files->restored.number > 0;
}

uint64_t rz_store_files_bound(const struct rz_store_files *files, uint64_t upto)
{
    for (uint32_t rank = 0; files && rank < job_of(files)->n_ranks; rank++) {
        if (is_own(files, rank) && files->done[rank] + 1 < upto) {
            upto = files->done[rank] + 1;
        }
    }
    /* No process begins a generation without the marker's processes, so the marker holds all. */
    if (files && marker(files) == job_of(files)->node && files->settled + 1 < upto) {
        upto = files->settled + 1;
    }
    return upto;
}

/* ---- open and close ---- */

rz_status_t rz_store_files_open(struct rz_store_files **result, const struct rz_store_config *base,
                                const struct rz_store_files_host *host)
{
    const struct rz_daemon_job *job = &base->own->job;
    if (!*job->checkpoints.folder) {
        return RZ_OK;
    }
    struct rz_store_files *files = calloc(1, sizeof(*files));
    if (!files) {
        return RZ_ERR_NO_MEMORY;
    }
    files->config = *base;
    files->own = base->own;
    files->host = *host;
    files->restored = job->checkpoints.restored;
    files->done = calloc(job->n_ranks, sizeof(*files->done));
    files->newest = calloc(job->n_ranks, sizeof(*files->newest));
    struct rz_store_writer_config config = {
        .base = base->own->base,
        .folder = {.path = job->checkpoints.folder, .n_ranks = job->n_ranks},
        .node = job->node,
        .arg = files,
        .done = on_done};
    memcpy(config.folder.name, job->checkpoints.name, sizeof(config.folder.name));
    rz_status_t status = files->done && files->newest
                             ? rz_store_writer_open(&files->writer, &config)
                             : RZ_ERR_NO_MEMORY;
    if (status != RZ_OK) {
        rz_store_files_close(files);
        return status;
    }
    rz_overlay_router_handle(base->overlay_router, RZ_OVERLAY_PIECE_WRITTEN, on_piece_written,
                             files);
    *result = files;
    return RZ_OK;
}

void rz_store_files_close(struct rz_store_files *files)
{
    if (!files) {
        return;
    }
    if (files->writer) {
        rz_store_writer_close(files->writer);
    }
    free(files->done);
    free(files->newest);
    free(files);
}
