/* What UCX must find in the environment. Each line was found by killing processes without it. */
#include "net/ucx/ucx.h"

#include <stdlib.h>
#include <string.h>

const struct rz_ucx_variable rz_ucx_environment[] = {
    /* Shared memory of UCX has one queue with many writers: a killed writer blocks the living. */
    {"UCX_TLS", "tcp,self", false},
    /* UCX must not catch the program's signals, nor print stacks of our processes. */
    {"UCX_ERROR_SIGNALS", "", false},
    {"UCX_HANDLE_ERRORS", "none", false},
    /* Connecting blocks otherwise, and each refused connection leaks a descriptor. */
    {"UCX_TCP_CONN_NB", "y", false},
    /* Kernel memory that a stopped peer can pin, per connection; left alone it grows to megabytes.
     */
    {"UCX_TCP_SNDBUF", "256k", false},
    {"UCX_TCP_RCVBUF", "256k", false},
    /* Deaths are our news to tell. */
    {"UCX_LOG_LEVEL", "fatal", false},
    {"UCX_WARN_UNUSED_ENV_VARS", "n", false},
    /* No hooks in the program's memory allocation, no monitoring thread. */
    {"UCX_MEMTYPE_CACHE", "n", false},
    {"UCX_VFS_ENABLE", "n", false},
    /* Emulated nodes talk over the one device each machine has. */
    {"UCX_NET_DEVICES", "lo", true},
    {NULL, NULL, false},
};

/* Whether a list of transports such as "tcp,self" can lead to shared memory; "all" and "^..." can.
 */
static bool reaches_shared_memory(const char *list)
{
    static const char *const unsafe[] = {"all",  "sm",    "shm", "mm",  "posix",
                                         "sysv", "xpmem", "cma", "knem"};
    if (list == NULL || list[0] == '\0' || list[0] == '^')
        return true;
    while (*list != '\0') {
        if (*list == '\\') /* an alias escaped: the transport itself */
            list++;
        size_t length = strcspn(list, ",");
        for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++)
            if (strlen(unsafe[i]) == length && strncmp(list, unsafe[i], length) == 0)
                return true;
        list += length + (list[length] == ',');
    }
    return false;
}

const char *rz_ucx_environment_problem(void)
{
    const char *signals = getenv("UCX_ERROR_SIGNALS");
    const char *connecting = getenv("UCX_TCP_CONN_NB");
    if (reaches_shared_memory(getenv("UCX_TLS")))
        return "UCX_TLS must name transports, and none over shared memory (tcp,self): a process "
               "killed there blocks the others";
    if (signals == NULL || signals[0] != '\0')
        return "UCX_ERROR_SIGNALS must be set and empty: UCX would catch the program's signals";
    if (connecting == NULL || (strcmp(connecting, "y") != 0 && strcmp(connecting, "yes") != 0 &&
                               strcmp(connecting, "on") != 0 && strcmp(connecting, "1") != 0))
        return "UCX_TCP_CONN_NB must be y: connecting to a dead process would block";
    return NULL;
}
