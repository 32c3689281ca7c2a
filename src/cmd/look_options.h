/* SPDX-License-Identifier: BSD-3-Clause */
/* The options of rztop and rzps about other hosts, and what they say of hosts that do not answer.
 */
#ifndef RZ_CMD_LOOK_OPTIONS_H
#define RZ_CMD_LOOK_OPTIONS_H

#include "cli/cli.h"
#include "launch/rzrun_options.h"
#include "view/look_hosts.h"

enum { RZ_LOOK_PATH = 4096 };

/* At the beginning of what the tables of rztop and rzps fill. */
struct rz_look_options {
    struct rz_rzrun_options run;
    bool all;           /* also jobs of other users */
    const char **names; /* [run.n_remote]: of the hosts that are not this machine */
    json_t *words;      /* about pages that the last look has passed over (view/look.h) */
    char command[RZ_LOOK_PATH + 16];
};

/* Further tables of options: how hosts are named, and reached. */
extern const struct rz_cli_option rz_look_options_hosts[];

/* Starts the agents of the hosts; *hosts is NULL if none was named, or all are this machine. Wrong
 * options end the process. */
void rz_look_options_open(struct rz_look_options *options, const struct rz_cli *cli,
                          struct rz_look_hosts **hosts);
void rz_look_options_close(struct rz_look_options *options, struct rz_look_hosts *hosts);

/* A whole look, at this machine and at the hosts (NULL: none), which are waited for up to
 * --start-timeout. *jobs is an array of documents that the caller releases. RZ_ERR_SYSTEM: the
 * sockets of this machine cannot be listed. */
rz_status_t rz_look_options_look(struct rz_look_options *options, struct rz_look_hosts *hosts,
                                 const char *prefix, json_t **jobs);

/* The end of a look that rz_look_hosts_ask has begun. */
rz_status_t rz_look_options_take(struct rz_look_options *options, struct rz_look_hosts *hosts,
                                 const char *prefix, json_t **jobs);

/* Says for each silent host on standard error what is known, and what may be done; and which pages
 * were passed over. */
void rz_look_options_complain(const struct rz_look_options *options,
                              const struct rz_look_hosts *hosts, const char *speaker);

/* The same in one line of text: "h2 does not answer: WORD"; "": all have answered. If all have, the
 * first word about pages that were passed over. */
void rz_look_options_notice(const struct rz_look_options *options,
                            const struct rz_look_hosts *hosts, char *text, size_t bytes);

#endif
