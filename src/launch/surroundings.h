/* What rzrun was started with, where it must change it for itself: the ranks and rzrun's own end
 * find it as it was. */
#ifndef RZ_LAUNCH_SURROUNDINGS_H
#define RZ_LAUNCH_SURROUNDINGS_H

/* At the beginning of the program. Descriptors 0 to 2 that are closed are occupied, so that no
 * other file gets their numbers; reading and writing them fails as before. SIGPIPE and SIGTTIN
 * become errors of the calls. */
void rz_surroundings_settle(void);

/* In a child before exec: signals do what they did when rzrun was started. */
void rz_surroundings_restore(void);

/* rzrun ends because of this signal, also when it was not sent but is what the end means (SIGPIPE:
 * nobody reads its output any more). */
void rz_surroundings_signalled(int number);

/* The exit status of the program; ends it by SIGINT or SIGPIPE where one of them is the cause, so
 * that a shell sees it and ends its loop. */
int rz_surroundings_exit(int status);

#endif
