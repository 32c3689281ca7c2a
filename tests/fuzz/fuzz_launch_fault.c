/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of --inject. */
#include "fuzz_text.h"
#include "launch/inject.h"

#include <inttypes.h>
#include <stdio.h>

/* The fault as text again; times are written as microseconds with decimals. */
#define WORDS_BYTES 1024
static void write_fault(const struct rz_fault *fault, char text[WORDS_BYTES])
{
    static const char *const deeds[] = {"kill", "stop", "cut", "delay", "lose", "heal"};
    const char *target = fault->node ? "node" : "rank";
    char when[64], tail[64] = "", list[256] = "", amount[64] = "";
    snprintf(when, sizeof(when), "%.3fus", (double)fault->at / 1000);
    if (fault->when == RZ_FAULT_AT_ITERATION) {
        snprintf(when, sizeof(when), "iteration %" PRIu64, fault->iteration);
    }
    if (fault->deed == RZ_FAULT_STOP || fault->duration > 0) {
        snprintf(tail, sizeof(tail), " for %.3fus", (double)fault->duration / 1000);
    }
    for (uint32_t i = 0; i < fault->n_nodes; i++) {
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u", i > 0 ? "," : " node ",
                 fault->nodes[i]);
    }
    if (fault->deed == RZ_FAULT_DELAY) {
        snprintf(amount, sizeof(amount), " %.3fus", (double)fault->amount / 1000);
    }
    if (fault->when == RZ_FAULT_EVERY) {
        snprintf(text, WORDS_BYTES, "every %s kill random %s", when, target);
    } else if (fault->deed == RZ_FAULT_LOSE) {
        snprintf(text, WORDS_BYTES, "lose %.1f%%%s at %s%s", (double)fault->amount / 10, list, when,
                 tail);
    } else if (fault->deed > RZ_FAULT_STOP) {
        snprintf(text, WORDS_BYTES, "%s%s%s at %s%s", deeds[fault->deed], list, amount, when, tail);
    } else {
        snprintf(text, WORDS_BYTES, "%s %s %u at %s%s", deeds[fault->deed], target, fault->target,
                 when, tail);
    }
}

/* Up to what a double rounds away. */
static bool near(rz_time a, rz_time b)
{
    rz_time difference = a > b ? a - b : b - a;
    return difference <= 1 + (a >> 50);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fault fault, again;
    const char *why = NULL;
    char *text = rz_fuzz_text(data, size), words[WORDS_BYTES];
    bool good = rz_fault_parse(text, &fault, &why);
    free(text);
    rz_fuzz_holds(why && *why != 0);
    if (!good) {
        return 0;
    }
    rz_fuzz_holds(fault.random == (fault.when == RZ_FAULT_EVERY) && !fault.done);
    rz_fuzz_holds(!fault.random || (fault.at > 0 && fault.deed == RZ_FAULT_KILL));
    rz_fuzz_holds(fault.random || fault.target < RZ_ID_NONE);
    bool some = fault.deed > RZ_FAULT_STOP && fault.deed < RZ_FAULT_HEAL;
    rz_fuzz_holds(fault.n_nodes <= RZ_FAULT_NODES_MAX && (fault.n_nodes > 0) == some);
    rz_fuzz_holds(fault.deed != RZ_FAULT_LOSE || (fault.amount >= 1 && fault.amount <= 1000));
    write_fault(&fault, words);
    /* A date or a list of this number of digits is too long for one argument. */
    bool long_word = false;
    for (char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
        long_word = long_word || strcspn(at, " ") >= 32;
    }
    if (long_word) {
        return 0;
    }
    bool same = rz_fault_parse(words, &again, &why);
    if (!same && fault.when == RZ_FAULT_EVERY && fault.at < 2) {
        return 0;
    }
    rz_fuzz_holds(same && again.deed == fault.deed && again.node == fault.node);
    rz_fuzz_holds(again.n_nodes == fault.n_nodes && near(fault.amount, again.amount) &&
                  memcmp(again.nodes, fault.nodes, sizeof(fault.nodes)) == 0);
    rz_fuzz_holds(again.random == fault.random && again.target == fault.target);
    rz_fuzz_holds(again.when == fault.when && again.iteration == fault.iteration);
    rz_fuzz_holds(near(fault.at, again.at) && near(fault.duration, again.duration));
    return 0;
}

static const char *const texts[] = {
    "kill rank 3 at 900ms",           "kill node 2 at iteration 90",
    "stop rank 0 at 1.5s for 250us",  "stop node 1 at iteration 7 for 2h",
    "every 2s kill random rank",      "every 1.25m kill random node",
    "cut node 1,2 at 2s for 500ms",   "delay node 3 30ms at iteration 4 for 1s",
    "lose 30.5% node 0,4,2 at 1ms",   "heal at 7s",
    "  kill\trank 4294967294 at 0s ", NULL};
static const char *const words[] = {
    "cut ",  "delay ", "lose ",      "heal ",  ",",
    "%",     "kill ",  "stop ",      "every ", "rank ",
    "node ", "at ",    "iteration ", "for ",   "random ",
    " ",     "ms",     "us",         "s",      "1e9",
    "0x",    "inf",    "nan",        "-1",     "18446744073709551616",
    "\t",    NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_launch_fault",
                                              .input_max = 256,
                                              .memory_fixed = 64,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
