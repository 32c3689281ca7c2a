/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks at the daemons of other hosts: the contract of the two ends. On each host an agent (ssh)
 * runs `rzps serve`, which stays and asks the daemons of its machine each time it is asked.
 *
 *   a question, a line          {prefix, all}: as the arguments of rz_look; prefix may be null
 *   the answer, a line          RZ_LOOK_MARK, then the array of documents, or {error}
 *
 * Lines without the mark are of a login shell, or say what is wrong.
 */
#ifndef RZ_VIEW_LOOK_SERVE_H
#define RZ_VIEW_LOOK_SERVE_H

#define RZ_LOOK_MARK "rhizome-look "

/* Answers questions from standard input until it ends, or none comes for a long time (the asker's
 * machine may have lost its power); an asker starts it again then. Returns the exit status. */
int rz_look_serve(void);

#endif
