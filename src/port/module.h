/* Modules: parts of the library with needs of their own, loaded when they are first wanted. */
#ifndef RZ_PORT_MODULE_H
#define RZ_PORT_MODULE_H

/*
 * Loads the module `name` from the folder rhizome beside the library that contains this code
 * (lib/libmpi_abi.so), or seen from a program of the build or installed tree (bin/, tests/); or
 * from the path that the environment's `variable` names. For ever: modules are not unloaded. NULL:
 * why is told by dlerror, which may be NULL where there was no such file.
 */
void *rz_module_load(const char *name, const char *variable);

#endif
