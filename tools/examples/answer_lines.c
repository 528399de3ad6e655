/* A target in another language: encode of float32 to E2M1, as a program of the line protocol
 * (vectors/README.md). Replace encode() by a call of your own.
 *
 *   cc -std=c99 -O2 answer_lines.c -o answer_lines
 *   mxref verify --cmd ./answer_lines
 *   mxref gen encode e2m1 --float f32 | ./answer_lines | mxref check encode e2m1 --float f32
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The midpoints between 0, 0.5, 1, 1.5, 2, 3, 4 and 6, as float32. */
static const uint32_t MIDPOINTS[7] = {
    0x3e800000u, 0x3f400000u, 0x3fa00000u, 0x3fe00000u, 0x40200000u, 0x40600000u, 0x40a00000u,
};

static unsigned encode(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fffffffu;
    unsigned code = 0;
    if (magnitude > 0x7f800000u)
        return 7; /* NaN has no code: the largest number */
    for (unsigned lower = 0; lower < 7; ++lower) /* ties go to the even code */
        code += magnitude > MIDPOINTS[lower] || (magnitude == MIDPOINTS[lower] && lower % 2 == 1);
    return code | (bits >> 31) << 3;
}

int main(void)
{
    static char line[1 << 16]; /* questions about layouts have up to 9,000 characters */
    char id[128], op[32], format[32], type[32];
    unsigned long bits;

    puts("# formats e2m1");
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (line[0] == '#')
            continue;
        if (sscanf(line, "%127s %31s %31s %31s %lx", id, op, format, type, &bits) != 5) {
            fprintf(stderr, "no question: %.60s\n", line);
            return 1;
        }
        if (strcmp(op, "encode") == 0 && strcmp(format, "e2m1") == 0 && strcmp(type, "f32") == 0)
            printf("%s %02x\n", id, encode((uint32_t)bits));
        else
            printf("%s unsupported\n", id);
        fflush(stdout); /* so that a question may be asked after an answer */
    }
    return 0;
}
