/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread that reads and writes checkpoint files, so that the loop never waits for a disk.
 * Orders are carried out one after the other, writing pieces last; the loop gets the answers.
 *
 * The thread lives as long as the writer. It knows nothing of epochs, ranks or agreements:
 * store_files.h decides what is written and what it means, and bounds the number of orders that
 * wait.
 */
#ifndef RZ_DAEMON_STORE_WRITER_H
#define RZ_DAEMON_STORE_WRITER_H

#include "ckpt/file.h"

#include <event2/event.h>

enum rz_store_order_kind {
    RZ_STORE_WRITE,  /* a piece */
    RZ_STORE_READ,   /* a piece */
    RZ_STORE_COMMIT, /* the mark of a generation; then what is too old is removed */
    RZ_STORE_REMOVE  /* a generation */
};

struct rz_store_order {
    enum rz_store_order_kind kind;
    struct rz_ckpt_generation generation;
    uint32_t rank; /* WRITE, READ */
    /* WRITE: fd stays the caller's; READ, when done: fd is the caller's. */
    struct rz_ckpt_content content;
    struct rz_ckpt_generation before; /* COMMIT: the generation committed before; run 0: none */
    /* COMMIT: the number of generations to keep; 0: none is removed. */
    uint32_t keep;
    uint64_t tag; /* for the caller */
    /* Valid when the order is done. */
    rz_status_t status, pruned; /* pruned: COMMIT, the status of the removal */
    struct rz_ckpt_words words; /* what was wrong, if the status is not RZ_OK */
};

struct rz_store_writer_config {
    struct event_base *base;
    struct rz_ckpt_folder folder;
    uint32_t node;
    void *arg;
    void (*done)(void *arg, const struct rz_store_order *order); /* called from the loop */
};

struct rz_store_writer;

rz_status_t rz_store_writer_open(struct rz_store_writer **writer,
                                 const struct rz_store_writer_config *config);

/* Ends the thread. A piece whose writing has not finished is not written; other orders are still
 * carried out. A disk that does not answer is waited for briefly; then the thread is left alone,
 * because the process is about to end. */
void rz_store_writer_close(struct rz_store_writer *writer);

/* Gives an order. False: no memory, or no descriptor. */
bool rz_store_writer_order(struct rz_store_writer *writer, const struct rz_store_order *order);

/* Drops the orders that were not begun, and gives up the piece being written. No order given so far
 * is answered. */
void rz_store_writer_drop(struct rz_store_writer *writer);

#endif
