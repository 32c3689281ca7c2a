/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of daemon_test_helper share. */
#ifndef DAEMON_TEST_HELPER_H
#define DAEMON_TEST_HELPER_H

#include "link/link.h"

extern struct rz_link *helper_link;

/* A turn of waiting: messages, then sleep until rung; ends the process where the node must stop. */
void helper_turn(void);

/* The epoch and phase on the board. */
uint64_t helper_epoch_phase(void);

/* Words of dynamic groups (daemon_test_groups.c); false: it is none of them. */
bool helper_do_group_word(const char *word, const char *argument);

/* Words of files (daemon_test_files.c); the same. */
bool helper_do_file_word(const char *word, const char *argument);

#endif
