/* The study ulfm: its parts, one after the other. */
#include "cmd/rzbench_ulfm.h"

#include "cli/quantity.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rz_bench_ulfm_parts[] = {"agree",    "trees",   "engines", "shrink",
                                           "failures", "revoke",  "perturb", "detect",
                                           "replace",  "program", "all",     NULL};

unsigned rz_bench_ulfm_greatest(const struct rz_bench_list *list, unsigned most)
{
    unsigned found = 0;
    for (unsigned i = 0; i < list->n; i++)
        if (list->value[i] <= most && list->value[i] > found)
            found = list->value[i];
    return found ? found : list->value[0];
}

/* "2,4,8"; false: that is no list of numbers up to most. */
static bool list_of(const char *text, unsigned most, struct rz_bench_list *list)
{
    uint64_t n;
    char word[16];
    *list = (struct rz_bench_list){0};
    for (const char *at = text; *at && list->n < RZ_BENCH_LIST_MAX;) {
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : 0), at);
        if (!rz_quantity_number(word, 1, most, &n))
            return false;
        list->value[list->n++] = (unsigned)n;
        at += length + (at[length] == ',');
    }
    return list->n > 0;
}

bool rz_bench_ulfm_is_list(const char *text, unsigned most)
{
    struct rz_bench_list list;
    return list_of(text, most, &list);
}

/* Which agreements rzrun lets one choose: those of which its help says so. */
static void find_engines(struct rz_bench_ulfm *ulfm)
{
    static const char *const known[] = {"era", "twophase", "gossip1", "gossip2", "gossip3"};
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    unsigned n = 0;
    rz_bench_command_add(&command, "%s/rzrun", ulfm->bench->bin);
    rz_bench_command_add(&command, "--help");
    rz_bench_run(ulfm->bench, &command, 0, &run);
    const char *option = strstr(run.output, "--agree ");
    for (size_t i = 0; option && i < sizeof known / sizeof *known; i++)
        if (strstr(option, known[i]))
            ulfm->engines[n++] = known[i];
    rz_bench_run_free(&run);
}

static bool make_part(void *study, unsigned part)
{
    static bool (*const parts[])(struct rz_bench_ulfm *) = {
        rz_bench_ulfm_agree,    rz_bench_ulfm_trees,  rz_bench_ulfm_engines, rz_bench_ulfm_shrink,
        rz_bench_ulfm_failures, rz_bench_ulfm_revoke, rz_bench_ulfm_perturb, rz_bench_ulfm_detect,
        rz_bench_ulfm_replace,  rz_bench_ulfm_program};
    struct rz_bench_ulfm *ulfm = study;
    ulfm->peer_limit = 0;
    return parts[part](ulfm);
}

bool rz_bench_ulfm(struct rz_bench *bench)
{
    static const double shares[] = {0.19, 0.06, 0.08, 0.18, 0.15, 0.26, 0.2, 0.43, 0.5, 1.0};
    static const char *const programs[] = {"bench_ulfm", "bench_ulfm_failure", "bench_fe"};
    struct rz_bench_ulfm ulfm = {.bench = bench};
    list_of(bench->ranks   ? bench->ranks
            : bench->quick ? "4,8"
                           : "2,4,8,16,32,64,128,256",
            RZ_BENCH_ULFM_RANKS_MAX, &ulfm.ranks);
    list_of(bench->nodes   ? bench->nodes
            : bench->quick ? "1,2"
                           : "1,8",
            RZ_BENCH_ULFM_RANKS_MAX, &ulfm.nodes);
    ulfm.peer = rz_bench_peer_open(bench);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!rz_bench_compile(bench, programs[i], false))
            return false;
        ulfm.peer = ulfm.peer && rz_bench_peer_compile(bench, programs[i]);
    }
    find_engines(&ulfm);
    rz_bench_say(
        bench,
        "\n## ULFM\n\nMore ranks than processors share them. Peer: %s. On one node the peer "
        "takes shared memory, on several its TCP over loopback. Ours and the peer's are one "
        "source, "
        "take turns in each repetition, and are bound to no processor. Tables over ranks have two "
        "repetitions at most beyond 64 ranks, and of the peer on several nodes.\n",
        ulfm.peer         ? bench->peer_version
        : bench->no_peers ? "left out"
                          : "Open MPI with ULFM is not here (tools/setup --peers makes it "
                            "available), left out");
    bool good = rz_bench_parts_make(bench, rz_bench_ulfm_parts, shares, make_part, &ulfm);
    rz_bench_ulfm_goals_show(&ulfm);
    rz_bench_say(bench, "\n%u of %u runs complete: the program came to its end and printed all.\n",
                 ulfm.runs - ulfm.failed, ulfm.runs);
    if (ulfm.peer)
        rz_bench_say(bench, "Of the peer %u of %u runs complete.\n",
                     ulfm.peer_runs - ulfm.peer_failed, ulfm.peer_runs);
    return good && ulfm.failed == 0;
}
