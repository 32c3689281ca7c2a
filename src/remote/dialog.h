/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dialogs with programs on other hosts: an agent (ssh) starts a program there, which reads one
 * order after the other from standard input, a line each, and answers each by a line of standard
 * output. It ends with its standard input, so that nothing is left there when this process ends,
 * in whatever way. A host that does not answer delays no other. Needs no loop of events.
 */
#ifndef RZ_REMOTE_DIALOG_H
#define RZ_REMOTE_DIALOG_H

#include <rhizome/types.h>

#include <stdbool.h>
#include <stddef.h>

struct rz_dialog {
    /* Set by the owner. heard is called for each line of standard output and standard error that
     * is not empty, also for those of a login shell; it may change the line, and says whether it
     * was the answer. A terminal may show the line. */
    bool (*heard)(void *arg, char *line);
    void *arg;
    size_t line_max; /* bytes; of longer lines the rest is a further line */
    /* Read by the owner. */
    int pid;          /* of the agent; -1: it has ended */
    int status;       /* of its end, as a shell has it */
    bool waits;       /* for the answer to an order, or for the one that it gives at its start */
    rz_time ordered;  /* when the last order was given */
    rz_time answered; /* when the last answer came; 0: none has come */
    /* Private. */
    int in, out, err; /* -1: closed */
    char *lines[2];   /* what was read of a line of out and err */
    size_t lengths[2], capacities[2];
};

/* Raises the bound of open files as far as it goes: each dialog takes three. Before many start. */
void rz_dialogs_prepare(void);

/*
 * Starts the agent with these words (NULL at the end), and waits for the answer that the program
 * gives at its start, if it `greets`. One that cannot be started has ended, with a line that says
 * why.
 */
void rz_dialog_start(struct rz_dialog *dialog, const char *const *words, bool greets);

/* Gives an order, a line without its end. The answer to the one before is not waited for. */
void rz_dialog_order(struct rz_dialog *dialog, const char *order);

/* Waits at most within_ms until one of them says something or `fd` (-1: none) can be read, and
 * reads what they say. Their ends are noticed, too. */
void rz_dialogs_hear(struct rz_dialog *dialogs, size_t n, int fd, int within_ms);

/* Reads until all have answered or ended, or the deadline. */
void rz_dialogs_await(struct rz_dialog *dialogs, size_t n, rz_time deadline);

/* Tells the agent to end (SIGTERM), and waits for no answer of it any more. */
void rz_dialog_stop(struct rz_dialog *dialog);

/* Closes their standard input. Those that wait for an answer are told to end at once (SIGTERM), the
 * others if they do not end soon. All are reaped when this returns, within seconds. */
void rz_dialogs_end(struct rz_dialog *dialogs, size_t n);

#endif
