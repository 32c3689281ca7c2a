/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, MPI_Comm_connect and MPI_Comm_accept, MPI_Comm_join, without failures; the first argument
 * is the scene.
 */
#include "dyn.h"
#include "scenes.h"

#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int rank, size;
static char program[PATH_MAX];

static MPI_Comm half(int *which)
{
    MPI_Comm part;
    *which = rank >= (size + 1) / 2;
    MPI_Comm_split(MPI_COMM_WORLD, *which, rank, &part);
    return part;
}

/* Rank 0 of a side receives the name of a port and sends it to rank 0 of the other. */
static void meet(MPI_Comm part, int accepts, const char *service, MPI_Comm *inter)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank_here, root;
    MPI_Comm_rank(part, &rank_here);
    MPI_Comm_size(part, &root);
    root = accepts ? root - 1 : 0;
    if (accepts) {
        if (rank_here == root) {
            CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
            CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
        }
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, root, part, inter) == MPI_SUCCESS);
        if (rank_here == root) {
            CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
            CHECK(MPI_Close_port(port) == MPI_SUCCESS);
        }
        return;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (rank_here == root && MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS) {
        usleep(1000); /* a published name connects to no process */
    }
    CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, root, part, inter) == MPI_SUCCESS);
}

static void used(MPI_Comm *inter, int high)
{
    inter_works(*inter);
    merged_works(*inter, high);
    inter_works(*inter);
    CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
}

/* No process returns from MPI_Comm_disconnect before all have entered it. */
static void together(MPI_Comm *inter, int late)
{
    double before, after, last;
    if (late) {
        usleep(20000);
    }
    before = MPI_Wtime();
    CHECK(MPI_Comm_disconnect(inter) == MPI_SUCCESS);
    after = MPI_Wtime();
    MPI_Allreduce(&before, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    CHECK(after >= last); /* one machine, one clock */
}

static void halves(void)
{
    int which;
    MPI_Comm part = half(&which), inter;
    for (int round = 0; round < 3; round++) {
        char service[16];
        snprintf(service, sizeof(service), "halves %d", round);
        meet(part, which == round % 2, service, &inter);
        inter_works(inter);
        merged_works(inter, which);
        together(&inter, which == 1);
    }
    MPI_Comm_free(&part);
}

/* All others connect to one port of rank 0, one after the other. */
static void queue(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 1; i < size; i++) {
        if (rank == 0 || rank == i) {
            int got = -1;
            CHECK((rank == 0 ? MPI_Comm_accept : MPI_Comm_connect)(
                      port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
            CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(rank == 0 ? got > 0 : got == 0);
            CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
        }
    }
    if (rank == 0) {
        MPI_Close_port(port);
    }
}

static int connect_error(const char *port)
{
    MPI_Comm inter = MPI_COMM_SELF;
    int error = class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    CHECK(inter == MPI_COMM_SELF);
    return error;
}

static void closed(void)
{
    char port[MPI_MAX_PORT_NAME] = "", odd[2 * MPI_MAX_PORT_NAME];
    MPI_Comm inter = MPI_COMM_SELF;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(connect_error("") == MPI_ERR_PORT);
    CHECK(connect_error("no port at all") == MPI_ERR_PORT);
    snprintf(odd, sizeof(odd), "%sx", port);
    CHECK(connect_error(odd) == MPI_ERR_PORT);
    snprintf(odd, sizeof(odd), "%s9", port);
    if (rank != 0) { /* of that process, but never opened */
        CHECK(connect_error(odd) == MPI_ERR_PORT);
        CHECK(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) ==
              MPI_ERR_PORT);
        CHECK(inter == MPI_COMM_SELF);
    }
    /* An error of the root is one of all. */
    CHECK(class_of(MPI_Comm_connect(rank == 0 ? "no port" : port, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                    &inter)) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter)) ==
          MPI_ERR_PORT);
    CHECK(connect_error(port) != MPI_SUCCESS || rank != 0); /* of oneself */
}

/* A process that waits at a port without an accept gets an error when it is closed, when its
 * process ends, and after its timeout. */
static void waits(void)
{
    char port[2][MPI_MAX_PORT_NAME] = {"", ""};
    MPI_Comm inter = MPI_COMM_SELF;
    MPI_Info soon;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port[0]);
        MPI_Open_port(MPI_INFO_NULL, port[1]);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Info_create(&soon);
    MPI_Info_set(soon, "timeout", "0.05");
    if (rank != 0) {
        CHECK(class_of(MPI_Comm_connect(port[0], soon, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
        CHECK(inter == MPI_COMM_SELF);
        MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    MPI_Info_free(&soon);
    for (int i = 1, got; rank == 0 && i < size; i++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, i, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    /* What they have left behind is no client; they come again. */
    for (int i = 1; i < (rank == 0 ? size : 2); i++) {
        CHECK((rank == 0 ? MPI_Comm_accept : MPI_Comm_connect)(
                  port[0], MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
        inter_works(inter);
        CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(50000); /* in which some may ask again */
        MPI_Close_port(port[0]);
        return; /* ends with the second one open */
    }
    CHECK(connect_error(port[0]) == MPI_ERR_PORT);
    CHECK(connect_error(port[1]) == MPI_ERR_PORT);
}

/* They wait without end; rzrun reports it, and ends them. */
static void unanswered(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
    CHECK(!"a process came");
}

/* ---- Between the children of two spawns ---- */

static void child(MPI_Comm parent, const char *what)
{
    MPI_Comm inter;
    if (strcmp(what, "opens") == 0) { /* and ends */
        char port[MPI_MAX_PORT_NAME] = "";
        MPI_Open_port(MPI_INFO_NULL, port);
        CHECK(MPI_Publish_name("short-lived", MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Send(port, sizeof(port), MPI_CHAR, 0, 1, parent);
    } else {
        meet(MPI_COMM_WORLD, strcmp(what, "accepts") == 0, "cousins", &inter);
        used(&inter, strcmp(what, "accepts") == 0);
        if (strcmp(what, "accepts") == 0) { /* now the other world, and the parents' */
            meet(MPI_COMM_WORLD, 1, "uncles", &inter);
            used(&inter, 1);
        }
    }
    CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
}

static void cousins(void)
{
    MPI_Comm accepts = spawn(program, "accepts", 2, 0, MPI_COMM_WORLD), inter;
    MPI_Comm connects = spawn(program, "connects", 3, 0, MPI_COMM_WORLD);
    meet(MPI_COMM_WORLD, 0, "uncles", &inter);
    used(&inter, 0);
    CHECK(MPI_Comm_disconnect(&connects) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&accepts) == MPI_SUCCESS);
}

static void ended(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm opens = spawn(program, "opens", 1, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(port, sizeof(port), MPI_CHAR, 0, 1, opens, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Comm_disconnect(&opens);
    CHECK(connect_error(port) == MPI_ERR_PORT); /* while it ends, or afterwards */
    CHECK(connect_error(port) == MPI_ERR_PORT);
    int error;
    while ((error = class_of(MPI_Lookup_name("short-lived", MPI_INFO_NULL, port))) == MPI_SUCCESS) {
        usleep(1000); /* its end connects to no process */
    }
    CHECK(error == MPI_ERR_NAME);
}

/* ---- MPI_Comm_join ---- */

/* A socket to the other of a pair of ranks; -1: there is none. */
static int socket_to(int other)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0), port = 0;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (rank < other) {
        CHECK(bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0);
        CHECK(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
        port = ntohs(address.sin_port);
        MPI_Send(&port, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
        int accepted = accept(fd, NULL, NULL);
        close(fd);
        return accepted;
    }
    MPI_Recv(&port, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    address.sin_port = htons((uint16_t)port);
    CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
    return fd;
}

static void join(void)
{
    MPI_Comm inter = MPI_COMM_SELF;
    int other = rank ^ 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (other < size) {
        int fd = socket_to(other);
        char mine = (char)('a' + rank), theirs = 0;
        for (int round = 0; round < 3; round++) {
            CHECK(MPI_Comm_join(fd, &inter) == MPI_SUCCESS && inter != MPI_COMM_NULL);
            used(&inter, rank < other);
        }
        /* The socket is as it was. */
        CHECK(write(fd, &mine, 1) == 1 && read(fd, &theirs, 1) == 1 && theirs == 'a' + other);
        close(fd);
    }
    inter = MPI_COMM_SELF;
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    close(pair[1]);
    CHECK(class_of(MPI_Comm_join(pair[0], &inter)) == MPI_ERR_PROC_FAILED);
    CHECK(class_of(MPI_Comm_join(pair[1], &inter)) == MPI_ERR_ARG); /* closed here */
    close(pair[0]);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    char nonsense[256] = "GET / HTTP/1.0";
    CHECK(write(pair[1], nonsense, sizeof(nonsense)) == sizeof(nonsense));
    CHECK(class_of(MPI_Comm_join(pair[0], &inter)) == MPI_ERR_OTHER);
    CHECK(inter == MPI_COMM_SELF);
    close(pair[0]), close(pair[1]);
    CHECK(class_of(MPI_Comm_join(-1, &inter)) == MPI_ERR_ARG);
}

static const struct scene scenes[] = {
    {"halves", halves},   {"queue", queue},           {"closed", closed}, {"waits", waits},
    {"cousins", cousins}, {"unanswered", unanswered}, {"ended", ended},   {"join", join}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    if (parents() != MPI_COMM_NULL) {
        child(parents(), argv[1]);
        MPI_Finalize();
        return 0;
    }
    SCENE_PLAY(scenes, argc > 1 ? argv[1] : "halves");
    MPI_Finalize();
    return 0;
}
