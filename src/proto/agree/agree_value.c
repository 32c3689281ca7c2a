/* SPDX-License-Identifier: BSD-3-Clause */
/* Values: merged from contributions, replaced by a decision, always in the form of a message. */
#include "proto/agree/agree_private.h"

#include "base/idset.h"

#include <string.h>

static bool ascending(const uint64_t *items, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (items[i - 1] >= items[i]) {
            return false;
        }
    }
    return true;
}

bool rz_agree_value_valid(const struct rz_agree *agree, const struct rz_message *message,
                          const uint64_t *items)
{
    if (message->n_items < RZ_AGREE_VALUE_WORDS ||
        message->word[0] > message->n_items - RZ_AGREE_VALUE_WORDS) {
        return false;
    }
    uint32_t n_failed = (uint32_t)message->word[0];
    const uint64_t *failed = items + RZ_AGREE_VALUE_WORDS;
    return ascending(failed, n_failed) &&
           (n_failed == 0 || failed[n_failed - 1] < agree->config.n_members) &&
           ascending(failed + n_failed, message->n_items - RZ_AGREE_VALUE_WORDS - n_failed);
}

static struct rz_agree_parts parts(const uint64_t *value, uint32_t n_failed, uint32_t n_items)
{
    return (struct rz_agree_parts){.words = value,
                                   .failed = value + RZ_AGREE_VALUE_WORDS,
                                   .items = value + RZ_AGREE_VALUE_WORDS + n_failed,
                                   .n_failed = n_failed,
                                   .n_items = n_items};
}

struct rz_agree_parts rz_agree_parts_of_message(const struct rz_message *message,
                                                const uint64_t *items)
{
    uint32_t n_failed = (uint32_t)message->word[0];
    return parts(items, n_failed, message->n_items - RZ_AGREE_VALUE_WORDS - n_failed);
}

struct rz_agree_parts rz_agree_parts_of_op(const struct rz_agree *agree,
                                           const struct rz_agree_op *op)
{
    return parts(rz_agree_op_value(agree, op), op->n_failed, op->n_items);
}

void rz_agree_value_clear(struct rz_agree *agree, struct rz_agree_op *op)
{
    uint64_t *value = rz_agree_op_value(agree, op);
    value[RZ_AGREE_AND] = value[RZ_AGREE_MIN] = value[RZ_AGREE_SETTLED] = UINT64_MAX;
    value[RZ_AGREE_MAX] = 0;
    op->n_failed = op->n_items = 0;
}

/* The failed members stand before the items: each new one moves the items up. */
static void add_failed(struct rz_agree *agree, struct rz_agree_op *op, uint64_t id)
{
    uint64_t *failed = rz_agree_op_value(agree, op) + RZ_AGREE_VALUE_WORDS;
    if (rz_items_contain(failed, op->n_failed, id)) {
        return;
    }
    memmove(failed + op->n_failed + 1, failed + op->n_failed, op->n_items * sizeof(*failed));
    rz_items_insert(failed, &op->n_failed, agree->ids_max, id);
}

/* Every operator is idempotent: after a repair of the tree a contribution may arrive twice, by two
 * paths. */
void rz_agree_value_merge(struct rz_agree *agree, struct rz_agree_op *op,
                          const struct rz_agree_parts *parts)
{
    uint64_t *value = rz_agree_op_value(agree, op);
    value[RZ_AGREE_AND] &= parts->words[RZ_AGREE_AND];
    if (parts->words[RZ_AGREE_MIN] < value[RZ_AGREE_MIN]) {
        value[RZ_AGREE_MIN] = parts->words[RZ_AGREE_MIN];
    }
    if (parts->words[RZ_AGREE_MAX] > value[RZ_AGREE_MAX]) {
        value[RZ_AGREE_MAX] = parts->words[RZ_AGREE_MAX];
    }
    if (parts->words[RZ_AGREE_SETTLED] < value[RZ_AGREE_SETTLED]) {
        value[RZ_AGREE_SETTLED] = parts->words[RZ_AGREE_SETTLED];
    }
    for (uint32_t i = 0; i < parts->n_failed; i++) {
        add_failed(agree, op, parts->failed[i]);
    }
    uint64_t *items = value + RZ_AGREE_VALUE_WORDS + op->n_failed;
    for (uint32_t i = 0; i < parts->n_items; i++) {
        rz_items_insert(items, &op->n_items, agree->items_max, parts->items[i]);
    }
}

void rz_agree_value_replace(struct rz_agree *agree, struct rz_agree_op *op,
                            const struct rz_agree_parts *parts)
{
    rz_assert(parts->n_failed <= agree->ids_max && parts->n_items <= agree->items_max);
    op->n_failed = parts->n_failed;
    op->n_items = parts->n_items;
    memcpy(rz_agree_op_value(agree, op), parts->words,
           ((size_t)RZ_AGREE_VALUE_WORDS + parts->n_failed + parts->n_items) * sizeof(uint64_t));
}

/* When the gathering ends, adds the failures that no decision has named yet to the value: a member
 * that did not contribute is then among the failed members of this decision or of an earlier one.
 * An UP that is sent again is the same UP. */
void rz_agree_value_seal(struct rz_agree *agree, struct rz_agree_op *op)
{
    const rz_id *known = rz_agree_failed_list(agree);
    const rz_id *agreed = rz_agree_agreed_list(agree);
    for (uint32_t i = 0; i < agree->n_failed; i++) {
        if (!rz_agree_ids_contain(agreed, agree->n_agreed, known[i])) {
            add_failed(agree, op, known[i]);
        }
    }
}
