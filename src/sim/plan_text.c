/* Plans of faults as text, and in words for traces. */
#include "sim/world.h"

#include "base/assert.h"

#include <string.h>

static const char *const trouble_names[RZ_TROUBLE_KINDS] = {"loss", "double", "part", "pause",
                                                            "slow"};

/* --- reading ---------------------------------------------------------------------------------- */

/* Each returns how many characters it has read; 0: it is not one. */

static int read_crash(const char *text, struct rz_sim_crash *crash)
{
    unsigned long long at, loss;
    unsigned victim, actions;
    int start = 0, used = 0;
    if (sscanf(text, "%u@%n", &victim, &start) != 1 || start == 0)
        return 0;
    bool dated = text[start] == 'd';
    start += dated;
    if (sscanf(text + start, "%llu:%u:%llu%n", &at, &actions, &loss, &used) != 3)
        return 0;
    *crash = (struct rz_sim_crash){victim, at, dated, {actions, loss}};
    return start + used;
}

static int read_trouble(const char *text, struct rz_sim_trouble *trouble)
{
    for (uint32_t kind = 0; kind < RZ_TROUBLE_KINDS; kind++) {
        size_t length = strlen(trouble_names[kind]);
        unsigned long long what, from, to;
        int used = 0;
        if (strncmp(text, trouble_names[kind], length) != 0 ||
            sscanf(text + length, ":%llu@%llu-%llu%n", &what, &from, &to, &used) != 3)
            continue;
        *trouble = (struct rz_sim_trouble){(enum rz_sim_trouble_kind)kind, what, from, to};
        return from < to ? (int)length + used : 0;
    }
    return 0;
}

bool rz_plan_parse(const char *text, struct rz_sim_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    if (strcmp(text, "none") == 0)
        return true;
    for (;;) {
        bool crash = *text >= '0' && *text <= '9';
        if (crash ? plan->n == RZ_SIM_PLAN_MAX : plan->n_troubles == RZ_SIM_TROUBLES_MAX)
            return false;
        int used = crash ? read_crash(text, &plan->v[plan->n++])
                         : read_trouble(text, &plan->trouble[plan->n_troubles++]);
        if (used == 0 || (text[used] && text[used] != ','))
            return false;
        if (!text[used])
            return true;
        text += used + 1;
    }
}

/* --- writing ---------------------------------------------------------------------------------- */

void rz_plan_format(const struct rz_sim_plan *plan, char *text, size_t bytes)
{
    snprintf(text, bytes, "none");
    size_t used = 0;
    for (uint32_t i = 0; i < plan->n_troubles && used < bytes; i++) {
        const struct rz_sim_trouble *trouble = &plan->trouble[i];
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s:%llu@%llu-%llu", used > 0 ? "," : "",
                             trouble_names[trouble->kind], (unsigned long long)trouble->what,
                             (unsigned long long)trouble->from, (unsigned long long)trouble->to);
    }
    for (uint32_t i = 0; i < plan->n && used < bytes; i++) {
        const struct rz_sim_crash *crash = &plan->v[i];
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%u@%s%llu:%u:%llu", used > 0 ? "," : "",
                             crash->victim, crash->dated ? "d" : "", (unsigned long long)crash->at,
                             crash->cut.actions, (unsigned long long)crash->cut.loss);
    }
    rz_assert(used < bytes);
}
