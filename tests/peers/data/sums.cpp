#include <cmath>
#include <cstdint>
#include <vector>

static float value(const double *a, const double *b, const int *powers, int run, int k) {
    return float(std::ldexp(a[k] * b[k], powers[k / run]));
}

static float pairs(std::vector<float> level) {
    while (level.size() > 1) {
        std::vector<float> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
        if (level.size() % 2) next.push_back(level.back());
        level = next;
    }
    return level[0];
}

// powers: the exponents of the products of scales; how: 0 sequential, 1 pairwise, 2 by_block,
// 3 scales_last, 4 sequential with fused multiplication and addition.
extern "C" float sum(const double *a, const double *b, const int *powers, int n, int run, int how) {
    std::vector<float> terms, blocks;
    for (int k = 0; k < n; ++k) terms.push_back(value(a, b, powers, run, k));
    if (how == 1) return pairs(terms);
    float total = terms[0];
    if (how == 0 || how == 4)
        for (int k = 1; k < n; ++k)
            if (how == 0) total = total + terms[k];
            else total = std::fma(float(a[k]), float(std::ldexp(b[k], powers[k / run])), total);
    if (how == 0 || how == 4) return total;
    for (int first = 0; first < n; first += run) {
        float block = how == 2 ? terms[first] : float(a[first]) * float(b[first]);
        for (int k = first + 1; k < n && k < first + run; ++k)
            block = block + (how == 2 ? terms[k] : float(a[k]) * float(b[k]));
        blocks.push_back(how == 2 ? block : block * float(std::ldexp(1.0, powers[first / run])));
    }
    total = blocks[0];
    for (size_t i = 1; i < blocks.size(); ++i) total = total + blocks[i];
    return total;
}
