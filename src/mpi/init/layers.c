/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of the layers' hooks (engine/hooks.h).
 */
#include "mpi/init/layers.h"

#include "mpi/agree/agree_hooks.h"
#include "mpi/coll/algorithm.h"
#include "mpi/coll/cells.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/places.h"
#include "mpi/create/create_hooks.h"
#include "mpi/engine/transport.h"
#include "mpi/flat/flat.h"
#include "mpi/ft/ft_hooks.h"
#include "mpi/init/session_object.h"
#include "mpi/io/file_object.h"
#include "mpi/io/file_request.h"
#include "mpi/monitor/monitors.h"
#include "mpi/p2p/p2p_hooks.h"
#include "mpi/request/request.h"
#include "mpi/rewind/rewind_snapshot.h"
#include "mpi/rma/rma_hooks.h"

/*
 * The order in which the layers are told of an event. When a process fails, communicators are
 * marked and agreements are told before pending messages end, since these end by the result. When
 * an epoch ends, monitors end before the communicators of their rounds, and requests before the
 * communicators that they refer to.
 */
static const struct rz_hooks *const layers[] = {
    &rz_transport_hooks,
#if RZ_GROUP
    &rz_monitor_hooks,
#endif
    &rz_request_hooks,   &rz_file_request_hooks, &rz_file_hooks,  &rz_rma_hooks,
    &rz_comm_hooks,      &rz_places_hooks,       &rz_agree_hooks, &rz_coll_hooks,
    &rz_cells_hooks,     &rz_create_hooks,       &rz_p2p_hooks,   &rz_ft_hooks,
    &rz_flat_hooks,      &rz_session_hooks,      &rz_snapshot_hooks,
};

void rz_layers_register(void)
{
    rz_hooks_set(layers, sizeof(layers) / sizeof(layers[0]));
}
