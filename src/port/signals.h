/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals: their names, which are ignored, and a descriptor that they come by. */
#ifndef RZ_PORT_SIGNALS_H
#define RZ_PORT_SIGNALS_H

#include "base/status.h"

#include <signal.h>
#include <stdbool.h>

/* The loss of a reader or of a terminal does not end this process. */
void rz_signals_ignore_losses(void);

/* What rz_signals_take has changed. */
struct rz_signals_taken {
    sigset_t taken, before;
    struct sigaction children;
};

/* From now on the end of children, and requests to end, wait for rz_signals_open. */
void rz_signals_take(struct rz_signals_taken *taken);

/* As it was: for a child after fork. */
void rz_signals_give_back(const struct rz_signals_taken *taken);

/* A descriptor, readable while a signal that was taken waits. */
rz_status_t rz_signals_open(const struct rz_signals_taken *taken, int *fd);

/* The next one that waits; 0: none. */
int rz_signals_next(int fd);

#endif
