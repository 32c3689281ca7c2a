/* What processes write, on rzrun's own standard output and error. */
#ifndef RZ_LAUNCH_SHOW_OUTPUT_H
#define RZ_LAUNCH_SHOW_OUTPUT_H

#include "wire/launch_messages.h"

struct rz_show_output {
    bool label;        /* each line begins with the rank */
    bool in_a_line[2]; /* of stdout and stderr */
};

/* Writes it all; where nobody reads any more it is lost, and that is no error. Lines of rank
 * RZ_ID_NONE (a daemon's) have no label. */
void rz_show_output(struct rz_show_output *show, const struct rz_launch_output *output);

#endif
