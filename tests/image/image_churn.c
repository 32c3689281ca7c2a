/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to save: malloc and free, a file that is read back, large arrays, deep recursion. Its
 * output says whether anything of that has been lost. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS (1 << 19)
#define SLOTS 512
#define ROUNDS 200

static uint64_t numbers[NUMBERS];
static char *slot[SLOTS];
static size_t size[SLOTS];
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static uint64_t deep(int n, uint64_t x)
{
    volatile char frame[200];
    memset((void *)frame, (int)x, sizeof(frame));
    uint64_t y = n == 0 ? x : deep(n - 1, x * 6364136223846793005u + (uint64_t)n);
    return y ^ (uint64_t)(unsigned char)frame[n % 200];
}

static uint64_t churn(uint64_t sum)
{
    for (int i = 0; i < 200; i++) {
        size_t k = next() % SLOTS;
        for (size_t b = 0; b < size[k]; b += 97) {
            sum = sum * 31 + (unsigned char)slot[k][b];
        }
        free(slot[k]);
        size[k] = next() % (next() % 16 == 0 ? 300000 : 3000);
        slot[k] = malloc(size[k] + 1);
        memset(slot[k], (int)next(), size[k] + 1);
    }
    return sum;
}

int main(void)
{
    FILE *file = fopen("churn.txt", "w+");
    uint64_t sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sum = churn(sum);
        for (int i = 0; i < NUMBERS / 16; i++) {
            numbers[next() % NUMBERS] += (uint64_t)i;
        }
        sum ^= deep(4000, sum);
        fprintf(file, "round %d sum %016lx\n", round, (unsigned long)sum);
        if (round % 50 == 0) {
            printf("at %d: %016lx\n", round, (unsigned long)sum);
        }
    }
    for (int i = 0; i < NUMBERS; i++) {
        sum = sum * 31 + numbers[i];
    }
    fflush(file);
    rewind(file);
    int c;
    while ((c = getc(file)) != EOF) {
        sum = sum * 31 + (uint64_t)c;
    }
    printf("end %016lx\n", (unsigned long)sum);
    return 0;
}
