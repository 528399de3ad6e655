/* Checks an encoder of float32 to E4M3 against one file of plain vectors:
 *
 *   cc -std=c99 -O2 check_encode.c my_encoder.c -o check
 *   ./check vectors/plain/encode/e4m3.f32.txt
 *
 * A line is the input in hex, then the code of each policy; the first is compared, which is ocp.
 * Exit status: 0 if all are right, 1 if one is wrong, 2 if there are no cases. */
#include <stdint.h>
#include <stdio.h>

uint8_t encode(uint32_t bits); /* yours */

static int is_nan(unsigned code) { return (code & 0x7f) == 0x7f; } /* every NaN is right */

int main(int argc, char **argv)
{
    char line[80];
    unsigned bits, want;
    long cases = 0, wrong = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: check vectors/plain/encode/e4m3.f32.txt\n");
        return 2;
    }
    for (; fgets(line, sizeof line, file); ++cases) {
        if (sscanf(line, "%8x %2x", &bits, &want) != 2) {
            fprintf(stderr, "%s:%ld: is no case: %s", argv[1], cases + 1, line);
            return 2;
        }
        unsigned got = encode(bits);
        if (got == want || (is_nan(got) && is_nan(want)))
            continue;
        if (wrong++ == 0)
            printf("%s:%ld: in %08x, want %02x, got %02x\n", argv[1], cases + 1, bits, want, got);
    }
    printf("%ld cases, %ld wrong\n", cases, wrong);
    return cases == 0 ? 2 : wrong != 0;
}
