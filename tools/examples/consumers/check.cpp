// Checks the kernel of kernel.hpp against plain vectors, without mxref:
//
//   g++ -std=c++17 -O2 check.cpp -o check
//   ./check vectors/plain/encode/e4m3.f32.txt vectors/plain/quantize/mxfp8_e4m3.f32.txt
//
// A line is the input words in hex, then the words of each column; the first column is ocp.
// Exit status: 0 if all cases are right, 1 if one is wrong, 2 if a file is none of these.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "kernel.hpp"

static float number(uint32_t bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// Whether a code is right: every NaN of E4M3 is.
static bool equal(uint32_t got, uint32_t want)
{
    return got == want || ((got & 0x7f) == 0x7f && (want & 0x7f) == 0x7f);
}

static bool right(const std::vector<uint32_t> &in, const std::vector<uint32_t> &want)
{
    if (in.size() == 1)
        return equal(encode(number(in[0])), want[0]);
    float x[32];
    uint8_t scale, codes[32];
    for (int i = 0; i < 32; ++i)
        x[i] = number(in[i]);
    quantize(x, &scale, codes);
    bool all = scale == want[0];
    for (int i = 0; i < 32 && want[0] != 0xff; ++i) // under a NaN scale no code is compared
        all = all && equal(codes[i], want[1 + i]);
    return all;
}

int main(int argc, char **argv)
{
    long cases = 0, wrong = 0;
    for (int i = 1; i < argc; ++i) {
        const bool blocks = std::strstr(argv[i], "quantize/mxfp8_e4m3.f32") != nullptr;
        std::vector<uint32_t> in(blocks ? 32 : 1), want(blocks ? 33 : 1);
        std::ifstream file(argv[i]);
        if (!file || (!blocks && std::strstr(argv[i], "encode/e4m3.f32") == nullptr))
            return std::fprintf(stderr, "%s: no file of E4M3 from float32\n", argv[i]), 2;
        std::string line;
        for (long number = 1; std::getline(file, line); ++number, ++cases) {
            std::istringstream words(line);
            words >> std::hex;
            for (auto *some : {&in, &want})
                for (uint32_t &word : *some)
                    if (!(words >> word))
                        return std::fprintf(stderr, "%s:%ld: is no case\n", argv[i], number), 2;
            if (!right(in, want) && wrong++ == 0)
                std::printf("%s:%ld is wrong: %s\n", argv[i], number, line.c_str());
        }
    }
    std::printf("%ld cases, %ld wrong\n", cases, wrong);
    return cases == 0 ? 2 : wrong != 0;
}
