// Which sets of instructions a kernel was compiled for, and which this processor has.
//
// A kernel says its signatures in a namespace, `#define MINE(set) namespace set { void f(…); }`, then
//
//     INSTAR_IN_ALL_SETS(MINE)     declares them for each set,
//     INSTAR_CHOICE(Kernel, f)     makes f<Real>(instructions), a Kernel<Real>, that picks one.

#pragma once

namespace instar {

enum class Instructions { baseline, avx2, avx512 };

inline Instructions of_this_processor() {
#if defined(INSTAR_X86)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && fma) return Instructions::avx512;
  if (fma) return Instructions::avx2;
#endif
  return Instructions::baseline;
}

inline const char* name_of(Instructions instructions) {
  if (instructions == Instructions::avx512) return "AVX-512";
  if (instructions == Instructions::avx2) return "AVX2";
  return "baseline";
}

#if defined(INSTAR_X86)
#define INSTAR_IN_ALL_SETS(declared) declared(baseline) declared(avx2) declared(avx512)
#define INSTAR_CHOICE(Kernel, name)                                     \
  template <class Real>                                                 \
  Kernel<Real> name(Instructions instructions) {                        \
    if (instructions == Instructions::avx512) return avx512::name;      \
    if (instructions == Instructions::avx2) return avx2::name;          \
    return baseline::name;                                              \
  }
#else
#define INSTAR_IN_ALL_SETS(declared) declared(baseline)
#define INSTAR_CHOICE(Kernel, name)    \
  template <class Real>                \
  Kernel<Real> name(Instructions) {    \
    return baseline::name;             \
  }
#endif

}  // namespace instar
