/* Loads the module of the ring among processes where the job has one. */
#include "mpi/core/flat.h"

#include "mpi/flat/flat_state.h"
#include "port/module.h"

#include <dlfcn.h>
#include <stdio.h>

#define MODULE "rhizome-flat.so"

static const struct rz_flat_entry *entry;
static struct rz_flat *flat_ring;

static rz_status_t load(void)
{
    void *module = rz_module_load(MODULE, "RZ_FLAT_MODULE");
    const struct rz_flat_entry *found = module != NULL ? dlsym(module, "rz_flat_entry") : NULL;
    if (found == NULL || found->version != RZ_FLAT_MODULE_VERSION) {
        const char *reason = dlerror();
        fprintf(stderr, "rhizome: --detector flat needs " MODULE " beside the library: %s\n",
                reason != NULL ? reason : "it is of another build");
        return RZ_ERR_UNSUPPORTED;
    }
    entry = found;
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
