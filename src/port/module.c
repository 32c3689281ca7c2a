/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds a module's file beside this library, or at the path that a variable names, loads it, and
 * checks its version. */
#include "port/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_MAX_BYTES 4096

static void *load_beside(const char *name)
{
    static const char *const places[] = {"rhizome", "../lib/rhizome"};
    Dl_info info;
    if (dladdr((const void *)rz_module_entry, &info) == 0 || !info.dli_fname) {
        return NULL;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    int length = !slash ? 1 : (int)(slash - info.dli_fname);
    const char *folder = !slash ? "." : info.dli_fname;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX_BYTES];
        int written = snprintf(path, sizeof(path), "%.*s/%s/%s", length, folder, places[i], name);
        if (written < 0 || (size_t)written >= sizeof(path)) {
            continue;
        }
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (module) {
            return module;
        }
    }
    return NULL;
}

const void *rz_module_entry(const char *name, const char *variable, const char *symbol,
                            uint32_t version, const char **why)
{
    static char text[256];
    const char *named =
        secure_getenv(variable); /* not where the program has more rights than its user */
    void *module = named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : load_beside(name);
    if (!module) {
        const char *reason = dlerror();
        snprintf(text, sizeof(text), "%s was not found", name);
        *why = reason ? reason : text;
        return NULL;
    }
    const uint32_t *entry = dlsym(module, symbol);
    if (entry && *entry == version) {
        return entry;
    }
    snprintf(text, sizeof(text), "%s is of another build", name);
    *why = text;
    return NULL;
}
