// Checks an encoder and a quantizer of MXFP4 from float32. To copy into a repository.
//
// Archive: mxref-vectors-VERSION-mxfp4.zip, unpacked; FOLDER is where it is.
//
//   g++ -std=c++14 -DKERNEL='"my_kernel.h"' check_mxfp4.cpp -o check && ./check FOLDER
//
// The header has two functions:
//
//   uint8_t my_encode(uint32_t number);                      // a float32 pattern to an E2M1 code
//   void my_quantize(const uint32_t x[32], uint8_t out[33]); // the scale code, then 32 codes
//
// Exit status: 0 if all are right, 1 if one is wrong, 2 if a file is not there.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
#include KERNEL

static std::vector<uint32_t> words_of(const std::string &line)
{
    std::vector<uint32_t> words;
    std::istringstream text(line);
    for (uint32_t word; text >> std::hex >> word;)
        words.push_back(word);
    return words;
}

// A line has the input words, then the output words. E2M1 has no NaN, so that bits are compared;
// under the NaN scale ff no element is.
static bool is_right(const std::vector<uint32_t> &words)
{
    if (words.size() == 2)
        return my_encode(words[0]) == words[1];
    uint8_t got[33];
    my_quantize(words.data(), got);
    for (int i = 0; i < 33; ++i)
        if (got[i] != words[32 + i] && !(i > 0 && words[32] == 0xff))
            return false;
    return true;
}

int main(int argc, char **argv)
{
    const struct { const char *name; size_t words; } files[] = {
        {"/plain/encode/e2m1.f32.txt", 2}, {"/plain/quantize/mxfp4_e2m1.f32.txt", 65}};
    long cases = 0, wrong = 0;
    for (const auto &file : files) {
        const std::string path = (argc > 1 ? argv[1] : ".") + std::string(file.name);
        std::ifstream lines(path);
        long number = 0;
        for (std::string line; std::getline(lines, line); ++cases) {
            ++number;
            const auto words = words_of(line);
            if (words.size() != file.words)
                return std::fprintf(stderr, "%s:%ld: is no case\n", path.c_str(), number), 2;
            if (!is_right(words) && wrong++ < 5)
                std::printf("%s:%ld is wrong: %s\n", path.c_str(), number, line.c_str());
        }
        if (number == 0)
            return std::fprintf(stderr, "%s: no cases\n", path.c_str()), 2;
    }
    std::printf("%ld cases, %ld wrong\n", cases, wrong);
    return wrong != 0;
}
