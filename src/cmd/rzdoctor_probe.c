/* SPDX-License-Identifier: BSD-3-Clause */
/* rzdoctor check, its last part: two ranks that send each other messages, on one node and on
 * two. */
#include "cmd/rzdoctor.h"

#include "port/clock.h"

#include <mpi.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the program ---- */

enum { BYTES = 1 << 20, JOB_S = 30, TRIAL_S = JOB_S + 10 };

/* The library is loaded when it is needed: on a machine where it cannot be loaded this must be
 * reported. */
static struct {
    __typeof__(&MPI_Init) init;
    __typeof__(&MPI_Comm_rank) rank;
    __typeof__(&MPI_Comm_size) size;
    __typeof__(&MPI_Sendrecv) sendrecv;
    __typeof__(&MPI_Finalize) finalize;
} mpi;

static bool find_mpi(void)
{
    const char *why;
    void *library = rz_doctor_open_library(&why);
    if (!library) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    *(void **)&mpi.init = dlsym(library, "MPI_Init");
    *(void **)&mpi.rank = dlsym(library, "MPI_Comm_rank");
    *(void **)&mpi.size = dlsym(library, "MPI_Comm_size");
    *(void **)&mpi.sendrecv = dlsym(library, "MPI_Sendrecv");
    *(void **)&mpi.finalize = dlsym(library, "MPI_Finalize");
    return mpi.init && mpi.rank && mpi.size && mpi.sendrecv && mpi.finalize;
}

/* A message of this size to the next rank, and one from the previous rank. */
static bool exchange(int rank, int size, int bytes)
{
    unsigned char *out = malloc(BYTES), *in = calloc(1, BYTES);
    int before = (rank + size - 1) % size;
    bool good = out && in;
    if (good) {
        memset(out, 'a' + rank, BYTES);
        good = mpi.sendrecv(out, bytes, MPI_BYTE, (rank + 1) % size, 0, in, bytes, MPI_BYTE, before,
                            0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               in[0] == 'a' + before && in[bytes - 1] == 'a' + before;
    }
    free(in);
    free(out);
    return good;
}

int rz_doctor_probe(void)
{
    int rank, size;
    if (!find_mpi() || mpi.init(NULL, NULL) != MPI_SUCCESS) {
        return RZ_DOCTOR_BAD;
    }
    mpi.rank(MPI_COMM_WORLD, &rank);
    mpi.size(MPI_COMM_WORLD, &size);
    bool good = exchange(rank, size, 8) && exchange(rank, size, BYTES);
    if (!good) {
        fprintf(stderr, "rank %d received something else than was sent\n", rank);
    }
    return mpi.finalize() == MPI_SUCCESS && good ? RZ_DOCTOR_GOOD : RZ_DOCTOR_BAD;
}

/* ---- the probe's jobs ---- */

static int run_job(void *arg)
{
    char bin[RZ_DOCTOR_PATH], rzrun[RZ_DOCTOR_PATH + 16], self[RZ_DOCTOR_PATH + 16], limit[16];
    if (!rz_doctor_bin(bin)) {
        return RZ_DOCTOR_BAD;
    }
    snprintf(rzrun, sizeof(rzrun), "%s/rzrun", bin);
    snprintf(self, sizeof(self), "%s/rzdoctor", bin);
    snprintf(limit, sizeof(limit), "%ds", JOB_S);
    execl(rzrun, rzrun, "--timeout", limit, "-n", "2", "--oversubscribe", "--nodes", (char *)arg,
          self, "probe", (char *)NULL);
    perror(rzrun);
    return RZ_DOCTOR_BAD;
}

void rz_doctor_check_jobs(struct rz_doctor_report *report)
{
    static const struct {
        const char *subject, *text;
        char *nodes;
    } jobs[] = {{"one node", "2 ranks exchanged messages through shared memory", "1"},
                {"two nodes", "2 ranks on emulated nodes exchanged messages over TCP", "2"}};
    rz_doctor_section(report, "Jobs");
    for (size_t i = 0; i < sizeof(jobs) / sizeof(*jobs); i++) {
        struct rz_doctor_trial trial;
        rz_time start = rz_clock_now();
        bool good = rz_doctor_try(run_job, jobs[i].nodes, TRIAL_S, &trial);
        double ms = (double)(rz_clock_now() - start) / 1e6;
        trial.text[strcspn(trial.text, "\n")] = '\0';
        if (good) {
            rz_doctor_say(report, RZ_DOCTOR_OK, jobs[i].subject, NULL, "%s, in %.0f ms",
                          jobs[i].text, ms);
        } else {
            rz_doctor_say(report, RZ_DOCTOR_FAULT, jobs[i].subject,
                          "the faults above say why; if there is none: rzrun -v -v",
                          "a small job did not end well: %s",
                          trial.text[0] ? trial.text : "no end within its time");
        }
    }
}
