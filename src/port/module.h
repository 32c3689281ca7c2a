/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules: parts of the library with dependencies of their own, loaded when they are first
 * needed. */
#ifndef RZ_PORT_MODULE_H
#define RZ_PORT_MODULE_H

#include <stdint.h>

/*
 * Returns what the module `name` exports as `symbol`: a struct that begins with its version
 * (uint32_t), which must be the version given here. The module is loaded from the folder rhizome
 * beside the library that contains this code (lib/libmpi_abi.so), or found relative to a program of
 * the build or installed tree (bin/, tests/), or from the path that the environment's `variable`
 * names. Modules are never unloaded. NULL: *why, valid until the next call.
 */
const void *rz_module_entry(const char *name, const char *variable, const char *symbol,
                            uint32_t version, const char **why);

#endif
