/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that come later: spawning them, meeting them at a port or over a socket, and what
 * parents do with the children they have. The children run kill_matrix_child and fail of nothing;
 * that all of them end is seen by the end of the job, and by their alarm.
 */
#include "kill_matrix.h"

#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHILDREN_MAX = 3 };

static void be_told(MPI_Comm comm)
{
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

static int is_allowed(int class)
{
    return class == MPI_SUCCESS || class == MPI_ERR_PROC_FAILED || class == MPI_ERR_REVOKED;
}

/* An inter-communicator that a call returned is tested and ended; if none was returned the handle
 * is null. */
static int used(int error, MPI_Comm *inter)
{
    CHECK((error == MPI_SUCCESS) == (*inter != MPI_COMM_NULL));
    if (error == MPI_SUCCESS) {
        make_uniform(*inter); /* as the other side does */
        int class = class_of(MPI_Barrier(*inter));
        CHECK(is_allowed(class));
        if (class != MPI_SUCCESS) {
            MPIX_Comm_revoke(*inter);
        }
        CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
    }
    return error;
}

/* ---- What parents and children do together ---- */

static int together_barrier(MPI_Comm *inter, int high)
{
    (void)high;
    return MPI_Barrier(*inter);
}

static int together_allreduce(MPI_Comm *inter, int high)
{
    int one = 1, sum = 0, remote;
    MPI_Comm_remote_size(*inter, &remote);
    int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *inter);
    CHECK(error != MPI_SUCCESS || sum == remote || high < 0);
    return error;
}

static int together_merge(MPI_Comm *inter, int high)
{
    MPI_Comm merged = MPI_COMM_NULL;
    int error = MPI_Intercomm_merge(*inter, high, &merged);
    if (error == MPI_SUCCESS) {
        int class = class_of(MPI_Barrier(merged));
        CHECK(is_allowed(class));
        if (class != MPI_SUCCESS) {
            MPIX_Comm_revoke(merged);
        }
        CHECK(MPI_Comm_disconnect(&merged) == MPI_SUCCESS);
    }
    return error;
}

static int together_agree(MPI_Comm *inter, int high)
{
    int flag = 1;
    (void)high;
    int error = MPIX_Comm_agree(*inter, &flag);
    CHECK(flag == 1);
    return error;
}

/* The result has all that live of both sides. */
static int together_shrink(MPI_Comm *inter, int high)
{
    MPI_Comm less = MPI_COMM_NULL;
    int error = MPIX_Comm_shrink(*inter, &less), inter_too = 0;
    CHECK(error == MPI_SUCCESS && high >= 0);
    MPI_Comm_test_inter(less, &inter_too);
    CHECK(inter_too);
    CHECK(is_allowed(class_of(MPI_Barrier(less))));
    CHECK(MPI_Comm_disconnect(&less) == MPI_SUCCESS);
    return error;
}

static int together_disconnect(MPI_Comm *inter, int high)
{
    (void)high;
    return MPI_Comm_disconnect(inter);
}

static const struct {
    const char *name;
    int (*run)(MPI_Comm *inter, int high);
} togethers[] = {{"barrier", together_barrier}, {"allreduce", together_allreduce},
                 {"merge", together_merge},     {"agree", together_agree},
                 {"shrink", together_shrink},   {"disconnect", together_disconnect}};

static int together(const char *name, MPI_Comm *inter, int high)
{
    size_t i = 0;
    while (strcmp(togethers[i].name, name) != 0) {
        i++;
    }
    return togethers[i].run(inter, high);
}

int kill_matrix_child(const char *what)
{
    MPI_Comm parent, again;
    if (strcmp(what, "vanish") == 0) {
        raise(SIGKILL);
    }
    MPI_Init(NULL, NULL);
    be_told(MPI_COMM_WORLD);
    be_told(MPI_COMM_SELF);
    CHECK(MPI_Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL);
    CHECK(MPI_Comm_get_parent(&again) == MPI_SUCCESS && again == parent);
    be_told(parent);
    make_uniform(parent);
    int class = class_of(together(what, &parent, 1));
    CHECK(is_allowed(class));
    if (parent != MPI_COMM_NULL) {
        if (class != MPI_SUCCESS) {
            MPIX_Comm_revoke(parent);
        }
        CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}

/* ---- Spawning ---- */

static char program[PATH_MAX];

static char *this_program(void)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    CHECK(length > 0);
    program[length] = '\0';
    return program;
}

static int start(const char *what, MPI_Comm *inter)
{
    char child[] = "child", copy[16], *argv[] = {child, copy, NULL};
    int n = 1 + (int)(scene.how >> 5) % CHILDREN_MAX, codes[CHILDREN_MAX], remote = n;
    snprintf(copy, sizeof(copy), "%s", what);
    *inter = MPI_COMM_NULL;
    int error = MPI_Comm_spawn(this_program(), argv, n, MPI_INFO_NULL, scene.root, scene.comm,
                               inter, codes);
    if (error == MPI_SUCCESS) {
        MPI_Comm_remote_size(*inter, &remote);
        for (int i = 0; i < n; i++) {
            CHECK(codes[i] == MPI_SUCCESS);
        }
    }
    CHECK(remote == n);
    return error;
}

static int spawn(void)
{
    MPI_Comm inter;
    int error = start("barrier", &inter);
    return used(error, &inter);
}

static int spawn_multiple(void)
{
    char child[] = "child", what[] = "barrier", *argv[] = {child, what, NULL};
    char **argvs[] = {argv, argv}, *commands[] = {this_program(), program};
    int n[] = {1, 1 + (int)(scene.how >> 5) % 2}, codes[CHILDREN_MAX];
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter = MPI_COMM_NULL;
    int error = MPI_Comm_spawn_multiple(2, commands, argvs, n, infos, scene.root, scene.comm,
                                        &inter, codes);
    return used(error, &inter);
}

/* The children fail, too, before MPI_Init: the spawn fails whichever other processes live. */
static int spawn_in_vain(void)
{
    MPI_Comm inter;
    int error = start("vanish", &inter);
    CHECK(error != MPI_SUCCESS && inter == MPI_COMM_NULL);
    return class_of(error) == MPI_ERR_SPAWN ? MPI_SUCCESS : error;
}

/* ---- What parents do with the children they have ---- */

#define WITH_CHILDREN(what)                                                                        \
    static void make_children_##what(void)                                                         \
    {                                                                                              \
        CHECK(start(#what, &scene.other) == MPI_SUCCESS);                                          \
    }                                                                                              \
    static int children_##what(void)                                                               \
    {                                                                                              \
        return together_##what(&scene.other, 0);                                                   \
    }
WITH_CHILDREN(barrier)
WITH_CHILDREN(allreduce)
WITH_CHILDREN(merge)
WITH_CHILDREN(agree)
WITH_CHILDREN(shrink)
WITH_CHILDREN(disconnect)

/* ---- Ports ---- */

static char port[MPI_MAX_PORT_NAME];

/* Rank 0 opens one, and all know it. */
static void open_port(void)
{
    if (scene.rank == 0) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    }
    CHECK(MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, scene.comm) == MPI_SUCCESS);
}

static void close_port(void)
{
    if (scene.rank == 0) {
        CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    }
}

static void make_halves_and_port(void)
{
    open_port();
    CHECK(MPI_Comm_split(scene.comm, scene.rank >= scene.size / 2, scene.rank, &scene.other) ==
          MPI_SUCCESS);
}

static int connects_once(MPI_Comm *inter)
{
    int size;
    MPI_Comm_size(scene.other, &size);
    return MPI_Comm_connect(port, MPI_INFO_NULL, scene.root % size, scene.other, inter);
}

/*
 * An accept waits for a connection if no member of its group has failed. So the survivors of the
 * other half try again; then they are accepted, or the port is closed, or its process failed. It
 * may be closed at once: a member of the accepting group has failed.
 */
static int connects(MPI_Comm *inter)
{
    int error = connects_once(inter), flag = error == MPI_SUCCESS;
    if (MPIX_Comm_agree(scene.other, &flag) == MPI_SUCCESS && flag) {
        return error;
    }
    MPI_Comm less;
    if (error == MPI_SUCCESS) {
        MPIX_Comm_revoke(*inter);
        CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
    }
    CHECK(MPIX_Comm_shrink(scene.other, &less) == MPI_SUCCESS);
    MPI_Comm_free(&scene.other);
    scene.other = less;
    int again = class_of(connects_once(inter));
    CHECK(is_allowed(again) || again == MPI_ERR_PORT);
    used(again, inter);
    return class_of(error) == MPI_ERR_REVOKED ? error : MPI_ERR_PROC_FAILED;
}

static int halves_meet(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    bool accepts = scene.rank < scene.size / 2;
    int error =
        accepts ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, scene.other, &inter) : connects(&inter);
    close_port();
    if (error == MPI_SUCCESS || accepts) {
        used(error, &inter);
    }
    return error;
}

/* No connection arrives. It ends because a process failed, or because one that does not wait
 * revokes it. */
static int accept_without_connect(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    if (scene.rank == scene.size - 1) {
        return MPIX_Comm_revoke(scene.comm);
    }
    int error = MPI_Comm_accept(port, MPI_INFO_NULL, 0, scene.comm, &inter);
    CHECK(error != MPI_SUCCESS && inter == MPI_COMM_NULL);
    close_port();
    return error;
}

static void make_all_but_0_and_port(void)
{
    open_port();
    CHECK(MPI_Comm_split(scene.comm, scene.rank == 0 ? MPI_UNDEFINED : 0, scene.rank,
                         &scene.other) == MPI_SUCCESS);
}

/* No accept; it ends because a process failed, or the port is closed. */
static int connect_without_accept(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    if (scene.rank == 0) {
        return MPI_Close_port(port);
    }
    int error =
        MPI_Comm_connect(port, MPI_INFO_NULL, scene.root % (scene.size - 1), scene.other, &inter);
    CHECK(error != MPI_SUCCESS && inter == MPI_COMM_NULL);
    return class_of(error) == MPI_ERR_PORT ? MPI_SUCCESS : error;
}

/* ---- Sockets ---- */

static int to_peer = -1;

/* Between each pair. */
static void make_sockets(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int other = peer(), fd, number;
    if (other == MPI_PROC_NULL) {
        return;
    }
    fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (scene.rank < other) {
        CHECK(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0);
        CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
        number = ntohs(address.sin_port);
        CHECK(MPI_Send(&number, 1, MPI_INT, other, 3, scene.comm) == MPI_SUCCESS);
        to_peer = accept(fd, NULL, NULL);
        close(fd);
    } else {
        CHECK(MPI_Recv(&number, 1, MPI_INT, other, 3, scene.comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        address.sin_port = htons((uint16_t)number);
        CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
        to_peer = fd;
    }
    CHECK(to_peer >= 0);
}

static int join(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    if (peer() == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    int error = used(MPI_Comm_join(to_peer, &inter), &inter);
    close(to_peer);
    to_peer = -1;
    return error;
}

/* ---- Names ---- */

static void name_of(int rank, char *name)
{
    snprintf(name, MPI_MAX_PORT_NAME, "%d of %d", rank, scene.size); /* once in each job */
}

static int found(int rank)
{
    char name[MPI_MAX_PORT_NAME], text[MPI_MAX_PORT_NAME];
    name_of(rank, name);
    int class = class_of(MPI_Lookup_name(name, MPI_INFO_NULL, text));
    CHECK(class == MPI_ERR_NAME || (class == MPI_SUCCESS && strcmp(name, text) == 0));
    return class == MPI_SUCCESS;
}

static void publish(void)
{
    char name[MPI_MAX_PORT_NAME];
    name_of(scene.rank, name);
    CHECK(MPI_Publish_name(name, MPI_INFO_NULL, name) == MPI_SUCCESS);
}

static void publish_victims(void)
{
    if (scene.rank == scene.victim) {
        publish();
    }
}

/* The victim's name is removed with it; those of the survivors stay until they unpublish them. */
static int names(void)
{
    char name[MPI_MAX_PORT_NAME];
    name_of(scene.rank, name);
    if (scene.rank == scene.victim) {
        for (int i = 0; i < 3; i++) {
            CHECK(found(scene.rank));
        }
        return MPI_Unpublish_name(name, MPI_INFO_NULL, name);
    }
    publish();
    while (found(scene.victim)) {
    }
    CHECK(found(scene.rank));
    CHECK(MPI_Unpublish_name(name, MPI_INFO_NULL, name) == MPI_SUCCESS);
    CHECK(!found(scene.rank));
    return MPI_SUCCESS;
}

const struct kill_row kill_dyn_rows[] = {
    {"comm_spawn", spawn, NULL, ROW_FAILS | ROW_SPAWNS},
    {"comm_spawn_multiple", spawn_multiple, NULL, ROW_FAILS | ROW_SPAWNS},
    {"comm_spawn_in_vain", spawn_in_vain, NULL, ROW_FAILS | ROW_SPAWNS},
    {"parent_barrier", children_barrier, make_children_barrier, ROW_FAILS},
    {"parent_allreduce", children_allreduce, make_children_allreduce, ROW_FAILS},
    {"parent_merge", children_merge, make_children_merge, ROW_FAILS},
    {"parent_agree", children_agree, make_children_agree, ROW_FAILS | ROW_REPAIR | ROW_UNIFORM},
    {"parent_shrink", children_shrink, make_children_shrink, ROW_REPAIR | ROW_UNIFORM},
    {"parent_disconnect", children_disconnect, make_children_disconnect, ROW_FAILS},
    {"comm_accept_connect", halves_meet, make_halves_and_port, ROW_FAILS | ROW_MEETS},
    {"comm_accept_without_connect", accept_without_connect, open_port, ROW_FAILS},
    {"comm_connect_without_accept", connect_without_accept, make_all_but_0_and_port,
     ROW_FAILS | ROW_MEETS},
    {"comm_join", join, make_sockets, ROW_PEER | ROW_JOINS},
    {"names", names, publish_victims, 0},
    {NULL, NULL, NULL, 0},
};
