/* The part apps: the proxy applications with a checkpoint in each iteration, and with none. */
#include "cmd/rzbench_checkpoint.h"

#include "cmd/rzbench_recovery.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL = 10, QUICK = 2, NODES = 2 };

/* Sizes with which an iteration takes some milliseconds. */
static const struct app {
    const char *name, *arguments;
    unsigned ranks;
} apps[] = {{"hpccg", "32 32 32 --iterations 40", 2},
            {"comd", "-i 2 -j 1 -k 1 -x 12 -y 12 -z 12 -N 20", 2},
            {"lulesh", "-s 12 --iterations 20", 8}};

/* Seconds that the program says it took, and of these for checkpoints; NAN: it did not say. Method
 * reinit has a checkpoint in each iteration, plain has none. */
static double run_once(struct rz_bench_study *study, const struct app *app, const char *path,
                       const char *method, double *checkpoint)
{
    struct rz_bench_command command = {0};
    struct rz_bench_run run;
    rz_bench_command_add(&command, "%s/rzrun", study->bench->bin);
    rz_bench_study_words(&command, "--oversubscribe -n");
    rz_bench_command_add(&command, "%u", app->ranks);
    rz_bench_command_add(&command, "--nodes");
    rz_bench_command_add(&command, "%d", NODES);
    rz_bench_command_add(&command, "%s", path);
    rz_bench_study_words(&command, app->arguments);
    rz_bench_command_add(&command, "--method");
    rz_bench_command_add(&command, "%s", method);
    bool good = rz_bench_study_run(study, &command, &run);
    const char *line = rz_bench_line(&run, "times", NULL);
    study->failed += good && !line;
    double total = good && line ? rz_bench_times_value(line, "total") : (double)NAN;
    *checkpoint = good && line ? rz_bench_times_value(line, "checkpoint") : (double)NAN;
    rz_bench_run_free(&run);
    return total;
}

static void measure(struct rz_bench_study *study, const struct app *app,
                    struct rz_bench_table *table, struct rz_bench_table *inside_table)
{
    char path[PATH_MAX + 64];
    unsigned repetitions = rz_bench_repetitions(study->bench, USUAL, QUICK);
    if (!rz_bench_app_path(study->bench, app->name, path, sizeof path)) {
        rz_bench_say(study->bench, "\n%s is not here, left out.\n", app->name);
        return;
    }
    for (unsigned i = 0; i < repetitions && rz_bench_may_go_on(study->bench); i++) {
        double inside;
        rz_bench_put(rz_bench_cell(table, app->name, "each iteration, s"), i,
                     run_once(study, app, path, "reinit", &inside));
        double without;
        rz_bench_put(rz_bench_cell(table, app->name, "none, s"), i,
                     run_once(study, app, path, "plain", &without));
        rz_bench_put(rz_bench_cell(inside_table, app->name, "inside RZ_Checkpoint, s"), i, inside);
    }
}

bool rz_bench_checkpoint_apps(struct rz_bench_study *study)
{
    static struct rz_bench_table table, inside;
    inside = (struct rz_bench_table){.name = "checkpoint-apps-inside",
                                     .title = "Of the former: inside RZ_Checkpoint, which also "
                                              "waits until the one before is committed",
                                     .rows_are = "application",
                                     .unit = "s"};
    table = (struct rz_bench_table){
        .name = "checkpoint-apps",
        .title = "A checkpoint in each iteration of an application, to memory and another node, "
                 "beside none; 2 nodes",
        .rows_are = "application",
        .unit = "s",
        .ratios = true};
    for (size_t i = 0; i < sizeof apps / sizeof *apps; i++)
        measure(study, &apps[i], &table, &inside);
    rz_bench_table_show(study->bench, &table);
    rz_bench_table_show(study->bench, &inside);
    return true;
}
