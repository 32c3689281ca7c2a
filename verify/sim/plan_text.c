/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault plans as text, and described for traces. */
#include "sim/world.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const trouble_names[RZ_TROUBLE_KINDS] = {"loss", "double", "part", "pause",
                                                            "slow"};

/* ---- reading ---- */

/* Reads this text, or a number of digits if it fits; *at moves behind it. */
static bool take(const char **at, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*at, text, n) != 0) {
        return false;
    }
    *at += n;
    return true;
}

static bool take_number(const char **at, uint64_t most, uint64_t *number)
{
    char *end;
    if (**at < '0' || **at > '9') {
        return false;
    }
    errno = 0;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return errno == 0 && *number <= most;
}

/* Each returns the position behind the item; NULL: it is not one. */

static const char *read_crash(const char *at, struct rz_sim_crash *crash)
{
    uint64_t victim, date, actions, loss;
    if (!take_number(&at, UINT32_MAX, &victim) || !take(&at, "@")) {
        return NULL;
    }
    bool dated = take(&at, "d");
    if (!take_number(&at, UINT64_MAX, &date) || !take(&at, ":") ||
        !take_number(&at, UINT32_MAX, &actions) || !take(&at, ":") ||
        !take_number(&at, UINT64_MAX, &loss)) {
        return NULL;
    }
    *crash = (struct rz_sim_crash){(rz_id)victim, date, dated, {(uint32_t)actions, loss}};
    return at;
}

static const char *read_trouble(const char *at, struct rz_sim_trouble *trouble)
{
    uint32_t kind = 0;
    uint64_t what, from, to;
    while (kind < RZ_TROUBLE_KINDS && !take(&at, trouble_names[kind])) {
        kind++;
    }
    if (kind == RZ_TROUBLE_KINDS || !take(&at, ":") || !take_number(&at, UINT64_MAX, &what) ||
        !take(&at, "@") || !take_number(&at, UINT64_MAX, &from) || !take(&at, "-") ||
        !take_number(&at, UINT64_MAX, &to) || from >= to) {
        return NULL;
    }
    *trouble = (struct rz_sim_trouble){(enum rz_sim_trouble_kind)kind, what, from, to};
    return at;
}

bool rz_plan_parse(const char *text, struct rz_sim_plan *plan)
{
    memset(plan, 0, sizeof(*plan));
    if (strcmp(text, "none") == 0) {
        return true;
    }
    for (;;) {
        bool crash = *text >= '0' && *text <= '9';
        if (crash ? plan->n == RZ_SIM_PLAN_MAX : plan->n_troubles == RZ_SIM_TROUBLES_MAX) {
            return false;
        }
        text = crash ? read_crash(text, &plan->v[plan->n++])
                     : read_trouble(text, &plan->trouble[plan->n_troubles++]);
        if (!text || (*text && *text != ',')) {
            return false;
        }
        if (!*text++) {
            return true;
        }
    }
}

/* ---- writing ---- */

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
