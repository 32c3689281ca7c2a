/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, powers, shares, durations and addresses as people write them. */
#include "cli/quantity.h"
#include "fuzz_text.h"
#include "port/socket.h"

#include <math.h>
#include <stdio.h>

__extension__ typedef unsigned __int128 wide;

/* Digits alone; saturates far above 64 bits. */
static bool model_number(const char *text, size_t n, wide *value)
{
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        *value = *value * 10 + (wide)(text[i] - '0');
        if (*value > (wide)UINT64_MAX) {
            *value = (wide)UINT64_MAX + 1;
        }
    }
    return n > 0;
}

static void check_number(const char *text, uint64_t low, uint64_t high)
{
    wide expected;
    uint64_t value = 77;
    bool good = rz_quantity_number(text, low, high, &value);
    bool number = model_number(text, strlen(text), &expected);
    rz_fuzz_holds(good == (number && expected >= low && expected <= high));
    rz_fuzz_holds(good ? value == expected : value == 77);
}

static void check_power(const char *text, uint64_t low, uint64_t high)
{
    wide base, exponent, power = 1;
    uint64_t value = 77;
    size_t n = strcspn(text, "^");
    bool good = rz_quantity_power(text, low, high, &value);
    if (!text[n]) {
        rz_fuzz_holds(good == rz_quantity_number(text, low, high, &value));
        return;
    }
    bool number = n < 24 && model_number(text, n, &base) && base >= 1 && base <= UINT64_MAX &&
                  model_number(text + n + 1, strlen(text + n + 1), &exponent) && exponent <= 63;
    for (unsigned i = 0; number && i < exponent; i++) {
        power *= base;
        number = power <= UINT64_MAX;
    }
    rz_fuzz_holds(good == (number && power >= low && power <= high));
    rz_fuzz_holds(good ? value == power : value == 77);
}

static void check_real(const char *text)
{
    double share = -1;
    rz_time time = 77;
    if (rz_quantity_share(text, &share)) {
        rz_fuzz_holds(share >= 0 && share <= 1);
    } else {
        rz_fuzz_holds(share == -1);
    }
    rz_time seconds = 77;
    bool plain = *text && text[strspn(text, "0123456789")] == 0;
    bool good = rz_quantity_duration(text, &time);
    rz_fuzz_holds(rz_quantity_seconds(text, &seconds) ? good ? seconds == time : plain
                                                      : !good && seconds == 77);
    if (!good) {
        rz_fuzz_holds(time == 77);
        return;
    }
    /* A number as people write it: no hexadecimal, no sign, a unit. */
    rz_fuzz_holds(text[0] >= '0' && text[0] <= '9' && !strpbrk(text, "xXpPnN \t"));
    rz_fuzz_holds(time < (rz_time)1000000000000000000);
    rz_fuzz_holds(strspn(text, "0123456789.eE+-") < strlen(text));
}

static void check_bytes(const char *text, uint64_t low, uint64_t high)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    uint64_t bytes = 77;
    wide expected = (wide)UINT64_MAX + 1;
    size_t n = strspn(text, "0123456789");
    bool number = n < 24 && model_number(text, n, &expected), unit = false;
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(text + n, units[i]) == 0) {
            unit = true, expected <<= 10 * i;
        }
    }
    bool good = rz_quantity_bytes(text, low, high, &bytes);
    rz_fuzz_holds(good == (number && unit && expected >= low && expected <= high));
    rz_fuzz_holds(good ? bytes == expected : bytes == 77);
}

static void check_address(const char *text)
{
    struct rz_address address, again;
    char form[RZ_ADDRESS_TEXT];
    if (rz_address_parse(text, &address) != RZ_OK) {
        return;
    }
    rz_fuzz_holds(rz_address_parse(rz_address_text(&address, form), &again) == RZ_OK);
    rz_fuzz_holds(rz_address_same_ip(&again, &address) && again.port == address.port);
    const char *end = *text == '[' ? strchr(text, ']') + 1 : text, *colon = strchr(end, ':');
    bool bare = colon && strchr(colon + 1, ':'); /* IPv6 without a port */
    rz_fuzz_holds((colon && !bare ? strtoul(colon + 1, NULL, 10) : 0) == address.port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rz_fuzz_input input = {data, data + size};
    static const uint64_t bounds[] = {0,         1, 2, 65535, UINT32_MAX, INT64_MAX, UINT64_MAX - 1,
                                      UINT64_MAX};
    uint64_t low = bounds[rz_fuzz_below(&input, 8)], high = bounds[rz_fuzz_below(&input, 8)];
    char *text = rz_fuzz_text(input.at, rz_fuzz_left(&input));
    check_number(text, low, high);
    check_power(text, low, high);
    check_real(text);
    check_bytes(text, low, high);
    check_address(text);
    free(text);
    return 0;
}

/* The first two characters choose the bounds. */
static const char *const texts[] = {"07"
                                    "18446744073709551615",
                                    "07"
                                    "42",
                                    "13"
                                    "65535",
                                    "07"
                                    "2^20",
                                    "07"
                                    "2^63",
                                    "07"
                                    "1048576",
                                    "07"
                                    "0.1%",
                                    "07"
                                    "0.001",
                                    "07"
                                    "1e-3",
                                    "07"
                                    "900ms",
                                    "07"
                                    "2.5h",
                                    "07"
                                    "300us",
                                    "07"
                                    "1m",
                                    "07"
                                    "127.0.0.1:8080",
                                    "07"
                                    "127.0.0.1:65536",
                                    "07"
                                    "10.1.2.3",
                                    "07"
                                    "[fd78::1]:5000",
                                    "07"
                                    "::ffff:10.1.0.1",
                                    NULL};
static const char *const words[] = {"^",
                                    "%",
                                    "ms",
                                    "us",
                                    "s",
                                    "m",
                                    "h",
                                    ".",
                                    "e",
                                    "-",
                                    "+",
                                    "0x",
                                    "inf",
                                    "nan",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "1e18",
                                    "1e308",
                                    "255.",
                                    ":65535",
                                    ":65536",
                                    "000",
                                    NULL};

static size_t seed(uint32_t number, uint8_t *bytes, size_t max)
{
    return rz_fuzz_seed_text(texts, number, bytes, max);
}

const struct rz_fuzz_target rz_fuzz_target = {.name = "fuzz_cli_quantity",
                                              .input_max = 128,
                                              .memory_fixed = 64,
                                              .memory_factor = 2,
                                              .seed = seed,
                                              .words = words};
