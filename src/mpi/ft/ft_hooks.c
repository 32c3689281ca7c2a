/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hooks of the layer ft: messages about bootstrap peers, the daemon's answers to spawn
 * requests, and the ends of epochs.
 */
#include "mpi/ft/ft_hooks.h"

#include "mpi/ft/bootstrap.h"
#include "mpi/ft/restart.h"

const struct rz_hooks rz_ft_hooks = {
    .open = rz_ft_open,
    .retire = rz_bootstrap_peers_leave,
    .answers = rz_bootstrap_peers_answer,
    .forget = rz_bootstrap_peers_close,
};
