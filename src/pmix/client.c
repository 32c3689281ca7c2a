/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls of libpmix. A fence waits for all processes, so it has a bound of our own: servers need
 * not support one. */
#include "pmix/client.h"

#include <pmix.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Processes of one job may begin so much later than others: loading a program takes long on a busy
 * file system. */
enum { FENCE_S = 300 };

static pmix_proc_t own;

static rz_status_t failed(const char *what, pmix_status_t status)
{
    fprintf(stderr, "rhizome: the launcher's PMIx: %s: %s\n", what, PMIx_Error_string(status));
    return RZ_ERR_SYSTEM;
}

/* The caller releases the value. */
static rz_status_t get(uint32_t rank, const char *key, pmix_value_t **value)
{
    pmix_proc_t of = own;
    of.rank = rank;
    pmix_status_t status = PMIx_Get(&of, key, NULL, 0, value);
    return status == PMIX_SUCCESS ? RZ_OK : failed(key, status);
}

static rz_status_t get_number(uint32_t rank, const char *key, uint32_t *number)
{
    pmix_value_t *value = NULL;
    rz_status_t status = get(rank, key, &value);
    if (status != RZ_OK) {
        return status;
    }
    bool wide = value->type == PMIX_UINT32, narrow = value->type == PMIX_UINT16;
    *number = wide ? value->data.uint32 : narrow ? value->data.uint16 : 0;
    PMIX_VALUE_RELEASE(value);
    return wide || narrow ? RZ_OK : failed(key, PMIX_ERR_TYPE_MISMATCH);
}

rz_status_t rz_pmix_client_open(struct rz_pmix_self *self)
{
    uint32_t local = 0;
    pmix_status_t status = PMIx_Init(&own, NULL, 0);
    if (status != PMIX_SUCCESS) {
        return failed("the connection to it", status);
    }
    self->rank = own.rank;
    rz_status_t found = get_number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, &self->n_ranks);
    if (found == RZ_OK) {
        found = get_number(own.rank, PMIX_LOCAL_RANK, &local);
    }
    self->first_here = local == 0;
    if (found != RZ_OK) {
        rz_pmix_client_close();
    }
    return found;
}

void rz_pmix_client_close(void)
{
    PMIx_Finalize(NULL, 0);
}

rz_status_t rz_pmix_put(const char *key, const void *bytes, size_t n)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT,
                          .data.bo = {.bytes = (char *)(uintptr_t)bytes, .size = n}};
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    return status == PMIX_SUCCESS ? RZ_OK : failed("a value is refused", status);
}

/* A fence that is under way; it stays behind if it is given up, for the server may still answer. */
struct fence {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;
    pmix_status_t status;
};

static void fence_over(pmix_status_t status, void *arg)
{
    struct fence *fence = arg;
    pthread_mutex_lock(&fence->lock);
    fence->status = status;
    fence->is_over = true;
    pthread_cond_signal(&fence->over);
    pthread_mutex_unlock(&fence->lock);
}

rz_status_t rz_pmix_fence(void)
{
    static struct fence fence = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                 .over = PTHREAD_COND_INITIALIZER};
    struct timespec until;
    pmix_proc_t all = own;
    pmix_info_t collect;
    bool yes = true;
    int waited = 0;
    all.rank = PMIX_RANK_WILDCARD;
    fence.is_over = false;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Commit();
    if (status == PMIX_SUCCESS) {
        status = PMIx_Fence_nb(&all, 1, &collect, 1, fence_over, &fence);
    }
    if (status != PMIX_SUCCESS) {
        return failed("a fence", status);
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FENCE_S;
    pthread_mutex_lock(&fence.lock);
    while (!fence.is_over && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&fence.over, &fence.lock, &until);
    }
    status = fence.is_over ? fence.status : PMIX_ERR_TIMEOUT;
    pthread_mutex_unlock(&fence.lock);
    return status == PMIX_SUCCESS ? RZ_OK
                                  : failed("a wait for all processes to call MPI_Init", status);
}

rz_status_t rz_pmix_get(uint32_t rank, const char *key, void **bytes, size_t *n)
{
    pmix_value_t *value = NULL;
    rz_status_t result = get(rank, key, &value);
    if (result != RZ_OK) {
        return result;
    }
    result = RZ_ERR_MALFORMED;
    if (value->type == PMIX_BYTE_OBJECT) {
        *n = value->data.bo.size;
        *bytes = malloc(*n + 1);
        result = *bytes ? RZ_OK : RZ_ERR_NO_MEMORY;
    }
    if (result == RZ_OK) {
        memcpy(*bytes, value->data.bo.bytes, *n);
    }
    PMIX_VALUE_RELEASE(value);
    return result;
}
