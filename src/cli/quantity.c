/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses numbers, sizes, shares and durations. */
#include "cli/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool rz_quantity_number(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || *end || number < low || number > high) {
        return false;
    }
    *value = number;
    return true;
}

bool rz_quantity_power(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    char base_text[24];
    uint64_t base, exponent, power = 1;
    size_t n = strcspn(text, "^");
    if (!text[n]) {
        return rz_quantity_number(text, low, high, value);
    }
    if (n >= sizeof(base_text)) {
        return false;
    }
    memcpy(base_text, text, n);
    base_text[n] = 0;
    if (!rz_quantity_number(base_text, 1, UINT64_MAX, &base) ||
        !rz_quantity_number(text + n + 1, 0, 63, &exponent)) {
        return false;
    }
    for (uint64_t i = 0; i < exponent; i++) {
        if (__builtin_mul_overflow(power, base, &power)) {
            return false;
        }
    }
    if (power < low || power > high) {
        return false;
    }
    *value = power;
    return true;
}

bool rz_quantity_bytes(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB"};
    char number[24];
    uint64_t bytes;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n >= sizeof(number)) {
        return false;
    }
    memcpy(number, text, n);
    number[n] = 0;
    for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strcmp(text + n, units[i]) == 0) {
            uint64_t unit = UINT64_C(1) << 10 * i;
            if (!rz_quantity_number(number, 0, UINT64_MAX, &bytes) || bytes > high / unit ||
                bytes * unit < low) {
                return false;
            }
            *value = bytes * unit;
            return true;
        }
    }
    return false;
}

bool rz_quantity_share(const char *text, double *value)
{
    char *end;
    if (!isdigit((unsigned char)*text) || text[strspn(text, "0123456789.%e-")]) {
        return false;
    }
    double number = strtod(text, &end);
    if (strcmp(end, "%") == 0) {
        number /= 100;
    } else if (*end) {
        return false;
    }
    if (!(number >= 0 && number <= 1)) {
        return false;
    }
    *value = number;
    return true;
}

/* Reads one `number unit` at *text and moves *text behind it. The unit must be smaller than *unit,
 * and is stored there. */
static bool duration_part(const char **text, rz_time *unit, double *ns)
{
    static const struct {
        const char *name;
        rz_time ns;
    } units[] = {{"us", RZ_MICROSECOND},
                 {"ms", RZ_MILLISECOND},
                 {"s", RZ_SECOND},
                 {"m", 60 * RZ_SECOND},
                 {"h", 3600 * RZ_SECOND}};
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return false;
    }
    double number = strtod(*text, &end);
    if (end !=
        *text + strspn(*text, "0123456789.e+-")) { /* strtod accepts hexadecimal numbers, too */
        return false;
    }
    size_t n = strcspn(end, "0123456789");
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        if (strlen(units[i].name) == n && strncmp(end, units[i].name, n) == 0 &&
            units[i].ns < *unit) {
            *unit = units[i].ns;
            *ns += number * (double)units[i].ns;
            *text = end + n;
            return true;
        }
    }
    return false;
}

bool rz_quantity_duration(const char *text, rz_time *value)
{
    rz_time unit = RZ_TIME_NEVER;
    double ns = 0;
    do {
        if (!duration_part(&text, &unit, &ns) || ns >= 1e18) {
            return false;
        }
    } while (*text);
    *value = (rz_time)ns;
    return true;
}

bool rz_quantity_seconds(const char *text, rz_time *value)
{
    uint64_t seconds;
    if (!rz_quantity_number(text, 0, 1000000000, &seconds)) {
        return rz_quantity_duration(text, value);
    }
    *value = seconds * RZ_SECOND;
    return true;
}
