/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists: generated, sorted, split, merged. */
#include "sort.h"

#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 8, DIGITS = 4, VALUES = 1 << DIGIT_BITS, FEW_VALUES = 16 };

uint64_t sort_mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
}

/* The first element of list v; of P its elements end with the last. */
static uint64_t first_of(uint32_t v)
{
    const struct sort_options *o = &sort_options;
    uint64_t part = o->count / o->virtuals, rest = o->count % o->virtuals;
    return part * v + (v < rest ? v : rest);
}

static uint32_t element(uint64_t i)
{
    const struct sort_options *o = &sort_options;
    uint64_t random = sort_mix(sort_mix(o->seed) + i);
    switch (o->distribution) {
    case SORT_FEW:
        return (uint32_t)sort_mix(random % FEW_VALUES);
    case SORT_SORTED: /* ascending, with repetitions where there are more than 2^32 */
        return (uint32_t)((double)i / (double)o->count * UINT32_MAX);
    case SORT_EQUAL:
        return (uint32_t)sort_mix(o->seed);
    default:
        return (uint32_t)random;
    }
}

void sort_generate(uint32_t v, struct sort_list *list)
{
    uint64_t first = first_of(v);
    list->n = first_of(v + 1) - first;
    list->at = sort_memory(NULL, list->n, sizeof(*list->at));
    for (uint64_t i = 0; i < list->n; i++) {
        list->at[i] = element(first + i);
    }
}

static void sum_add(struct sort_sum *sum, uint32_t value)
{
    uint64_t hash = sort_mix(value);
    sum->n++;
    sum->sum += hash;
    sum->xor ^= sort_mix(hash);
}

void sort_generate_sum(uint32_t v, struct sort_sum *sum)
{
    for (uint64_t i = first_of(v), end = first_of(v + 1); i < end; i++) {
        sum_add(sum, element(i));
    }
}

void sort_list_sum(const struct sort_list *list, struct sort_sum *sum)
{
    for (uint64_t i = 0; i < list->n; i++) {
        sum_add(sum, list->at[i]);
    }
}

/* By one digit, stable. */
static void sort_digit(const uint32_t *from, uint64_t n, uint32_t *to, int shift)
{
    uint64_t place[VALUES + 1] = {0};
    for (uint64_t i = 0; i < n; i++) {
        place[(from[i] >> shift & (VALUES - 1)) + 1]++;
    }
    for (int value = 0; value < VALUES; value++) {
        place[value + 1] += place[value];
    }
    for (uint64_t i = 0; i < n; i++) {
        to[place[from[i] >> shift & (VALUES - 1)]++] = from[i];
    }
}

void sort_list_sort(struct sort_list *list)
{
    uint32_t *other = sort_memory(NULL, list->n, sizeof(*other));
    for (int digit = 0; digit < DIGITS; digit++) {
        sort_digit(list->at, list->n, other, digit * DIGIT_BITS);
        uint32_t *sorted = other;
        other = list->at;
        list->at = sorted;
    }
    free(other);
}

bool sort_list_is_sorted(const struct sort_list *list)
{
    for (uint64_t i = 1; i < list->n; i++) {
        if (list->at[i - 1] > list->at[i]) {
            return false;
        }
    }
    return true;
}

uint64_t sort_list_split(const struct sort_list *list, uint32_t pivot)
{
    uint64_t low = 0, high = list->n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (list->at[middle] <= pivot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The order of the two is not predictable: arithmetic instead of a branch. */
void sort_merge(const uint32_t *a, uint64_t n_a, const uint32_t *b, uint64_t n_b, uint32_t *to)
{
    uint64_t i = 0, j = 0;
    while (i < n_a && j < n_b) {
        uint32_t of_a = a[i], of_b = b[j];
        uint64_t is_a = of_a <= of_b;
        *to++ = is_a ? of_a : of_b;
        i += is_a;
        j += !is_a;
    }
    if (i < n_a) {
        memcpy(to, a + i, (n_a - i) * sizeof(*to));
    }
    if (j < n_b) {
        memcpy(to, b + j, (n_b - j) * sizeof(*to));
    }
}

void sort_list_free(struct sort_list *list)
{
    free(list->at);
    *list = (struct sort_list){0};
}

uint32_t sort_partner(uint32_t dimensions, uint32_t s, uint32_t v)
{
    return v ^ UINT32_C(1) << (dimensions - s);
}

uint32_t sort_cluster(uint32_t dimensions, uint32_t s, uint32_t v, uint32_t *size)
{
    *size = UINT32_C(1) << (dimensions - s + 1);
    return v & ~(*size - 1);
}

/* c(v, s) is v xor 2^(s-1) xor j for j = 0, 1, ... 2^(s-1)-1; so all of them in turn are v xor k
 * for k = 1, 2, ... with the bits below the highest in their order. */
int sort_owner(const bool *lives, int n, uint32_t v)
{
    uint32_t all = 1;
    while (all < (uint32_t)n) {
        all *= 2;
    }
    v %= all;
    for (uint32_t k = 0; k < all; k++) {
        if ((v ^ k) < (uint32_t)n && lives[v ^ k]) {
            return (int)(v ^ k);
        }
    }
    return -1;
}
