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
    if (dladdr((const void *)rz_module_load, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash == NULL ? 1 : (int)(slash - info.dli_fname);
    const char *folder = slash == NULL ? "." : info.dli_fname;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char path[PATH_MAX_BYTES];
        int written = snprintf(path, sizeof path, "%.*s/%s/%s", length, folder, places[i], name);
        if (written < 0 || (size_t)written >= sizeof path)
            continue;
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (module != NULL)
            return module;
    }
    return NULL;
}

void *rz_module_load(const char *name, const char *variable)
{
    const char *named = getenv(variable);
    return named != NULL ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : load_beside(name);
}
