/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment that rzrun was started with, as far as it changes it for itself: ranks, and the
 * end of rzrun, get it unchanged. */
#ifndef RZ_LAUNCH_SURROUNDINGS_H
#define RZ_LAUNCH_SURROUNDINGS_H

/* At the beginning of the program. Descriptors 0 to 2 that are closed are occupied, so that no
 * other file gets their numbers; reading and writing them fails as before. SIGPIPE and SIGTTIN
 * become errors of the calls. As many descriptors may be open as the system allows. */
void rz_surroundings_settle(void);

/* In a child before exec: restores the signal dispositions, and the bound of descriptors, that
 * rzrun was started with. */
void rz_surroundings_restore(void);

/* rzrun ends by this signal, also when it was not sent but describes the cause (SIGPIPE: the reader
 * of its output has gone). */
void rz_surroundings_signalled(int number);

/* The exit status of the program; ends it by SIGINT or SIGPIPE where one of them is the cause, so
 * that a shell sees it and ends its loop. */
int rz_surroundings_exit(int status);

#endif
