/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thread that writes to one descriptor, so that a reader that is slow, or that does not read at
 * all, never holds the event loop. The descriptor keeps its flags, which it may share with others.
 */
#ifndef RZ_LAUNCH_STREAM_WRITER_H
#define RZ_LAUNCH_STREAM_WRITER_H

#include "base/status.h"

#include <rhizome/types.h>

struct rz_stream_writer;

/* The caller owns fd and keeps it open until the process ends. The thread starts with the first
 * byte. RZ_ERR_NO_MEMORY, RZ_ERR_SYSTEM. */
rz_status_t rz_stream_writer_open(struct rz_stream_writer **writer, int fd);

/* Queues n bytes; never blocks, unless no thread can be started (a limit on processes): then it
 * writes them itself. After an error they are dropped. */
void rz_stream_writer_put(struct rz_stream_writer *writer, const void *bytes, size_t n);

/* Bytes that are not written yet. */
size_t rz_stream_writer_queued(struct rz_stream_writer *writer);

/* errno of the first write that failed; 0: none has. What was queued then is lost. */
int rz_stream_writer_error(struct rz_stream_writer *writer);

/* Readable (an eventfd, which the caller reads) after bytes were written, and after an error. */
int rz_stream_writer_event_fd(const struct rz_stream_writer *writer);

/* Waits until no more than `most` bytes are queued. */
void rz_stream_writer_wait(struct rz_stream_writer *writer, size_t most);

/* Frees it. If the thread is still inside a write, which may never end, both stay until the process
 * ends. */
void rz_stream_writer_close(struct rz_stream_writer *writer);

#endif
