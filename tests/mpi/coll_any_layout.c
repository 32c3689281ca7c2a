/* SPDX-License-Identifier: BSD-3-Clause */
/* Chance, layouts and images: see coll_any.h. */
#include "coll_any.h"

#include <stdlib.h>
#include <string.h>

/* ---- Chance ---- */

uint64_t chance_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b + UINT64_C(0x632be59bd9b4e019);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int chance_below(struct chance *chance, int bound)
{
    chance->state++;
    return (int)(chance_mix(chance->state, 0x51) % (uint64_t)bound);
}

int chance_length(struct chance *chance, int most)
{
    int bits = 0;
    while (bits < 30 && 1 << bits <= most) {
        bits++;
    }
    int below = 1 << chance_below(chance, bits + 1);
    int length = chance_below(chance, below);
    return length < most ? length : most;
}

void chance_shuffle(struct chance *chance, int *list, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int other = chance_below(chance, i + 1), kept = list[i];
        list[i] = list[other];
        list[other] = kept;
    }
}

/* ---- Layouts ---- */

void signature_draw(struct signature *signature, struct chance *chance)
{
    signature->n = chance_below(chance, 2) ? 1 : 1 + chance_below(chance, BASICS_MAX);
    for (int i = 0; i < signature->n; i++) {
        signature->bytes[i] = 1 << chance_below(chance, 4);
    }
}

int signature_bytes(const struct signature *signature)
{
    int bytes = 0;
    for (int i = 0; i < signature->n; i++) {
        bytes += signature->bytes[i];
    }
    return BLOCK * bytes;
}

static MPI_Datatype basic_type(int bytes)
{
    return bytes == 1   ? MPI_SIGNED_CHAR
           : bytes == 2 ? MPI_SHORT
           : bytes == 4 ? MPI_INT
                        : MPI_DOUBLE;
}

static ptrdiff_t round_up(ptrdiff_t offset, int to)
{
    return (offset + to - 1) & -(ptrdiff_t)to;
}

void layout_place(struct layout *layout, const MPI_Datatype *types, struct chance *chance)
{
    int order[ITEMS_MAX], lengths[ITEMS_MAX];
    MPI_Aint places[ITEMS_MAX];
    MPI_Datatype base;
    for (int i = 0; i < layout->n; i++) {
        order[i] = i;
        lengths[i] = 1;
    }
    if (chance_below(chance, 2)) {
        chance_shuffle(chance, order, layout->n);
    }
    ptrdiff_t next = 16 * (chance_below(chance, 9) - 4);
    for (int k = 0; k < layout->n; k++) {
        int i = order[k];
        next = round_up(next + (chance_below(chance, 3) ? 0 : chance_below(chance, 9)),
                        layout->bytes[i]);
        layout->at[i] = places[i] = next;
        layout->low = k == 0 ? next : layout->low;
        next += layout->bytes[i];
    }
    layout->high = next;
    layout->extent = round_up(next - layout->low, 16) + 16 * chance_below(chance, 3);
    layout->extent = chance_below(chance, 5) ? layout->extent : -layout->extent;
    MPI_Type_create_struct(layout->n, lengths, places, types, &base);
    MPI_Type_create_resized(base, 8 * (chance_below(chance, 9) - 4), layout->extent, &layout->type);
    MPI_Type_commit(&layout->type);
    MPI_Type_free(&base);
    layout->own = true;
}

void layout_draw(struct layout *layout, const struct signature *signature, struct chance *chance)
{
    static const int units_of[] = {1, 1, 2, 3, 6};
    int units = units_of[chance_below(chance, 5)];
    MPI_Datatype types[ITEMS_MAX];
    *layout = (struct layout){.n = units * signature->n, .per_block = BLOCK / units};
    for (int i = 0; i < layout->n; i++) {
        layout->bytes[i] = signature->bytes[i % signature->n];
        types[i] = basic_type(layout->bytes[i]);
    }
    if (layout->n == 1 && chance_below(chance, 2)) {
        layout->type = types[0];
        layout->extent = layout->high = layout->bytes[0];
        return;
    }
    layout_place(layout, types, chance);
}

void layout_free(struct layout *layout)
{
    if (layout->own) {
        MPI_Type_free(&layout->type);
    }
    *layout = (struct layout){0};
}

/* ---- Images ---- */

enum { MARGIN = 64 };

void image_make(struct image *image, ptrdiff_t low, ptrdiff_t high)
{
    image->low = (low & -(ptrdiff_t)16) - MARGIN;
    image->bytes = (size_t)(high - image->low) + MARGIN;
    for (int side = 0; side < SIDES; side++) {
        image->memory[side] = malloc(image->bytes);
        CHECK(image->memory[side] != NULL);
        memset(image->memory[side], 0xa5, image->bytes);
    }
}

void image_free(struct image *image)
{
    free(image->memory[IS]);
    free(image->memory[SHOULD_BE]);
    *image = (struct image){0};
}

unsigned char *image_at(const struct image *image, int side)
{
    return image->memory[side] - image->low;
}

void image_settle(struct image *image)
{
    memcpy(image->memory[SHOULD_BE], image->memory[IS], image->bytes);
}

bool image_differs(const struct image *image, ptrdiff_t *offset)
{
    if (memcmp(image->memory[IS], image->memory[SHOULD_BE], image->bytes) == 0) {
        return false;
    }
    size_t i = 0;
    while (image->memory[IS][i] == image->memory[SHOULD_BE][i]) {
        i++;
    }
    *offset = (ptrdiff_t)i + image->low;
    return true;
}
