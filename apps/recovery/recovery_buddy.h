/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints in the memory of the processes, for the ULFM way: each keeps its own and that of a
 * buddy on another node, in two versions, the newest that is complete at all and the next one. In a
 * new world the copy of each process is sent to its current buddy.
 */
#ifndef RECOVERY_BUDDY_H
#define RECOVERY_BUDDY_H

#include "recovery_ulfm.h"

extern const struct recovery_store recovery_buddy;

#endif
