/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiver of setup messages for connect and accept.
 */
#ifndef RZ_MPI_CONNECT_H
#define RZ_MPI_CONNECT_H

#include <stdbool.h>

struct rz_setup_message;

/* A setup message has arrived. True: it was answered at once, and no call will take it; the caller
 * keeps it. Not called from inside a callback of a transport. */
bool rz_connect_answers(const struct rz_setup_message *message);

/* Closes all ports of this process and refuses the processes that wait at them: at the beginning of
 * finalize, while setup messages can still be sent. */
void rz_connect_ports_close(void);

#endif
