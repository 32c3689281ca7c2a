/* SPDX-License-Identifier: BSD-3-Clause */
/* MPIX_Reinit's frame. */
#ifndef RZ_ABI_REINIT_H
#define RZ_ABI_REINIT_H

#include <stdbool.h>

/* Whether the calling thread is inside MPIX_Reinit, so that a roll-back may jump to it. */
bool rz_reinit_is_here(void);

/* Whether any thread is. */
bool rz_reinit_is_open(void);

/* Whether the calling thread runs its clean-up handlers: its roll-back has begun. */
bool rz_reinit_cleans_up(void);

#endif
