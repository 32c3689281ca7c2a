/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoint schemes as text. */
#include "ckpt/scheme.h"

#include <stdio.h>
#include <string.h>

static const char *const words[RZ_SCHEME_COUNT] = {[RZ_SCHEME_MEMORY] = "memory",
                                                   [RZ_SCHEME_BUDDY] = "buddy",
                                                   [RZ_SCHEME_XOR] = "xor",
                                                   [RZ_SCHEME_RS] = "rs",
                                                   [RZ_SCHEME_FILE] = "file"};

/* Up to three digits; what follows them, or NULL. */
static const char *read_number(const char *text, uint32_t *number)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 3) {
        return NULL;
    }
    *number = 0;
    for (size_t i = 0; i < n; i++) {
        *number = *number * 10 + (uint32_t)(text[i] - '0');
    }
    return text + n;
}

static bool parse_xor(const char *numbers, struct rz_scheme *scheme, const char **why)
{
    uint32_t nodes;
    const char *end = read_number(numbers, &nodes);
    *why = "xor needs the number of nodes of a group, from 2 to 32, like xor:4";
    if (!end || *end || nodes < 2 || nodes > RZ_SCHEME_GROUP_MAX) {
        return false;
    }
    *scheme = (struct rz_scheme){.kind = RZ_SCHEME_XOR, .data = nodes - 1, .parity = 1};
    return true;
}

static bool parse_rs(const char *numbers, struct rz_scheme *scheme, const char **why)
{
    uint32_t data, parity;
    const char *plus = read_number(numbers, &data);
    const char *end = plus && *plus == '+' ? read_number(plus + 1, &parity) : NULL;
    *why = "rs needs K+M, like rs:3+2: groups of K+M nodes, at most 32, of which any M may be lost";
    if (!end || *end || data < 1 || parity < 1 || data + parity > RZ_SCHEME_GROUP_MAX) {
        return false;
    }
    *scheme = (struct rz_scheme){.kind = RZ_SCHEME_RS, .data = data, .parity = parity};
    return true;
}

bool rz_scheme_parse(const char *text, struct rz_scheme *scheme, const char **why)
{
    if (strncmp(text, "xor:", 4) == 0) {
        return parse_xor(text + 4, scheme, why);
    }
    if (strncmp(text, "rs:", 3) == 0) {
        return parse_rs(text + 3, scheme, why);
    }
    for (unsigned kind = 0; kind < RZ_SCHEME_COUNT; kind++) {
        if (kind != RZ_SCHEME_XOR && kind != RZ_SCHEME_RS && strcmp(text, words[kind]) == 0) {
            *scheme = (struct rz_scheme){.kind = (enum rz_scheme_kind)kind};
            return true;
        }
    }
    *why = "it is memory, buddy, xor:K (like xor:4), rs:K+M (like rs:3+2) or file";
    return false;
}

void rz_scheme_text(const struct rz_scheme *scheme, char text[RZ_SCHEME_TEXT_MAX])
{
    if (scheme->kind == RZ_SCHEME_XOR) {
        snprintf(text, RZ_SCHEME_TEXT_MAX, "xor:%u", scheme->data + scheme->parity);
    } else if (scheme->kind == RZ_SCHEME_RS) {
        snprintf(text, RZ_SCHEME_TEXT_MAX, "rs:%u+%u", scheme->data, scheme->parity);
    } else {
        snprintf(text, RZ_SCHEME_TEXT_MAX, "%s",
                 scheme->kind < RZ_SCHEME_COUNT ? words[scheme->kind] : "?");
    }
}

uint32_t rz_scheme_nodes(const struct rz_scheme *scheme)
{
    return scheme->data + scheme->parity > 0 ? scheme->data + scheme->parity : 1;
}

bool rz_scheme_valid(const struct rz_scheme *scheme)
{
    bool group = scheme->kind == RZ_SCHEME_XOR || scheme->kind == RZ_SCHEME_RS;
    if (scheme->kind >= RZ_SCHEME_COUNT) {
        return false;
    }
    if (!group) {
        return scheme->data == 0 && scheme->parity == 0;
    }
    return scheme->data >= 1 && scheme->parity >= 1 && scheme->data <= RZ_SCHEME_GROUP_MAX &&
           scheme->parity <= RZ_SCHEME_GROUP_MAX - scheme->data &&
           (scheme->kind == RZ_SCHEME_RS || scheme->parity == 1);
}
