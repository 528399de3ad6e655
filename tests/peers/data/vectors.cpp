#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <cstdio>
template <class V, class F> void run() {
  F f;
  while (std::fread(&f, sizeof f, 1, stdin) == 1) {
    V v(f);
    std::fwrite(&v.__x, sizeof v.__x, 1, stdout);
    F g = static_cast<F>(v);
    std::fwrite(&g, sizeof g, 1, stdout);
  }
}
int main(int, char **argv) {
  switch (argv[1][0]) {
    case 'a': run<__nv_fp4x2_e2m1, float2>(); break;
    case 'b': run<__nv_fp4x4_e2m1, float4>(); break;
    case 'c': run<__nv_fp6x2_e3m2, float2>(); break;
    case 'd': run<__nv_fp6x4_e3m2, float4>(); break;
    case 'e': run<__nv_fp6x2_e2m3, float2>(); break;
    case 'f': run<__nv_fp6x4_e2m3, float4>(); break;
    case 'g': run<__nv_fp8x2_e4m3, float2>(); break;
    case 'h': run<__nv_fp8x4_e4m3, float4>(); break;
    case 'i': run<__nv_fp8x2_e5m2, float2>(); break;
    case 'j': run<__nv_fp8x4_e5m2, float4>(); break;
  }
}
