/* Whether words of types are NaN, by the lines of vectors/README.md. */
#include "mx_nan.h"
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    char type[16], word[32];
    while (scanf("%15s %31s", type, word) == 2)
        putchar('0' + mx_is_nan(type, strtoull(word, NULL, 16)));
    return 0;
}
