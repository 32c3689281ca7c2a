/* SPDX-License-Identifier: BSD-3-Clause */
/* Control characters: 00 to 1F, 7F, and C2 80 to C2 9F; what was shown before this text may have
 * ended with C2. */
#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

void rz_printable(char *text, size_t n, const char *kept)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i],
                      before = i > 0 ? (unsigned char)text[i - 1] : 0xc2;
        bool second = c >= 0x80 && c <= 0x9f && before == 0xc2;
        bool control = c < ' ' || c == 0x7f;
        if (second && i > 0) {
            text[i - 1] = '?';
        }
        if (second || (control && (c == 0 || !strchr(kept, c)))) {
            text[i] = '?';
        }
    }
}
