/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How hosts are started in a tree: a list of hosts is cut into groups; the first host of each group
 * starts the others of its group in the same way. So the time of a start grows with the logarithm
 * of the number of hosts.
 */
#ifndef RZ_REMOTE_TREE_H
#define RZ_REMOTE_TREE_H

#include <rhizome/types.h>

/* The number of hosts that one host starts itself. */
#define RZ_TREE_FAN_OUT 16u

/* Group i of n hosts, of which there are as many as fan_out says, or n: its first host and its
 * number of hosts, which is at least 1. Returns the number of groups. */
uint32_t rz_tree_groups(uint32_t n, uint32_t fan_out);
void rz_tree_group(uint32_t n, uint32_t fan_out, uint32_t i, uint32_t *first, uint32_t *count);

/* Fills parent[n]: the host of the list that starts host i, or RZ_ID_NONE: the owner of the
 * list. */
void rz_tree_parents(uint32_t n, uint32_t fan_out, uint32_t *parent);

#endif
