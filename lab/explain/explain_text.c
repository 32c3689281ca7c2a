/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentences, and the run as text. */
#include "explain/explain_state.h"

void rz_explain_list(uint32_t bits, char *text, size_t bytes)
{
    uint32_t left = (uint32_t)__builtin_popcount(bits);
    size_t used = 0;
    text[0] = 0;
    for (rz_id id = 0; id < 32 && used < bytes; id++) {
        if (bits & rz_explain_bit(id)) {
            left--;
            used += (size_t)snprintf(text + used, bytes - used, "%u%s", id,
                                     left > 1    ? ", "
                                     : left == 1 ? " and "
                                                 : "");
        }
    }
}

void rz_explain_label_known(const uint64_t *failed, uint32_t n, char label[RZ_EXPLAIN_LABEL])
{
    char list[64];
    uint32_t bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        bits |= rz_explain_bit((rz_id)failed[i]);
    }
    if (bits) {
        rz_explain_list(bits, list, sizeof(list));
        snprintf(label, RZ_EXPLAIN_LABEL, "knows %.24s", list);
    }
}

void rz_explain_sentence_text(const struct rz_explain *explain,
                              const struct rz_explain_sentence *sentence, char *text, size_t bytes)
{
    char list[128];
    uint32_t all = (uint32_t)__builtin_popcount(sentence->members);
    rz_explain_list(sentence->members, list, sizeof(list));
    if (all == 1) {
        snprintf(text, bytes, "%s %s %s.", explain->subject->one, list, sentence->words.one);
    } else if (all == explain->members) {
        snprintf(text, bytes, "All %s %s.",
                 explain->subject->many[0] == 'D' ? "daemons" : "members", sentence->words.many);
    } else {
        snprintf(text, bytes, "%s %s %s.", explain->subject->many, list, sentence->words.many);
    }
}

void rz_explain_command(const struct rz_explain *explain, char *text, size_t bytes)
{
    snprintf(text, bytes, "rzsim explain %s --members %u --seed %llu --plan %s",
             explain->subject->name, explain->members, (unsigned long long)explain->seed,
             explain->plan);
}

const struct rz_explain_frame *rz_explain_shown(const struct rz_explain *explain, uint32_t step)
{
    for (uint32_t i = 0; i < explain->n_frames; i++) {
        if (explain->frame[i].shown && explain->frame[i].number == step) {
            return &explain->frame[i];
        }
    }
    return NULL;
}

void rz_explain_print(const struct rz_explain *explain, FILE *out)
{
    char text[4608];
    fprintf(out, "%s\n\n", explain->subject->title);
    for (uint32_t step = 1; step <= explain->n_shown; step++) {
        const struct rz_explain_frame *frame = rz_explain_shown(explain, step);
        for (uint32_t i = 0; i < frame->n_sentences; i++) {
            rz_explain_sentence_text(explain, &frame->sentence[i], text, sizeof(text));
            if (i == 0) {
                fprintf(out, "%3u. %s\n", step, text);
            } else {
                fprintf(out, "     %s\n", text);
            }
        }
    }
    rz_explain_command(explain, text, sizeof(text));
    fprintf(out, "\nThe same run again: %s\n", text);
}
