/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of faults, as `rzsim replay` takes them. */
#include "fuzz_text.h"
#include "sim/world.h"

static void same(const struct rz_sim_plan *a, const struct rz_sim_plan *b)
{
    rz_fuzz_holds(a->n == b->n && a->n_troubles == b->n_troubles);
    for (uint32_t i = 0; i < a->n; i++) {
        const struct rz_sim_crash *x = &a->v[i], *y = &b->v[i];
        rz_fuzz_holds(x->victim == y->victim && x->at == y->at && x->dated == y->dated);
        rz_fuzz_holds(x->cut.actions == y->cut.actions && x->cut.loss == y->cut.loss);
    }
    for (uint32_t i = 0; i < a->n_troubles; i++) {
        const struct rz_sim_trouble *x = &a->trouble[i], *y = &b->trouble[i];
        rz_fuzz_holds(x->kind == y->kind && x->what == y->what && x->from == y->from &&
                      x->to == y->to);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_sim_plan plan, again;
    char *text = rz_fuzz_text(data, size), form[RZ_SIM_PLAN_TEXT], second[RZ_SIM_PLAN_TEXT];
    bool good = rz_plan_parse(text, &plan);
    rz_fuzz_holds(rz_sim_plan_valid(text) == good);
    if (good) {
        rz_fuzz_holds(plan.n <= RZ_SIM_PLAN_MAX && plan.n_troubles <= RZ_SIM_TROUBLES_MAX);
        for (uint32_t i = 0; i < plan.n_troubles; i++) {
            rz_fuzz_holds(plan.trouble[i].kind < RZ_TROUBLE_KINDS &&
                          plan.trouble[i].from < plan.trouble[i].to);
        }
        rz_plan_format(&plan, form, sizeof(form));
        rz_fuzz_holds(rz_plan_parse(form, &again));
        same(&plan, &again);
        rz_plan_format(&again, second, sizeof(second));
        rz_fuzz_holds(strcmp(form, second) == 0);
        /* Numbers are digits: what a reader would not take for one is none. */
        rz_fuzz_holds(!strpbrk(text, " \t\n+") && !strstr(text, ":-") && !strstr(text, "@-"));
    }
    free(text);
    return 0;
}

static const char *const texts[] = {
    "none", "1@5:0:0", "2@d1500:3:18446744073709551615", "1@5:1:0,2@7:4:3,0@d9:0:0",
    "loss:100@0-1000", "double:1000@5-6,part:7@100-200,pause:3@0-18446744073709551615,slow:9@1-2",
    "loss:1@2-3,4@5:6:7",
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,"
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,"
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1",
    /* One more than there may be. */
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,"
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,"
    "1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1,1@1:1:1",
    "loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,"
    "loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:1@2-3,loss:"
    "1@2-3",
    NULL};
static const char *const words[] = {"none",
                                    ",",
                                    "@",
                                    "@d",
                                    ":",
                                    "-",
                                    "loss:",
                                    "double:",
                                    "part:",
                                    "pause:",
                                    "slow:",
                                    "4294967295",
                                    "4294967296",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    ",1@1:1:1",
                                    ",loss:1@2-3",
                                    " ",
                                    "+",
                                    "-1",
                                    NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_sim_plan",
                                              .input_max = 1024,
                                              .memory_fixed = 64,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
