/* The one table of scenarios: what each scenario_ROOM.c offers as rz_ROOM_scenarios[]. */
#include "sim/sim.h"

#include "scenario_rooms.h" /* made by CMakeLists.txt: RZ_SIM_ROOMS(X), an X(ROOM) for each scenario_ROOM.c */

#include <string.h>

#define DECLARE(room)                                                                              \
    extern const struct rz_sim_scenario rz_##room##_scenarios[];                                   \
    extern const size_t rz_##room##_scenarios_count;
RZ_SIM_ROOMS(DECLARE)
#undef DECLARE

struct room_scenarios {
    const struct rz_sim_scenario *v;
    const size_t *count;
};

#define LIST(room) {rz_##room##_scenarios, &rz_##room##_scenarios_count},
static const struct room_scenarios rooms[] = {RZ_SIM_ROOMS(LIST){NULL, NULL}};
#undef LIST

const struct rz_sim_scenario *rz_sim_scenario_at(size_t i)
{
    for (size_t room = 0; rooms[room].v; room++) {
        if (i < *rooms[room].count)
            return &rooms[room].v[i];
        i -= *rooms[room].count;
    }
    return NULL;
}

const struct rz_sim_scenario *rz_sim_find(const char *room, const char *name)
{
    const struct rz_sim_scenario *scenario;
    for (size_t i = 0; (scenario = rz_sim_scenario_at(i)); i++)
        if (strcmp(scenario->room->name, room) == 0 && (!name || strcmp(scenario->name, name) == 0))
            return scenario;
    return NULL;
}
