/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes write, on rzrun's own standard output and error.
 *
 * Lines of different processes do not mix: what a process writes is shown up to its last newline,
 * and the rest of the line follows once it is whole, or is RZ_SHOW_LINE_MAX bytes long, or has
 * waited for RZ_SHOW_PATIENCE (a question without a newline must be seen). With labels, and where
 * no terminal gives input, no question is asked: a line then waits for RZ_SHOW_LABEL_PATIENCE. All
 * bytes of one process and stream stay in their order.
 *
 * A rank that is restored from an image (rzrun --rewind) writes again what it had written after it.
 * Each message says at which place its bytes are in all that the rank writes to the stream:
 * enum rz_rewound_output says what is shown of what comes again.
 */
#ifndef RZ_LAUNCH_SHOW_OUTPUT_H
#define RZ_LAUNCH_SHOW_OUTPUT_H

#include "launch/bytes.h"
#include "launch/stream_writer.h"
#include "wire/launch_messages.h"

#include <stdio.h>
#include <sys/types.h>

#define RZ_SHOW_LINE_MAX (1u << 20)
/* Bound of all that waits. Where RZ_REWOUND_HELD waits for more, all of it is shown; what of it is
 * written again after a restoration is then not shown again. */
#define RZ_SHOW_TAILS_MAX (64u << 20)
#define RZ_SHOW_PATIENCE (100 * RZ_MILLISECOND)
#define RZ_SHOW_LABEL_PATIENCE (5 * RZ_SECOND)

enum { RZ_SHOW_STREAMS = 2 }; /* stdout, stderr */

enum rz_rewound_output {
    RZ_REWOUND_DROPPED,  /* as many bytes as were shown are not shown again */
    RZ_REWOUND_REPEATED, /* all is shown */
    RZ_REWOUND_HELD      /* nothing is shown before it is safe (rz_show_output_safe) */
};

/* What is not shown yet: the beginning of an unfinished line; with RZ_REWOUND_HELD all that is not
 * safe, too. */
struct rz_show_tail {
    struct rz_bytes bytes;
    rz_time since;
    uint64_t taken; /* the place behind these bytes, up to which all was given to us: OUTPUT.at */
    uint64_t safe;  /* RZ_REWOUND_HELD: what is before this place may be shown */
    uint64_t began; /* and where the process of this epoch began */
    uint32_t epoch;
};

struct rz_show_stream {
    struct rz_stream_writer *writer;
    struct rz_show_tail *tails; /* [n_tails], by slot + 1; 0: a daemon's own messages */
    size_t n_tails;
    size_t open; /* the writer of the unfinished line at the end of what was shown, or SIZE_MAX */
};

struct rz_show_output {
    bool label; /* each line begins with the rank */
    enum rz_rewound_output rewound;
    bool overrun;     /* RZ_REWOUND_HELD: there was too much to hold */
    rz_time patience; /* for how long the beginning of a line waits for its end */
    struct rz_show_stream streams[RZ_SHOW_STREAMS];
    size_t waiting; /* bytes in all tails */
    pid_t owner;    /* the process that has the writers' threads */
};

/* Needs descriptors 1 and 2. */
rz_status_t rz_show_output_open(struct rz_show_output *show, bool label);

/* Shows it soon; never blocks. Lines of rank RZ_ID_NONE (a daemon) have no label. */
void rz_show_output(struct rz_show_output *show, const struct rz_launch_output *output);

/* RZ_REWOUND_HELD: no rewind repeats what the rank has written before these places of standard
 * output and error. */
void rz_show_output_safe(struct rz_show_output *show, const struct rz_launch_output_safe *safe);

/* RZ_REWOUND_HELD: discards what is not safe: the job begins again. */
void rz_show_output_discard(struct rz_show_output *show);

/* When rz_show_output_late must be called, at the latest; RZ_TIME_NEVER: nothing waits. */
rz_time rz_show_output_due(const struct rz_show_output *show);

/* Shows text that has waited for its newline for too long; now RZ_TIME_NEVER: all of it. */
void rz_show_output_late(struct rz_show_output *show, rz_time now);

/* Unread bytes of the fuller stream. */
size_t rz_show_output_queued(struct rz_show_output *show);

/* Waits until no more than this number of bytes of either stream is unread. */
void rz_show_output_wait(struct rz_show_output *show, size_t most);

/* errno of a stream that cannot be written; 0: both can. The eventfds of the writers are read. */
int rz_show_output_error(struct rz_show_output *show);

/* A stream, such as stdio's, whose text is written to standard error in order with the output of
 * the processes. NULL: no memory. */
FILE *rz_show_output_words(struct rz_show_output *show);

void rz_show_output_close(struct rz_show_output *show);

#endif
