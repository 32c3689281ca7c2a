/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks at rest:
 *
 *   bench_rest                  all call MPI_Init and do nothing until they are ended
 *   bench_rest SECONDS [RZPS]   one rank of each node observes its daemon, the others wait for it
 *
 * With SECONDS prints for each node `daemon RANK CPU_PERCENT RESIDENT_KIB SHARE_KIB`: the processor
 * time of the daemon as a share of a core, its resident memory, and its share when shared pages are
 * divided among the processes that share them. From rank 0 also `network SECONDS DATAGRAMS SEGMENTS
 * OCTETS`: the traffic sent meanwhile in its network namespace, and with RZPS `formula BYTES`: the
 * heartbeat bytes per second and node that the daemons report.
 */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + (double)t.tv_nsec / 1e9 : 0.0;
}

/* The number after "Name:" in a file of such lines; 0: not there. */
static long kib(pid_t pid, const char *file, const char *name)
{
    char path[64], line[256];
    long value = 0;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    FILE *f = fopen(path, "r");
    while (f && value == 0 && fgets(line, sizeof(line), f)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = atol(line + strlen(name));
        }
    }
    if (f) {
        fclose(f);
    }
    return value;
}

/* /proc/net: a line of names, then a line of values, both with the protocol in front. */
static double counted(const char *file, const char *protocol, const char *name)
{
    char names[4096], values[4096];
    double value = 0.0;
    FILE *f = fopen(file, "r");
    while (f && fgets(names, sizeof(names), f) && fgets(values, sizeof(values), f)) {
        char *next_name = names, *next_value = values, *n, *v;
        if (strncmp(names, protocol, strlen(protocol)) != 0) {
            continue;
        }
        while ((n = strsep(&next_name, " \n")) && (v = strsep(&next_value, " \n"))) {
            if (strcmp(n, name) == 0) {
                value = atof(v);
            }
        }
    }
    if (f) {
        fclose(f);
    }
    return value;
}

struct network {
    double datagrams, segments, octets;
};

static struct network network_now(void)
{
    return (struct network){.datagrams = counted("/proc/self/net/snmp", "Udp:", "OutDatagrams"),
                            .segments = counted("/proc/self/net/snmp", "Tcp:", "OutSegs"),
                            .octets = counted("/proc/self/net/netstat", "IpExt:", "OutOctets")};
}

static void tell_formula(const char *rzps)
{
    static const char name[] = "\"heartbeat_bytes_per_second\"";
    char command[4200], page[65536];
    snprintf(command, sizeof(command), "'%s' --json", rzps);
    FILE *f = popen(command, "r");
    size_t n = f ? fread(page, 1, sizeof(page) - 1, f) : 0;
    page[n] = 0;
    const char *at = strstr(page, name), *colon = at ? strchr(at, ':') : NULL;
    if (colon) {
        printf("formula %.3f\n", strtod(colon + 1, NULL));
    }
    if (f) {
        pclose(f);
    }
}

static void rest(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

/* Less of the network than rank 0 sees: what others send when they begin and end is not idle
 * traffic. */
static void look(int rank, double target_s)
{
    const double margin_s = 0.25;
    pid_t daemon = getppid();
    clockid_t clock;
    if (clock_getcpuclockid(daemon, &clock) != 0) {
        return;
    }
    double start = seconds_of(CLOCK_MONOTONIC), used = seconds_of(clock);
    rest(margin_s);
    struct network before = network_now();
    double listened = seconds_of(CLOCK_MONOTONIC);
    rest(target_s);
    struct network after = network_now();
    listened = seconds_of(CLOCK_MONOTONIC) - listened;
    rest(margin_s);
    used = seconds_of(clock) - used;
    double spent = seconds_of(CLOCK_MONOTONIC) - start;
    printf("daemon %d %.5f %ld %ld\n", rank, 100 * used / spent, kib(daemon, "status", "VmRSS:"),
           kib(daemon, "smaps_rollup", "Pss:"));
    if (rank == 0) {
        printf("network %.6f %.0f %.0f %.0f\n", listened, after.datagrams - before.datagrams,
               after.segments - before.segments, after.octets - before.octets);
    }
}

int main(int argc, char **argv)
{
    int rank, first;
    MPI_Comm node;
    MPI_Init(&argc, &argv);
    while (argc < 2) {
        pause();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &first);
    if (rank == 0 && argc > 2) {
        tell_formula(argv[2]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sleep(1); /* until the activity of the start is over */
    if (first == 0) {
        look(rank, atof(argv[1]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    MPI_Finalize();
    return 0;
}
