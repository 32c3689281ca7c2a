/* SPDX-License-Identifier: BSD-3-Clause */
/* What can no longer be restored, and what users are told of it. */
#include "daemon/store/store.h"
#include "daemon/store/store_private.h"

void store_give_up(struct rz_store *store, const char *words)
{
    store_stop(store, RZ_ERR_NO_MEMORY, words);
}

static void record_given_up(const struct rz_store *store, uint64_t generation)
{
    const struct rz_own_node *own = store->own;
    rz_report_event(&own->report,
                    &(struct rz_launch_event){.kind = RZ_EVENT_RECORD_FELL_BACK,
                                              .epoch = store->epoch,
                                              .rank = RZ_ID_NONE,
                                              .node = own->job.node,
                                              .value = rz_store_number(store, generation),
                                              .note = ""});
}

/* Pieces in memory: all may roll back to the generation before. Pieces in files: rzrun looks for an
 * older generation. */
static void give_up_generation(struct rz_store *store, const char *words)
{
    if (!store->files && store->config.damaged(store->config.arg)) {
        rz_report_log(&store->own->report, 0, "%s", words);
        return;
    }
    store_stop(store, RZ_ERR_CHECKPOINT_LOST, words);
}

bool store_was_reused(const struct rz_store *store)
{
    return (store->own->job.flags & RZ_JOB_REWIND) && rz_recover_fell_back(store_recover(store));
}

void store_lost(struct rz_store *store, uint32_t rank, uint64_t generation, const char *what)
{
    char words[256];
    snprintf(words, sizeof(words), "the checkpoint piece of rank %u (generation %llu) %s", rank,
             (unsigned long long)rz_store_number(store, generation), what);
    give_up_generation(store, words);
}

void store_end_writer(struct rz_store *store, uint32_t rank, uint64_t generation, const char *what)
{
    struct rz_child *p = rz_child_of(store->config.children, rank);
    char words[256];
    snprintf(words, sizeof(words), "its checkpoint piece (generation %llu) %s",
             (unsigned long long)rz_store_number(store, generation), what);
    if (p) {
        rz_child_kill(p, words);
    }
}

void rz_store_unrestored(struct rz_store *store, struct rz_child *p, const char *why)
{
    char words[512];
    if (!p->restoring || !rz_child_is_current(p) || store->unrestored_epoch == store->epoch) {
        return;
    }
    p->restoring = false;
    store->unrestored_epoch = store->epoch; /* one process is enough */
    snprintf(words, sizeof(words), "rank %u cannot continue from its image of generation %llu: %s",
             p->rank, (unsigned long long)rz_store_number(store, store->restoring), why);
    if (store->files) {
        record_given_up(store, store->restoring); /* of that in files, too */
    }
    give_up_generation(store, words);
}

/* ---- What an epoch restores ---- */

struct store_given_up store_given_up_by(const struct rz_store *store, uint64_t generation,
                                        uint64_t base)
{
    const struct rz_recover *recover = store_recover(store);
    bool another = store->restoring != generation || store->base != base;
    return (struct store_given_up){
        .damaged = another && (rz_recover_fell_back(recover) || rz_recover_from_start(recover)),
        .lost = another && generation == 0 && base > 0 && !store->files};
}

static void say_what_is_given_up(const struct rz_store *store, const struct store_given_up *what,
                                 const char *scheme)
{
    const struct rz_own_node *own = store->own;
    bool images = own->job.flags & RZ_JOB_REWIND;
    unsigned long long now = (unsigned long long)store->restoring;
    if (what->lost && what->damaged && images) {
        rz_report_log(&own->report, 0,
                      "there are no older images to continue from: the program starts from its "
                      "beginning");
    } else if (what->lost) {
        rz_report_log(&own->report, 0,
                      "checkpoint %llu is lost with the nodes that held it (--checkpoint %s "
                      "tolerates no more losses): the program starts from its beginning",
                      (unsigned long long)store->base, scheme);
    } else if (what->damaged && images) {
        rz_report_log(&own->report, 0, "all ranks continue from their images of generation %llu",
                      now);
    } else if (what->damaged && now > 0) {
        rz_report_log(&own->report, 0,
                      "checkpoint %llu is damaged, and there is no other copy of the damaged "
                      "piece: the job rolls back to checkpoint %llu",
                      now + 1, now);
    }
}

/* One daemon reports for all what was lost: a checkpoint, or the protection of further ones. */
static void say_what_is_left(const struct rz_store *store, const struct store_given_up *what)
{
    const struct rz_own_node *own = store->own;
    const struct rz_recover *recover = store_recover(store);
    char scheme[RZ_SCHEME_TEXT_MAX];
    uint32_t n_live = 0, least = rz_scheme_nodes(&own->job.scheme);
    rz_id first = RZ_ID_NONE;
    for (rz_id node = own->job.n_nodes; node-- > 0;) {
        if (!rz_recover_daemon_agreed_failed(recover, node)) {
            first = node;
            n_live++;
        }
    }
    if (first != own->job.node) {
        return;
    }
    rz_scheme_text(&own->job.scheme, scheme);
    say_what_is_given_up(store, what, scheme);
    if (n_live < least) {
        rz_report_log(&own->report, 0,
                      "--checkpoint %s needs %u nodes, and %u are left: from now on checkpoints "
                      "tolerate the loss of %u of them",
                      scheme, least, n_live,
                      own->job.scheme.parity < n_live ? own->job.scheme.parity : n_live - 1);
    }
}

void store_report_given_up(const struct rz_store *store, const struct store_given_up *what)
{
    bool images = store->own->job.flags & RZ_JOB_REWIND;
    if (what->damaged && (store->restoring > 0 || images)) {
        bool all = rz_recover_from_start(store_recover(store));
        record_given_up(store, all ? store->base : store->base + 1);
    }
    if (store->epoch > 1) {
        say_what_is_left(store, what);
    }
}
