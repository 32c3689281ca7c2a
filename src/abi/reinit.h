/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of MPIX_Reinit.
 */
#ifndef RZ_ABI_REINIT_H
#define RZ_ABI_REINIT_H

#include <stdbool.h>

/* Whether the calling thread is inside MPIX_Reinit, so that a roll-back may jump to it. */
bool rz_reinit_is_here(void);

/* Whether any thread is inside MPIX_Reinit. */
bool rz_reinit_is_open(void);

/* Whether the calling thread runs its clean-up handlers, so that its roll-back has begun. */
bool rz_reinit_cleans_up(void);

#endif
