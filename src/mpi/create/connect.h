/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of connect and accept that hears from others. */
#ifndef RZ_MPI_CONNECT_H
#define RZ_MPI_CONNECT_H

#include <stdbool.h>

struct rz_setup_message;

/* A setup message has come. True: it was answered at once, and nobody will take it; it stays the
 * caller's. Not from inside a callback of a transport. */
bool rz_connect_answers(const struct rz_setup_message *message);

/* All ports of this process are closed, and processes that wait before them are turned away: at the
 * beginning of finalize, while setup messages can still be sent. */
void rz_connect_ports_close(void);

#endif
