/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that transfers, and the requests of its jobs. The thread knows only the job: it calls
 * the file system, writes the job's result, and rings this process's doorbell. All else happens in
 * calls of the program.
 */
#include "mpi/io/file_request.h"

#include "mpi/io/transfer.h"
#include "port/lock.h"
#include "port/thread.h"

#include <stdio.h>
#include <stdlib.h>

enum job_state { JOB_NEW, JOB_WAITS, JOB_RUNS, JOB_OVER };

struct job {
    struct rz_access access;
    bool begun, told;
    int result;           /* of the call, once told */
    struct job *behind;   /* in the row of jobs */
    enum job_state state; /* under the lock */
    _Atomic bool over;    /* for polls, which do not take the lock */
    MPI_Count done;
    int error;
    char reason[200];
};

static struct {
    bool runs; /* the thread has been started */
    bool ends;
    pthread_t thread;
    struct rz_lock lock;
    struct job *first; /* the one that runs, and those that wait */
} worker;

/* ---- The thread ---- */

static void transfer_now(struct job *job)
{
    int error = rz_file_lock(&job->access);
    if (error == MPI_SUCCESS) {
        error = rz_transfer(&job->access, &job->done);
        rz_file_unlock(&job->access);
    }
    job->error = error;
    if (error != MPI_SUCCESS) {
        const char *reason = rzm_error_reason(error);
        job->done = 0;
        snprintf(job->reason, sizeof(job->reason), "%s", reason ? reason : "");
    }
}

static void wake_process(void)
{
    const struct rz_link_info *info = rz_engine.info;
    atomic_fetch_or_explicit(&info->doorbell->reasons, RZ_DOORBELL_BOARD, memory_order_release);
    rz_doorbell_ring(info->doorbell, info->doorbell_fd);
}

static void *work(void *arg)
{
    (void)arg;
    rz_lock_enter(&worker.lock);
    while (!worker.ends) {
        struct job *job = worker.first;
        if (!job) {
            rz_lock_wait(&worker.lock);
            continue;
        }
        job->state = JOB_RUNS;
        rz_lock_leave(&worker.lock);
        transfer_now(job);
        rz_lock_enter(&worker.lock);
        worker.first = job->behind;
        job->state = JOB_OVER;
        atomic_store_explicit(&job->over, true, memory_order_release);
        rz_lock_tell(&worker.lock);
        wake_process();
    }
    rz_lock_leave(&worker.lock);
    return NULL;
}

/* False: there is no thread. */
static bool have_thread(void)
{
    if (!worker.runs) {
        rz_lock_open(&worker.lock);
        worker.ends = false;
        worker.runs = rz_thread_start(&worker.thread, "rz-file", 0, work, NULL) == 0;
        if (!worker.runs) {
            rz_lock_close(&worker.lock);
        }
    }
    return worker.runs;
}

void rz_file_requests_rest(void)
{
    if (!worker.runs) {
        return;
    }
    rz_lock_enter(&worker.lock);
    worker.ends = true;
    rz_lock_tell(&worker.lock);
    rz_lock_leave(&worker.lock);
    pthread_join(worker.thread, NULL);
    rz_lock_close(&worker.lock);
    worker.runs = false;
}

const struct rz_hooks rz_file_request_hooks = {.close = rz_file_requests_rest};

/* Takes the job back if the thread has not begun it; otherwise waits until it is over. */
static void withdraw(struct job *job)
{
    rz_lock_enter(&worker.lock);
    struct job **at = &worker.first;
    while (*at && *at != job) {
        at = &(*at)->behind;
    }
    if (*at && job->state == JOB_WAITS) {
        *at = job->behind;
    } else {
        while (job->state == JOB_RUNS) {
            rz_lock_wait(&worker.lock);
        }
    }
    rz_lock_leave(&worker.lock);
}

static bool has_job(const struct rz_file *file)
{
    for (const struct job *job = worker.first; job; job = job->behind) {
        if (job->access.file == file) {
            return true;
        }
    }
    return false;
}

void rz_file_requests_settle(const struct rz_file *file)
{
    if (!worker.runs) {
        return;
    }
    rz_lock_enter(&worker.lock);
    while (has_job(file)) {
        rz_lock_wait(&worker.lock);
    }
    rz_lock_leave(&worker.lock);
}

/* ---- Requests ---- */

static void finish_job(struct rz_request *request)
{
    struct job *job = request->state;
    if (job->error != MPI_SUCCESS && job->access.writes) {
        job->access.file->write_failed = true;
    }
    rz_request_complete(request, job->error);
}

static void poll_job(struct rz_request *request)
{
    struct job *job = request->state;
    if (!request->complete && atomic_load_explicit(&job->over, memory_order_acquire)) {
        finish_job(request);
    }
}

/* In the call that learns of the end: functions of the program may run here. */
static int query_job(struct rz_request *request, bool ends)
{
    struct job *job = request->state;
    (void)ends;
    if (!job->told) {
        job->told = true;
        int conversion = rz_access_end(&job->access, job->done, &request->status);
        job->result = request->error != MPI_SUCCESS ? request->error : conversion;
    }
    if (job->result != MPI_SUCCESS && job->result == job->error && job->reason[0] != '\0') {
        rzm_error(job->error, "%s", job->reason);
    }
    return job->result;
}

static void abandon_job(struct rz_request *request)
{
    withdraw(request->state);
}

static void destroy_job(struct rz_request *request)
{
    struct job *job = request->state;
    if (job->begun && !job->told) {
        job->access.writes = true; /* nothing is converted */
        rz_access_end(&job->access, 0, NULL);
    }
    free(job);
}

static const struct rz_request_class job_class = {.name = "access to a file",
                                                  .poll = poll_job,
                                                  .query = query_job,
                                                  .abandon = abandon_job,
                                                  .destroy = destroy_job};

int rz_file_request_new(struct rz_file *file, struct rz_request **request,
                        struct rz_access **access)
{
    int error = rz_engine_begin();
    if (error != MPI_SUCCESS) {
        return error;
    }
    struct job *job = calloc(1, sizeof(*job));
    struct rz_request *made = job ? rz_request_new(&job_class, file->comm) : NULL;
    if (!made) {
        free(job);
        return MPI_ERR_NO_MEM;
    }
    made->state = job;
    *request = made;
    *access = &job->access;
    return MPI_SUCCESS;
}

int rz_file_request_start(struct rz_request *request, int error)
{
    struct job *job = request->state;
    if (error != MPI_SUCCESS) {
        if (error != RZM_ROLLBACK) {
            rz_request_destroy(request);
        }
        return error;
    }
    job->begun = true;
    if (job->access.bytes == 0 || !have_thread()) {
        transfer_now(job);
        job->state = JOB_OVER;
        finish_job(request);
        return MPI_SUCCESS;
    }
    rz_lock_enter(&worker.lock);
    struct job **end = &worker.first;
    while (*end) {
        end = &(*end)->behind;
    }
    job->state = JOB_WAITS;
    *end = job;
    rz_lock_tell(&worker.lock);
    rz_lock_leave(&worker.lock);
    rz_request_activate(request);
    return MPI_SUCCESS;
}
