/* SPDX-License-Identifier: BSD-3-Clause */
/* The layout of an attempt without some hosts. */
#include "launch/left_out.h"

#include "base/no_memory.h"

#include <stdlib.h>
#include <string.h>

static bool has(const struct rz_left_out *left_out, const char *host)
{
    uint32_t i = 0;
    while (i < left_out->hosts.n && strcmp(left_out->hosts.texts[i], host) != 0) {
        i++;
    }
    return i < left_out->hosts.n;
}

void rz_left_out_add(struct rz_left_out *left_out, const char *host)
{
    if (!has(left_out, host)) {
        rz_texts_add(&left_out->hosts, host);
    }
}

void rz_left_out_clear(struct rz_left_out *left_out)
{
    rz_texts_clear(&left_out->hosts);
}

bool rz_left_out_settle(const struct rz_left_out *left_out, const struct rz_rzrun_options *job,
                        struct rz_rzrun_options *attempt)
{
    struct rz_launch_layout layout = {0};
    *attempt = *job;
    attempt->n_remote = 0;
    layout.nodes = calloc(job->layout.n_nodes, sizeof(*layout.nodes));
    rz_need_memory(layout.nodes, "for the list of nodes");
    for (uint32_t i = 0; i < job->layout.n_nodes; i++) {
        const struct rz_layout_node *node = &job->layout.nodes[i];
        if (node->remote && has(left_out, node->host)) {
            continue;
        }
        layout.nodes[layout.n_nodes] = *node;
        layout.nodes[layout.n_nodes++].place.spare = false;
        attempt->n_remote += node->remote;
    }
    bool enough = layout.n_nodes > 0 && layout.n_nodes >= rz_scheme_nodes(&job->scheme) &&
                  (!job->slots_limit || rz_layout_slots(&layout) >= job->n_ranks);
    if (enough) {
        rz_layout_place(&layout, job->n_ranks, job->map_by);
        attempt->layout = layout;
    } else {
        rz_layout_clear(&layout);
    }
    return enough;
}
