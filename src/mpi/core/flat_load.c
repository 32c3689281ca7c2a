/* Loads the module of the ring among processes where the job has one. */
#include "mpi/core/flat.h"

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
    if (entry == NULL) {
        fprintf(stderr, "rhizome: --detector flat needs " MODULE " beside the library: %s\n", why);
        return RZ_ERR_UNSUPPORTED;
    }
    return RZ_OK;
}

rz_status_t rz_flat_open(const struct rz_link_info *info)
{
    if (info->hb_timeout == 0) {
        return RZ_OK;
    }
    rz_status_t status = entry == NULL ? load() : RZ_OK;
    return status == RZ_OK ? entry->open(&flat_ring, info) : status;
}

void rz_flat_close(void)
{
    if (flat_ring != NULL) {
        entry->close(flat_ring);
        flat_ring = NULL;
    }
}
