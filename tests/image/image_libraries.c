/* SPDX-License-Identifier: BSD-3-Clause */
/* A program to save: loads and unloads libraries, and uses locales and conversions, which load
 * some. image_libraries PLUGIN */
#include <dlfcn.h>
#include <iconv.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <stdlib.h>

static unsigned long sum;

static double plugged(const char *path, int round)
{
    static void *other;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        printf("%s\n", dlerror());
        exit(1);
    }
    double (*function)(int, double);
    *(void **)&function = dlsym(plugin, "image_plugin");
    double x = round;
    for (int k = 0; k < 20000; k++) {
        x = function(k, x);
    }
    if (round % 40 == 20) {
        other = dlopen("libgomp.so.1", RTLD_NOW);
    } else if (round % 40 == 39 && other) {
        dlclose(other), other = NULL;
    }
    if (round % 3 == 2) {
        dlclose(plugin), dlclose(plugin);
    }
    return x;
}

static void converted(char *text)
{
    char out[400];
    wchar_t wide[200];
    mbstowcs(wide, text, 200);
    iconv_t convert = iconv_open("ISO-8859-15", "UTF-8");
    char *from = text, *to = out;
    size_t left = strlen(text), room = sizeof(out);
    iconv(convert, &from, &left, &to, &room);
    iconv_close(convert);
    for (wchar_t *w = wide; *w; w++) {
        sum = sum * 31 + (unsigned)*w;
    }
    for (char *c = out; c < to; c++) {
        sum = sum * 31 + (unsigned char)*c;
    }
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    for (int round = 0; round < 400; round++) {
        double x = plugged(argv[argc - 1], round);
        char text[200];
        time_t day = 86400L * round;
        size_t n = strftime(text, sizeof(text), "%A %d. %B", gmtime(&day));
        snprintf(text + n, sizeof(text) - n, " %'.3f \xc3\xa4", x);
        converted(text);
        if (round % 50 == 0) {
            printf("%d %s %lx\n", round, text, sum);
            fflush(stdout);
        }
    }
    printf("end %lx\n", sum);
    return 0;
}
