/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures that the program has acknowledged (ACKNOWLEDGED of wire/link_messages.h): each is an
 * event of the job's record, once per process that says so, and does not affect the exit status.
 *
 * A process may acknowledge what its board shows. It may know more: an agreement of ranks tells of
 * failures on other nodes, too. So an acknowledgement of a process that lives, as far as this
 * daemon knows, is kept, and reported when the failure is known. It does not count if the process
 * that has sent it failed before, because it may have sent anything; one that lives could
 * acknowledge the failure then as well.
 */
#ifndef RZ_DAEMON_ACKNOWLEDGEMENTS_H
#define RZ_DAEMON_ACKNOWLEDGEMENTS_H

#include "daemon/process/link_router.h"
#include "daemon/state/board_writer.h"

struct rz_acknowledgements;

rz_status_t rz_acknowledgements_open(struct rz_acknowledgements **acknowledgements,
                                     const struct rz_own_node *own, struct rz_link_router *router,
                                     const struct rz_board_writer *board);
void rz_acknowledgements_close(struct rz_acknowledgements *acknowledgements); /* NULL: nothing */

/* Subscribers of the membership, behind the one that writes the board. */
void rz_acknowledgements_node_failed(void *acknowledgements, rz_id node, bool proof, bool first);
void rz_acknowledgements_process_failed(void *acknowledgements, uint32_t slot, uint32_t incarnation,
                                        enum rz_end end);

#endif
