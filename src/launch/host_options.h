/* SPDX-License-Identifier: BSD-3-Clause */
/* The options about how other hosts are reached, which rzrun and rzdoctor have in common, and some
 * of them rztop and rzps: they are taken into struct rz_rzrun_options, which is at the beginning of
 * what the tables fill. Messages are those of the command whose `cli` is given. */
#ifndef RZ_LAUNCH_HOST_OPTIONS_H
#define RZ_LAUNCH_HOST_OPTIONS_H

#include "launch/rzrun_options.h"

extern const struct rz_cli_option rz_host_options[];        /* the heading, --launcher */
extern const struct rz_cli_option rz_host_options_agents[]; /* ssh or another, and the path there */
extern const struct rz_cli_option rz_host_options_network[]; /* interface, ports */

/* In the job of a batch system: chooses its launcher, and its nodes where none are named. Before
 * the nodes are settled. */
void rz_host_options_allocation(struct rz_rzrun_options *options, const struct rz_cli *cli);

/* Takes the range of ports from RZ_PORT_RANGE where no option gives it. */
void rz_host_options_ports(struct rz_rzrun_options *options, const struct rz_cli *cli);

/* Decides which nodes of the layout are on other hosts, and finds the addresses of this machine at
 * which these reach it. */
void rz_host_options_elsewhere(struct rz_rzrun_options *options);

/* The words of the agent, once the launcher is known. */
void rz_host_options_agent(struct rz_rzrun_options *options, const struct rz_cli *cli);

/* The path of a program of Rhizome on other hosts, for '' of a shell: beside the daemon of
 * --prefix, else as here. False: the path here is not known, is too long, or has a quote in it. */
bool rz_host_options_program(const struct rz_rzrun_options *options, const char *program,
                             char *path, size_t bytes);

/* What the user may do where the agent has ended with this status; "": nothing is known. */
const char *rz_host_options_remedy(const struct rz_rzrun_options *options, int status);

#endif
