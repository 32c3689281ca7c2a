/* SPDX-License-Identifier: BSD-3-Clause */
/* The one table of scenarios: what each scenario_PROTOCOL.c offers as rz_PROTOCOL_scenarios[]. */
#include "sim/sim.h"

#include "scenario_protocols.h" /* made by CMakeLists.txt: RZ_SIM_PROTOCOLS(X), an X(P) for each scenario_P.c */

#include <string.h>

#define DECLARE(protocol)                                                                          \
    extern const struct rz_sim_scenario rz_##protocol##_scenarios[];                               \
    extern const size_t rz_##protocol##_scenarios_count;
RZ_SIM_PROTOCOLS(DECLARE)
#undef DECLARE

struct protocol_scenarios {
    const struct rz_sim_scenario *v;
    const size_t *count;
};

#define LIST(protocol) {rz_##protocol##_scenarios, &rz_##protocol##_scenarios_count},
static const struct protocol_scenarios protocols[] = {RZ_SIM_PROTOCOLS(LIST){NULL, NULL}};
#undef LIST

const struct rz_sim_scenario *rz_sim_scenario_at(size_t i)
{
    for (size_t protocol = 0; protocols[protocol].v; protocol++) {
        if (i < *protocols[protocol].count) {
            return &protocols[protocol].v[i];
        }
        i -= *protocols[protocol].count;
    }
    return NULL;
}

const struct rz_sim_scenario *rz_sim_find(const char *protocol, const char *name)
{
    const struct rz_sim_scenario *scenario;
    for (size_t i = 0; (scenario = rz_sim_scenario_at(i)); i++) {
        if (strcmp(scenario->protocol->name, protocol) == 0 &&
            (!name || strcmp(scenario->name, name) == 0)) {
            return scenario;
        }
    }
    return NULL;
}
