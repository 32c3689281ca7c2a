/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the module of the ring among processes in jobs that use it.
 */
#include "mpi/flat/flat.h"

#include "mpi/impl.h"
#include "mpi/engine/engine.h"
#include "mpi/flat/flat_state.h"
#include "port/module.h"

#include <stdio.h>

#define MODULE "rhizome-flat.so"

static const struct rz_flat_entry *entry;
static struct rz_flat *flat_ring;

static rz_status_t load(void)
{
    const char *why;
    entry =
        rz_module_entry(MODULE, "RZ_FLAT_MODULE", "rz_flat_entry", RZ_FLAT_MODULE_VERSION, &why);
    if (!entry) {
        fprintf(stderr, "rhizome: --detector flat needs " MODULE " beside the library: %s\n", why);
        return RZ_ERR_UNSUPPORTED;
    }
    return RZ_OK;
}

static int open_flat(void)
{
    if (rz_engine.info->hb_timeout == 0) {
        return MPI_SUCCESS;
    }
    rz_status_t status = !entry ? load() : RZ_OK;
    status = status == RZ_OK ? entry->open(&flat_ring, rz_engine.info) : status;
    return status == RZ_OK ? MPI_SUCCESS
                           : rzm_error(MPI_ERR_OTHER, "the ring of processes cannot be joined: %s",
                                       rz_status_text(status));
}

static void close_flat(void)
{
    if (flat_ring) {
        entry->close(flat_ring);
        flat_ring = NULL;
    }
}

const struct rz_hooks rz_flat_hooks = {.open = open_flat, .close = close_flat};
