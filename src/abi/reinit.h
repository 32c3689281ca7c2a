/* MPIX_Reinit's frame. */
#ifndef RZ_ABI_REINIT_H
#define RZ_ABI_REINIT_H

#include <stdbool.h>

/* Whether the calling thread is inside MPIX_Reinit, so that a roll-back may jump to it. */
bool rz_reinit_is_here(void);

#endif
