// Vector registers of doubles, in the compilers' vector extensions, so that one source serves SSE2, AVX2,
// AVX-512 and NEON; and sums, larger, magnitude and the like for numbers and for registers.
#pragma once

#ifndef NICA_VARIANT
#error "compile with -DNICA_VARIANT=name"
#endif

#define NICA_INLINE inline __attribute__((always_inline))
#define NICA_HERE __attribute__((always_inline))  // of a lambda
#define NICA_RARE __attribute__((noinline, cold))  // kept out of the loops, and small rather than fast
#define NICA_APART __attribute__((noinline))       // large: one copy, however often it is called
#define NICA_UNROLL _Pragma("GCC unroll 16")

namespace nica {
namespace NICA_VARIANT {

#if defined(__AVX512F__)
constexpr int native_width = 8;
#elif defined(__AVX__)
constexpr int native_width = 4;
#else
constexpr int native_width = 2;
#endif

template <int W> struct LaneOf;
template <> struct LaneOf<2> { typedef double type __attribute__((vector_size(16), may_alias)); };
template <> struct LaneOf<4> { typedef double type __attribute__((vector_size(32), may_alias)); };
template <> struct LaneOf<8> { typedef double type __attribute__((vector_size(64), may_alias)); };
typedef double aliasing_double __attribute__((may_alias));

}  // namespace NICA_VARIANT
}  // namespace nica

#include "x86.hpp"

namespace nica {
namespace NICA_VARIANT {

NICA_INLINE double sum(LaneOf<2>::type v) { return v[0] + v[1]; }
NICA_INLINE double sum(LaneOf<4>::type v) {
    return sum(__builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3));
}
NICA_INLINE double sum(LaneOf<8>::type v) {
    return sum(__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7));
}
// Element i of the result is the sum of v[i].
NICA_INLINE LaneOf<2>::type sums(const LaneOf<2>::type* v) {
    return __builtin_shufflevector(v[0], v[1], 0, 2) + __builtin_shufflevector(v[0], v[1], 1, 3);
}
NICA_INLINE LaneOf<4>::type sums(const LaneOf<4>::type* v) {
    const LaneOf<4>::type a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6) +
                              __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7);
    const LaneOf<4>::type b = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6) +
                              __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7);
    return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
}
NICA_INLINE LaneOf<8>::type sums(const LaneOf<8>::type* v) {
    LaneOf<8>::type a[4], b[2];
    NICA_UNROLL for (int i = 0; i < 4; ++i)
        a[i] = __builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    NICA_UNROLL for (int i = 0; i < 2; ++i)
        b[i] = __builtin_shufflevector(a[2 * i], a[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(a[2 * i], a[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(b[0], b[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(b[0], b[1], 4, 5, 6, 7, 12, 13, 14, 15);
}
template <class Lane> NICA_INLINE Lane larger(Lane a, Lane b) { return a > b ? a : b; }
NICA_INLINE double larger(double a, double b) { return a > b ? a : b; }
NICA_INLINE double smaller(double a, double b) { return a < b ? a : b; }
NICA_INLINE double magnitude(double a) { return __builtin_fabs(a); }
NICA_INLINE double root(double a) { return __builtin_sqrt(a); }
NICA_INLINE bool all_above(double a, double b) { return a > b; }
NICA_INLINE bool all_at_most(double a, double b) { return a <= b; }

typedef LaneOf<native_width>::type Wide;
constexpr unsigned every_lane = (1u << native_width) - 1;
template <class Lane> NICA_INLINE Lane magnitude(Lane a) { return larger(a, -a); }
NICA_INLINE bool all_above(Wide a, Wide b) { return bits_negative(b - a) == every_lane; }
NICA_INLINE bool all_at_most(Wide a, Wide b) { return bits_at_most(a, b) == every_lane; }

// Loops over few columns are unrolled, so that what is small can live in registers. Of many, the matrices are
// in memory anyway, and code for each of their registers would leave the instruction cache.
constexpr int most_unrolled = 8;
template <bool unrolled, class Act> NICA_INLINE void for_each(int n, Act act) {
    if constexpr (unrolled) {
        NICA_UNROLL for (int j = 0; j < n; ++j) act(j);
    } else {
#pragma GCC unroll 2
        for (int j = 0; j < n; ++j) act(j);
    }
}

}  // namespace NICA_VARIANT
}  // namespace nica
