/* A lookup as a function of arrays; its name and the type of a pattern are macros. */
#include <stddef.h>
#include "table.h"
#include "table.h"
#ifdef __cplusplus
extern "C"
#endif
void run(const WORD *x, uint8_t *code, size_t n)
{
    size_t i;
    for (i = 0; i < n; ++i) code[i] = LOOKUP(x[i]);
}
