/* Finds and loads the module, so that nothing else is linked with UCX. */
#include "net/ucx/ucx.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "rhizome-ucx.so"
#define PATH_MAX_BYTES 4096

static void complain(const struct rz_ucx_config *config, const char *text)
{
    if (config->complain != NULL)
        config->complain(config->host.arg, text);
}

/* Beside a library (lib/libmpi_abi.so), or seen from a program of the build or installed tree
 * (bin/, tests/). */
static void *load_beside(void)
{
    static const char *const places[] = {"/rhizome/" MODULE, "/../lib/rhizome/" MODULE};
    Dl_info info;
    if (dladdr((const void *)rz_ucx_environment, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash == NULL ? 1 : (int)(slash - info.dli_fname);
    const char *folder = slash == NULL ? "." : info.dli_fname;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX_BYTES];
        int written = snprintf(path, sizeof path, "%.*s%s", length, folder, places[i]);
        if (written < 0 || (size_t)written >= sizeof path)
            continue;
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (module != NULL)
            return module;
    }
    return NULL;
}

rz_status_t rz_ucx_open(const struct rz_ucx_config *config, struct rz_net **net,
                        const struct rz_net_ops **ops)
{
    /* Never unloaded: UCX keeps state of the process that does not survive it. */
    static const struct rz_net_ucx_entry *entry;
    if (entry == NULL) {
        const char *named = getenv("RZ_UCX_MODULE");
        void *module = named != NULL ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : load_beside();
        if (module == NULL) {
            const char *reason = dlerror();
            complain(config, reason != NULL ? reason : MODULE " was not found");
            return RZ_ERR_UNSUPPORTED;
        }
        const struct rz_net_ucx_entry *found = dlsym(module, "rz_net_ucx_entry");
        if (found == NULL || found->version != RZ_NET_UCX_VERSION) {
            complain(config, MODULE " is of another build");
            dlclose(module);
            return RZ_ERR_UNSUPPORTED;
        }
        entry = found;
    }
    rz_status_t status = entry->open(config, net);
    if (status == RZ_OK)
        *ops = entry->ops;
    return status;
}
