/* SPDX-License-Identifier: BSD-3-Clause */
/* How launchers are recognised by the environment, and what a job of one process, and errors of
 * PMIx, lead to. libpmix is played here: it answers from variables of the test. */
#include "pmix/pmix.h"

#include <pmix.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- libpmix ---- */

static struct {
    pmix_status_t init, get, put, fence;
    uint32_t n_ranks;
    unsigned opened, closed, fences;
} fake;

static void begin(uint32_t n_ranks)
{
    memset(&fake, 0, sizeof(fake));
    fake.n_ranks = n_ranks;
}

const char *PMIx_Error_string(pmix_status_t status)
{
    (void)status;
    return "as the test wants it";
}

pmix_status_t PMIx_Init(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo)
{
    (void)info, (void)ninfo;
    *proc = (pmix_proc_t){.nspace = "test", .rank = 0};
    fake.opened += fake.init == PMIX_SUCCESS;
    return fake.init;
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo)
{
    (void)info, (void)ninfo;
    fake.closed++;
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
                       size_t ninfo, pmix_value_t **value)
{
    (void)proc, (void)info, (void)ninfo;
    if (fake.get != PMIX_SUCCESS) {
        return fake.get;
    }
    *value = calloc(1, sizeof(**value));
    bool size = strcmp(key, PMIX_JOB_SIZE) == 0;
    (*value)->type = size ? PMIX_UINT32 : PMIX_UINT16;
    if (size) {
        (*value)->data.uint32 = fake.n_ranks;
    }
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *value)
{
    (void)scope, (void)key, (void)value;
    return fake.put;
}

pmix_status_t PMIx_Commit(void)
{
    return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                            size_t ninfo, pmix_op_cbfunc_t over, void *arg)
{
    (void)procs, (void)nprocs, (void)info, (void)ninfo;
    fake.fences++;
    over(fake.fence, arg);
    return PMIX_SUCCESS;
}

/* What macros of its headers call. */
void PMIx_Value_destruct(pmix_value_t *value)
{
    (void)value; /* no value here has memory of its own */
}

pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data,
                             pmix_data_type_t type)
{
    (void)info, (void)key, (void)data, (void)type;
    return PMIX_SUCCESS;
}

/* ---- the tests ---- */

static void clear(void **state)
{
    static const char *const names[] = {
        "RZ_LINK_FD", "RZ_JOB_ID", "RZ_ALONE",      "PMIX_RANK",    "PMIX_NAMESPACE",
        "PMI_RANK",   "PMI_SIZE",  "SLURM_STEP_ID", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        unsetenv(names[i]);
    }
}

static void launchers_are_recognised(void **state)
{
    const char *why = "";
    clear(state);
    assert_false(rz_pmix_started());
    assert_false(rz_pmix_is_lost(&why));
    setenv("PMIX_RANK", "1", 1);
    assert_false(rz_pmix_started());
    setenv("PMIX_NAMESPACE", "x", 1);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("SLURM_PROCID", "1", 1);
    setenv("SLURM_STEP_NUM_TASKS", "2", 1);
    assert_true(rz_pmix_started());
    assert_false(rz_pmix_is_lost(&why));
    setenv("RZ_JOB_ID", "1", 1); /* a descendant of a process of a job */
    assert_false(rz_pmix_started());
    unsetenv("RZ_JOB_ID");
    setenv("RZ_ALONE", "1", 1);
    assert_false(rz_pmix_started());
    unsetenv("RZ_ALONE");
    unsetenv("PMIX_RANK");
    assert_true(rz_pmix_is_lost(&why));
    assert_non_null(strstr(why, "srun --mpi=pmix"));
    setenv("SLURM_STEP_NUM_TASKS", "1", 1);
    assert_false(rz_pmix_is_lost(&why));
    setenv("PMI_RANK", "0", 1);
    setenv("PMI_SIZE", "2", 1);
    assert_true(rz_pmix_is_lost(&why));
    assert_non_null(strstr(why, "PMI, and not PMIx"));
    clear(state);
}

static void one_process_is_a_job_alone(void **state)
{
    int stand_in = 0;
    (void)state;
    begin(1);
    assert_int_equal(rz_pmix_steps_join(&stand_in), RZ_OK);
    assert_int_equal(stand_in, -1);
    assert_true(fake.opened == 1 && fake.closed == 1 && fake.fences == 0);
}

static void errors_of_pmix_are_told(void **state)
{
    int stand_in = 0;
    (void)state;
    begin(2);
    fake.init = PMIX_ERR_UNREACH;
    assert_int_equal(rz_pmix_steps_join(&stand_in), RZ_ERR_SYSTEM);
    assert_true(fake.opened == 0 && fake.closed == 0);
    begin(2);
    fake.get = PMIX_ERR_NOT_FOUND;
    assert_int_equal(rz_pmix_steps_join(&stand_in), RZ_ERR_SYSTEM);
    assert_int_equal(fake.closed, 1);
    begin(2);
    fake.put = PMIX_ERR_NOMEM;
    assert_int_equal(rz_pmix_steps_join(&stand_in), RZ_ERR_SYSTEM);
    assert_int_equal(fake.fences, 2); /* the others wait for this one, and the word of rank 0 */
    assert_int_equal(fake.closed, 1);
    begin(2);
    fake.fence = PMIX_ERR_LOST_CONNECTION;
    assert_int_equal(rz_pmix_steps_join(&stand_in), RZ_ERR_SYSTEM);
    assert_int_equal(stand_in, -1);
    assert_int_equal(fake.closed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launchers_are_recognised),
        cmocka_unit_test(one_process_is_a_job_alone),
        cmocka_unit_test(errors_of_pmix_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
