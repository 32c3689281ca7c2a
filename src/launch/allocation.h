/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes that a batch system has given to the job: from the environment of Slurm, and from the
 * node file of PBS. */
#ifndef RZ_LAUNCH_ALLOCATION_H
#define RZ_LAUNCH_ALLOCATION_H

#include "launch/layout.h"

/* A batch system in whose job rzrun runs. */
enum rz_batch { RZ_BATCH_NONE, RZ_BATCH_SLURM, RZ_BATCH_PBS };

/* By the variables that each sets: SLURM_JOB_ID, PBS_NODEFILE. */
enum rz_batch rz_allocation_batch(void);

/* Appends the nodes with their slots. False: *why, static text. */
bool rz_allocation_add(struct rz_launch_layout *layout, enum rz_batch batch, const char **why);

/*
 * Slurm's short forms: a list of hosts, `n[1-3,07-09],m`, and a number for each host in turn,
 * `4(x2),3`. rz_allocation_list calls `host` with each name until it returns false. False: the text
 * is no such list, or `host` returned false.
 */
bool rz_allocation_list(const char *text, bool (*host)(void *arg, const char *name), void *arg);
bool rz_allocation_numbers(const char *text, uint32_t *numbers, uint32_t n);

#endif
