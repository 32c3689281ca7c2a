/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of rank 0, if it runs on this node: one pipe for all its incarnations, so that a
 * new one reads the unread rest, and nothing twice. In a job that rewinds each one has a pipe of
 * its own, and gets all of the input again: from an image it skips what that has read. rzrun sends
 * no more than the credit it was given by STDIN_WANTED.
 */
#ifndef RZ_DAEMON_INPUT_H
#define RZ_DAEMON_INPUT_H

#include "daemon/state/own_node.h"

struct rz_input;

rz_status_t rz_input_open(struct rz_input **input, const struct rz_own_node *own);
void rz_input_close(struct rz_input *input);

/* Returns the descriptor that this process starts with: the pipe for rank 0; for others, and in a
 * detached job, one at end of file; -1: no more pipes. It stays the input's. Grants the first
 * credit. */
int rz_input_fd(struct rz_input *input, uint32_t rank, uint32_t incarnation);

/* Takes data of rzrun for this reader (STDIN_WANTED); end: no more follows. RZ_ERR_MALFORMED: it is
 * more than the credit. */
rz_status_t rz_input_feed(struct rz_input *input, const uint8_t *data, uint32_t bytes, bool end,
                          uint32_t reader);

/* How many bytes rank 0 has read from its pipe. */
uint64_t rz_input_read(const struct rz_input *input);

#endif
