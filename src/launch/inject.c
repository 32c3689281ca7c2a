/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses a fault word by word. The words are split first, and each part of the grammar takes those
 * it knows. */
#include "launch/inject.h"

#include "cli/quantity.h"

#include <stdio.h>
#include <string.h>

#define WORDS_MAX 10
#define WORD_BYTES 32

struct words {
    char word[WORDS_MAX][WORD_BYTES];
    unsigned n, at;
};

static bool split(const char *text, struct words *words)
{
    *words = (struct words){0};
    for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
        size_t n = strcspn(text, " \t");
        if (words->n == WORDS_MAX || n >= WORD_BYTES) {
            return false;
        }
        memcpy(words->word[words->n++], text, n);
        text += n;
    }
    return true;
}

/* If this is the next token, consumes it. */
static bool take_word(struct words *words, const char *word)
{
    if (words->at >= words->n || strcmp(words->word[words->at], word) != 0) {
        return false;
    }
    words->at++;
    return true;
}

static const char *next(struct words *words)
{
    return words->at < words->n ? words->word[words->at++] : "";
}

static bool parse_victim(struct words *words, struct rz_fault *fault, const char **why)
{
    uint64_t number;
    fault->node = take_word(words, "node");
    *why = "kill and stop need `rank R` or `node N`";
    if (!fault->node && !take_word(words, "rank")) {
        return false;
    }
    *why = "a rank or a node is a whole number";
    if (!rz_quantity_number(next(words), 0, UINT32_MAX - 1, &number)) {
        return false;
    }
    fault->target = (uint32_t)number;
    return true;
}

static bool parse_when(struct words *words, struct rz_fault *fault, const char **why)
{
    *why = "it needs `at` and a time like 900ms, or `at iteration K`";
    if (!take_word(words, "at")) {
        return false;
    }
    if (take_word(words, "iteration")) {
        fault->when = RZ_FAULT_AT_ITERATION;
        *why = "an iteration is a whole number";
        return rz_quantity_number(next(words), 0, UINT64_MAX, &fault->iteration);
    }
    fault->when = RZ_FAULT_AT_TIME;
    return rz_quantity_duration(next(words), &fault->at);
}

static bool parse_every(struct words *words, struct rz_fault *fault, const char **why)
{
    *why = "every needs a time like 2s, then `kill random rank` or `kill random node`";
    if (!rz_quantity_duration(next(words), &fault->at) || fault->at == 0 ||
        !take_word(words, "kill") || !take_word(words, "random")) {
        return false;
    }
    fault->when = RZ_FAULT_EVERY;
    fault->random = true;
    fault->node = take_word(words, "node");
    return fault->node || take_word(words, "rank");
}

/* `node 2,3` */
static bool parse_nodes(struct words *words, struct rz_fault *fault, const char **why)
{
    *why = "a network fault names nodes: `node 2` or `node 2,3`";
    if (!take_word(words, "node")) {
        return false;
    }
    char list[WORD_BYTES], *rest = list;
    snprintf(list, sizeof(list), "%s", next(words));
    for (const char *word; (word = strsep(&rest, ","));) {
        uint64_t number;
        if (fault->n_nodes == RZ_FAULT_NODES_MAX ||
            !rz_quantity_number(word, 0, UINT32_MAX - 1, &number)) {
            return false;
        }
        fault->nodes[fault->n_nodes++] = (uint32_t)number;
    }
    return true;
}

static bool parse_share(struct words *words, struct rz_fault *fault, const char **why)
{
    double share;
    *why = "lose needs a share like 30%";
    if (!rz_quantity_share(next(words), &share)) {
        return false;
    }
    fault->amount = (uint64_t)(share * 1000 + 0.5);
    return fault->amount > 0;
}

/* A fault of the network; its first token was consumed. */
static bool parse_network(struct words *words, struct rz_fault *fault, const char **why)
{
    fault->node = true;
    fault->amount = 1;
    if (fault->deed == RZ_FAULT_LOSE && !parse_share(words, fault, why)) {
        return false;
    }
    if (fault->deed != RZ_FAULT_HEAL && !parse_nodes(words, fault, why)) {
        return false;
    }
    *why = "delay needs nodes, then a duration like 30ms";
    if (fault->deed == RZ_FAULT_DELAY &&
        (!rz_quantity_duration(next(words), &fault->amount) || fault->amount == 0)) {
        return false;
    }
    if (!parse_when(words, fault, why)) {
        return false;
    }
    *why = "for needs a duration like 2s";
    return fault->deed == RZ_FAULT_HEAL || !take_word(words, "for") ||
           (rz_quantity_duration(next(words), &fault->duration) && fault->duration > 0);
}

static bool take_network(struct words *words, struct rz_fault *fault)
{
    static const struct {
        const char *word;
        enum rz_fault_deed deed;
    } deeds[] = {{"cut", RZ_FAULT_CUT},
                 {"delay", RZ_FAULT_DELAY},
                 {"lose", RZ_FAULT_LOSE},
                 {"heal", RZ_FAULT_HEAL}};
    for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++) {
        if (take_word(words, deeds[i].word)) {
            fault->deed = deeds[i].deed;
            return true;
        }
    }
    return false;
}

bool rz_fault_parse(const char *text, struct rz_fault *fault, const char **why)
{
    struct words words;
    *fault = (struct rz_fault){.deed = RZ_FAULT_KILL};
    *why = "it has too many or too long words";
    if (!split(text, &words)) {
        return false;
    }
    if (take_word(&words, "every")) {
        if (!parse_every(&words, fault, why)) {
            return false;
        }
    } else if (take_network(&words, fault)) {
        if (!parse_network(&words, fault, why)) {
            return false;
        }
    } else {
        *why = "it begins with kill, stop, every, cut, delay, lose or heal";
        if (take_word(&words, "stop")) {
            fault->deed = RZ_FAULT_STOP;
        } else if (!take_word(&words, "kill")) {
            return false;
        }
        if (!parse_victim(&words, fault, why) || !parse_when(&words, fault, why)) {
            return false;
        }
        *why = "a stop ends with `for` and a duration like 2s";
        if (fault->deed == RZ_FAULT_STOP &&
            (!take_word(&words, "for") || !rz_quantity_duration(next(&words), &fault->duration))) {
            return false;
        }
    }
    *why = "there are further words after its end";
    return words.at == words.n;
}
