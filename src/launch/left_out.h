/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts without which an attempt begins (--on-failure restart): those that did not answer at
 * its start. Each attempt tries all hosts anew, so that one that has come back is used again.
 */
#ifndef RZ_LAUNCH_LEFT_OUT_H
#define RZ_LAUNCH_LEFT_OUT_H

#include "launch/rzrun_options.h"

struct rz_left_out {
    struct rz_texts hosts;
};

void rz_left_out_add(struct rz_left_out *left_out, const char *host);
void rz_left_out_clear(struct rz_left_out *left_out);

/*
 * Makes the options of an attempt without these hosts, from those of the job: *attempt is a copy
 * with a layout of its own, which rz_layout_clear frees. Ranks are placed anew, also on spare
 * nodes. False: the remaining hosts are too few for the ranks, or for the checkpoint scheme; then
 * there is nothing to free.
 */
bool rz_left_out_settle(const struct rz_left_out *left_out, const struct rz_rzrun_options *job,
                        struct rz_rzrun_options *attempt);

#endif
