/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread that reads and writes checkpoint files, so that the loop never waits for a disk.
 * Orders are carried out one after the other, pieces to write last; answers come from the loop.
 *
 * The thread lives as long as the writer. It knows nothing of epochs, ranks or agreements: what is
 * to be written, and what it means, is store_files.h's. How many orders can wait is bounded by who
 * gives them.
 */
#ifndef RZ_DAEMON_STORE_WRITER_H
#define RZ_DAEMON_STORE_WRITER_H

#include "ckpt/file.h"

#include <event2/event.h>

enum rz_store_order_kind {
    RZ_STORE_WRITE,  /* a piece */
    RZ_STORE_READ,   /* a piece */
    RZ_STORE_COMMIT, /* the mark of a generation; then what is too old goes */
    RZ_STORE_REMOVE  /* a generation */
};

struct rz_store_order {
    enum rz_store_order_kind kind;
    struct rz_ckpt_generation generation;
    uint32_t rank;                    /* WRITE, READ */
    struct rz_ckpt_content content;   /* WRITE: fd stays the caller's; READ, done: the caller's */
    struct rz_ckpt_generation before; /* COMMIT: the one committed before; run 0: none */
    uint32_t keep;                    /* COMMIT: generations in all; 0: none is removed */
    uint64_t tag;                     /* for who gave the order */
    /* When it is done. */
    rz_status_t status, pruned; /* pruned: COMMIT, of what was too old */
    struct rz_ckpt_words words; /* not OK: what was wrong */
};

struct rz_store_writer_config {
    struct event_base *base;
    struct rz_ckpt_folder folder;
    uint32_t node;
    void *arg;
    void (*done)(void *arg, const struct rz_store_order *order); /* from the loop */
};

struct rz_store_writer;

rz_status_t rz_store_writer_open(struct rz_store_writer **writer,
                                 const struct rz_store_writer_config *config);

/* Ends the thread. Pieces whose writing was not finished are not written; other orders are still
 * carried out. A disk that does not answer is waited for a little, and then left alone: the process
 * is about to end. */
void rz_store_writer_close(struct rz_store_writer *writer);

/* False: no memory, or no descriptor. */
bool rz_store_writer_order(struct rz_store_writer *writer, const struct rz_store_order *order);

/* Drops what was not begun, and has the piece being written given up. No answer comes to any order
 * given so far. */
void rz_store_writer_drop(struct rz_store_writer *writer);

#endif
