/* Every case of plain/encode.h. */
#include <stdio.h>
#include "encode.h"
#include "encode.h" /* twice does no harm */
#define SHOW(format) do { \
    size_t i; \
    for (i = 0; i < sizeof mxref_encode_##format / sizeof *mxref_encode_##format; i++) \
        printf(#format " %08lx %02x %02x\n", (unsigned long)mxref_encode_##format[i].in, \
            mxref_encode_##format[i].sat, mxref_encode_##format[i].nonsat); \
} while (0)
int main(void) {
    SHOW(e5m2); SHOW(e4m3); SHOW(e3m2); SHOW(e2m3); SHOW(e2m1); SHOW(int8);
    return 0;
}
