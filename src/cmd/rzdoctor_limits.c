/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor check: limits of this user and of the control group, and the network of this machine. */
#include "cmd/rzdoctor.h"

#include "net/tcp/tcp.h"
#include "net/ucx/ucx.h"
#include "port/control_group.h"
#include "port/socket.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 10, LIMIT_MS = 1000 * LIMIT_S };

/* ---- descriptors ---- */

/* A daemon raises its limit to the hard one and holds about ten for each process
 * (daemon/daemon.c). */
enum { FILES_MAX = 4096, FILES_OF_DAEMON = 40, FILES_OF_RANK = 10 };

static int try_files(void *arg)
{
    (void)arg;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 1;
    }
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int n = 0;
    while (n < FILES_MAX && dup(STDOUT_FILENO) >= 0) {
        n++;
    }
    printf("%d", n);
    return 0;
}

static void check_files(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    bool tried = rz_doctor_try(try_files, NULL, LIMIT_S, &trial);
    int n = tried ? atoi(trial.text) : 0;
    int ranks = n > FILES_OF_DAEMON ? (n - FILES_OF_DAEMON) / FILES_OF_RANK : 0;
    if (n >= FILES_MAX) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "open files", NULL,
                      "%d descriptors in one process: enough for %d ranks on a node", n, ranks);
    } else {
        rz_doctor_say(report, ranks >= 2 ? RZ_DOCTOR_WARNING : RZ_DOCTOR_FAULT, "open files",
                      "raise the hard limit (ulimit -Hn; nofile in /etc/security/limits.conf)",
                      "%d descriptors in one process: enough for %d ranks on a node", n, ranks);
    }
}

/* ---- processes ---- */

enum { PROCESSES = 64, PROCESSES_LEAST = 16 };

/* The number of children at one time. */
static int try_processes(void *arg)
{
    (void)arg;
    int ends[2], n = 0, error = 0;
    char byte;
    if (pipe(ends) != 0) {
        return 1;
    }
    for (pid_t child = 1; n < PROCESSES && child > 0;) {
        child = fork();
        if (child == 0) {
            close(ends[1]);
            _exit(read(ends[0], &byte, 1) < 0);
        }
        n += child > 0;
        error = child < 0 ? errno : 0;
    }
    close(ends[1]);
    while (wait(NULL) > 0) {
        ;
    }
    printf("%d %s", n, error ? strerror(error) : "");
    return 0;
}

static void check_processes(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    bool tried = rz_doctor_try(try_processes, NULL, LIMIT_S, &trial);
    int n = tried ? atoi(trial.text) : 0;
    const char *reason = strchr(trial.text, ' ');
    if (n >= PROCESSES) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "processes", NULL, "%d more could be started at once",
                      n);
    } else {
        rz_doctor_say(
            report, n >= PROCESSES_LEAST ? RZ_DOCTOR_WARNING : RZ_DOCTOR_FAULT, "processes",
            "raise the limit: ulimit -u for the user, pids.max for the control group",
            "only %d more could be started at once (%s); each rank needs one, and threads", n,
            reason ? reason + 1 : "?");
    }
}

/* ---- memory ---- */

/* The number after a name at the beginning of a line of the file; false: there is none. */
static bool number_of(const char *path, const char *name, unsigned long long *value)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof(line), file)) {
        found = strncmp(line, name, strlen(name)) == 0 &&
                sscanf(line + strlen(name), "%llu", value) == 1;
    }
    if (file) {
        fclose(file);
    }
    return found;
}

static void check_memory(struct rz_doctor_report *report)
{
    enum { LEAST_MIB = 256 };
    unsigned long long free_kib = 0;
    if (!number_of("/proc/meminfo", "MemAvailable:", &free_kib)) {
        return;
    }
    unsigned long long mib = free_kib >> 10;
    uint64_t left = rz_control_group_memory_left(RZ_CONTROL_GROUPS_FILE, RZ_CONTROL_GROUPS_FOLDER);
    bool bound = left >> 20 < mib;
    mib = bound ? left >> 20 : mib;
    rz_doctor_say(report, mib >= LEAST_MIB ? RZ_DOCTOR_OK : RZ_DOCTOR_WARNING, "memory",
                  mib >= LEAST_MIB ? NULL
                                   : "end what is not needed: checkpoints are in memory, twice",
                  "%llu MiB free%s", mib, bound ? " in this control group" : "");
}

void rz_doctor_check_limits(struct rz_doctor_report *report)
{
    rz_doctor_section(report, "Limits");
    check_files(report);
    check_processes(report);
    check_memory(report);
}

/* ---- network ---- */

static int complain_of(const char *what)
{
    fprintf(stderr, "%s: %s", what, strerror(errno));
    return 1;
}

static bool await_ready(int fd, short event)
{
    struct pollfd ready = {.fd = fd, .events = event};
    return poll(&ready, 1, LIMIT_MS) == 1;
}

static int try_stream(struct rz_address address)
{
    int listening, ours, theirs;
    char byte = 0;
    if (rz_socket_listen(&address, &listening) != RZ_OK) {
        return complain_of("listening");
    }
    rz_status_t status = rz_socket_connect(&address, &ours);
    if (status != RZ_OK && status != RZ_IN_PROGRESS) {
        return complain_of("connecting");
    }
    if (!await_ready(listening, POLLIN) || rz_socket_accept(listening, &theirs, NULL) != RZ_OK ||
        !await_ready(ours, POLLOUT) || rz_socket_connected(ours) != RZ_OK) {
        return complain_of("a connection");
    }
    if (write(ours, "x", 1) != 1 || !await_ready(theirs, POLLIN) || read(theirs, &byte, 1) != 1 ||
        byte != 'x') {
        return complain_of("a byte by TCP");
    }
    return 0;
}

static int try_datagram(struct rz_address address)
{
    struct rz_address from;
    int fd;
    size_t n = 0;
    char byte = 0;
    if (rz_socket_datagram(&address, &fd) != RZ_OK) {
        return complain_of("a UDP socket");
    }
    if (rz_socket_send_to(fd, "x", 1, &address) != RZ_OK || !await_ready(fd, POLLIN) ||
        rz_socket_receive_from(fd, &byte, 1, &n, &from) != RZ_OK || n != 1 || byte != 'x') {
        return complain_of("a datagram");
    }
    return 0;
}

static int try_loopback(void *arg)
{
    const struct rz_address *address = arg;
    int bad = try_stream(*address);
    return bad ? bad : try_datagram(*address);
}

#define LOOPBACK_REMEDY "as root: ip link set lo up; look for firewall rules on lo"

static bool say_loopback(struct rz_doctor_report *report, const char *address, const char *note,
                         enum rz_doctor_verdict otherwise)
{
    struct rz_doctor_trial trial;
    struct rz_address at;
    rz_address_parse(address, &at);
    bool good = rz_doctor_try(try_loopback, &at, LIMIT_S, &trial);
    if (good) {
        rz_doctor_say(report, RZ_DOCTOR_OK, address, NULL, "TCP and UDP work%s", note);
    } else {
        rz_doctor_say(report, otherwise, address, LOOPBACK_REMEDY, "%s", trial.text);
    }
    return good;
}

/* The first emulated node has 127.0.1.1 (launch/node.c); where lo has no IPv4, all have ::1.
 * Returns whether *usable is an address that works. */
static bool check_loopback(struct rz_doctor_report *report, struct rz_address *usable)
{
    struct rz_address v6 = {.port = 0};
    struct rz_doctor_trial trial;
    bool other =
        rz_address_parse("::1", &v6) == RZ_OK && rz_doctor_try(try_loopback, &v6, LIMIT_S, &trial);
    enum rz_doctor_verdict verdict = other ? RZ_DOCTOR_WARNING : RZ_DOCTOR_FAULT;
    bool good = say_loopback(report, "127.0.0.1", "", verdict);
    good &= say_loopback(report, "127.0.1.1", "; emulated nodes have such addresses", verdict);
    *usable = good ? (struct rz_address){.ip = RZ_ADDRESS_LOOPBACK} : v6;
    if (!good && other) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "::1", NULL,
                      "TCP and UDP work; emulated nodes use it instead");
    }
    return good || other;
}

static void name_module(const char *file, const char *variable)
{
    char lib[RZ_DOCTOR_PATH], module[RZ_DOCTOR_PATH + 64];
    if (rz_doctor_lib(lib)) {
        snprintf(module, sizeof(module), "%s/rhizome/%s", lib, file);
        setenv(variable, module, 0);
    }
}

/* As the daemon does it for rzrun --net ucx. */
static void set_ucx_environment(void)
{
    for (const struct rz_ucx_variable *v = rz_ucx_environment; v->name; v++) {
        setenv(v->name, v->value, v->problem != NULL);
    }
    name_module("rhizome-ucx.so", "RZ_UCX_MODULE");
}

static void say_why(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "%s\n", text);
}

static void nothing_arrives(void *arg, const void *header, uint32_t header_bytes, const void *data,
                            size_t bytes, rz_net_token_t token)
{
    (void)arg, (void)header, (void)header_bytes, (void)data, (void)bytes, (void)token;
}

static void nothing_breaks(void *arg, rz_peer_t peer)
{
    (void)arg, (void)peer;
}

static int try_ucx(void *arg)
{
    (void)arg;
    struct rz_ucx_config config = {.job = 1,
                                   .host = {.arrived = nothing_arrives, .broken = nothing_breaks},
                                   .complain = say_why};
    struct rz_net *net;
    const struct rz_net_ops *ops;
    set_ucx_environment();
    rz_status_t status = rz_ucx_open(&config, &net, &ops);
    if (status != RZ_OK) {
        return 1;
    }
    void *library = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
    const char *(*version)(void) = NULL;
    if (library) {
        *(void **)&version = dlsym(library, "ucp_get_version_string");
    }
    printf("%s", version ? version() : "(unknown version)");
    return 0;
}

static void check_ucx(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    if (rz_doctor_try(try_ucx, NULL, LIMIT_S, &trial)) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "UCX", NULL, "%s: for rzrun --net ucx", trial.text);
        return;
    }
    trial.text[strcspn(trial.text, "\n")] = '\0';
    rz_doctor_say(report, RZ_DOCTOR_OK, "UCX", NULL,
                  "cannot be used, which matters for rzrun --net ucx alone: %s",
                  trial.text[0] ? trial.text : "it does not come up");
}

static int try_tcp(void *arg)
{
    static const uint8_t key[RZ_TCP_KEY_BYTES];
    const struct rz_address *at = arg;
    struct rz_tcp_config config = {.self = {.job = 1},
                                   .key = key,
                                   .address = *at,
                                   .host = {.arrived = nothing_arrives, .broken = nothing_breaks},
                                   .complain = say_why};
    struct rz_net *net;
    const struct rz_net_ops *ops;
    name_module("rhizome-tcp.so", "RZ_TCP_MODULE");
    return rz_tcp_open(&config, &net, &ops) != RZ_OK;
}

static void check_tcp(struct rz_doctor_report *report)
{
    struct rz_doctor_trial trial;
    struct rz_address at;
    if (!check_loopback(report, &at)) {
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "TCP", LOOPBACK_REMEDY,
                      "cannot carry messages between nodes on this machine (a job on one node "
                      "needs none)");
    } else if (rz_doctor_try(try_tcp, &at, LIMIT_S, &trial)) {
        rz_doctor_say(report, RZ_DOCTOR_OK, "TCP", NULL, "messages between nodes travel over it");
    } else {
        trial.text[strcspn(trial.text, "\n")] = '\0';
        rz_doctor_say(report, RZ_DOCTOR_FAULT, "TCP",
                      "install Rhizome again; install libsodium (Debian: libsodium23)",
                      "cannot carry messages between nodes (a job on one node needs none): %s",
                      trial.text[0] ? trial.text : "it does not come up");
    }
}

void rz_doctor_check_network(struct rz_doctor_report *report)
{
    rz_doctor_section(report, "Network");
    check_tcp(report);
    check_ucx(report);
}
