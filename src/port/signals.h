/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals: their names, ignoring some, and a descriptor from which the others are read. */
#ifndef RZ_PORT_SIGNALS_H
#define RZ_PORT_SIGNALS_H

#include "base/status.h"

#include <signal.h>
#include <stdbool.h>

/* From now on the loss of a reader or of a terminal does not end this process. */
void rz_signals_ignore_losses(void);

/* What rz_signals_take has changed, to restore it. */
struct rz_signals_taken {
    sigset_t taken, before;
    struct sigaction children;
};

/* From now on the signals for the end of children and for requests to end are pending until
 * rz_signals_open. */
void rz_signals_take(struct rz_signals_taken *taken);

/* Restores what rz_signals_take has changed: for a child after fork. */
void rz_signals_give_back(const struct rz_signals_taken *taken);

/* Opens a descriptor that is readable while a signal that was taken is pending. */
rz_status_t rz_signals_open(const struct rz_signals_taken *taken, int *fd);

/* Waits until a signal has been handled. */
void rz_signals_await(void);

/* The number of the next pending signal; 0: none. */
int rz_signals_next(int fd);

#endif
