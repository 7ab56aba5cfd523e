// The few operations for which the vector extensions have no words: signs of a register as bits, rows
// that do not fill a register, the same element of several registers.
// The only file with x86 intrinsics; other CPUs take the plain loop.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nica {
namespace NICA_VARIANT {

// Bit i is set when element i is below zero.
template <class Lane> NICA_INLINE unsigned bits_negative(Lane v) {
    unsigned bits = 0;
    for (unsigned i = 0; i < sizeof(Lane) / sizeof(double); ++i) bits |= unsigned(v[i] < 0) << i;
    return bits;
}

#if defined(__x86_64__)
template <> NICA_INLINE unsigned bits_negative(LaneOf<2>::type v) {
    return unsigned(_mm_movemask_pd(_mm_cmplt_pd((__m128d)v, _mm_setzero_pd())));
}
#endif
#if defined(__AVX__)
template <> NICA_INLINE unsigned bits_negative(LaneOf<4>::type v) {
    return unsigned(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)v, _mm256_setzero_pd(), _CMP_LT_OQ)));
}
#endif
#if defined(__AVX512F__)
template <> NICA_INLINE unsigned bits_negative(LaneOf<8>::type v) {
    return unsigned(_mm512_cmp_pd_mask((__m512d)v, _mm512_setzero_pd(), _CMP_LT_OQ));
}
#endif

// Bit i is set when element i of a is at most that of b.
template <class Lane> NICA_INLINE unsigned bits_at_most(Lane a, Lane b) {
    unsigned bits = 0;
    for (unsigned i = 0; i < sizeof(Lane) / sizeof(double); ++i) bits |= unsigned(a[i] <= b[i]) << i;
    return bits;
}
template <class Lane> NICA_INLINE Lane root(Lane a) {
    for (unsigned i = 0; i < sizeof(Lane) / sizeof(double); ++i) a[i] = __builtin_sqrt(a[i]);
    return a;
}
#if defined(__x86_64__)
template <> NICA_INLINE unsigned bits_at_most(LaneOf<2>::type a, LaneOf<2>::type b) {
    return unsigned(_mm_movemask_pd(_mm_cmple_pd((__m128d)a, (__m128d)b)));
}
template <> NICA_INLINE LaneOf<2>::type root(LaneOf<2>::type a) {
    return (LaneOf<2>::type)_mm_sqrt_pd((__m128d)a);
}
#endif
#if defined(__AVX__)
template <> NICA_INLINE unsigned bits_at_most(LaneOf<4>::type a, LaneOf<4>::type b) {
    return unsigned(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LE_OQ)));
}
template <> NICA_INLINE LaneOf<4>::type root(LaneOf<4>::type a) {
    return (LaneOf<4>::type)_mm256_sqrt_pd((__m256d)a);
}
#endif
#if defined(__AVX512F__)
template <> NICA_INLINE unsigned bits_at_most(LaneOf<8>::type a, LaneOf<8>::type b) {
    return unsigned(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ));
}
template <> NICA_INLINE LaneOf<8>::type root(LaneOf<8>::type a) {
    return (LaneOf<8>::type)_mm512_sqrt_pd((__m512d)a);
}
#endif

// The first n elements from or to memory; the rest of the register is zero, memory beyond is not touched.
template <class Lane> NICA_INLINE Lane load_first(const double* x, int n) {
    Lane v = {};
    for (int i = 0; i < n; ++i) v[i] = x[i];
    return v;
}
template <class Lane> NICA_INLINE void store_first(double* x, Lane v, int n) {
    for (int i = 0; i < n; ++i) x[i] = v[i];
}
#if defined(__AVX512VL__)
template <> NICA_INLINE LaneOf<8>::type load_first(const double* x, int n) {
    return (LaneOf<8>::type)_mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), x);
}
template <> NICA_INLINE LaneOf<4>::type load_first(const double* x, int n) {
    return (LaneOf<4>::type)_mm256_maskz_loadu_pd(__mmask8((1u << n) - 1), x);
}
template <> NICA_INLINE void store_first(double* x, LaneOf<8>::type v, int n) {
    _mm512_mask_storeu_pd(x, __mmask8((1u << n) - 1), (__m512d)v);
}
#endif

// Element i of each of three arrays, of one register or several, side by side.
template <class Lane>
NICA_INLINE LaneOf<4>::type across(const Lane* a, const Lane* b, const Lane* c, int i) {
    return LaneOf<4>::type{reinterpret_cast<const aliasing_double*>(a)[i],
                           reinterpret_cast<const aliasing_double*>(b)[i],
                           reinterpret_cast<const aliasing_double*>(c)[i]};
}
#if defined(__AVX512F__)
template <>
NICA_INLINE LaneOf<4>::type across(const LaneOf<8>::type* a, const LaneOf<8>::type* b,
                                   const LaneOf<8>::type* c, int i) {
    const __m512i at = _mm512_set1_epi64(i), and_third = _mm512_set_epi64(0, 0, 0, 0, 0, 8, 1, 0);
    const __m512d two = _mm512_permutex2var_pd((__m512d)*a, at + _mm512_set_epi64(0, 0, 0, 0, 0, 0, 8, 0),
                                               (__m512d)*b);
    return (LaneOf<4>::type)_mm512_castpd512_pd256(_mm512_permutex2var_pd(
        two, _mm512_mask_add_epi64(and_third, 4, and_third, at), (__m512d)*c));
}
#endif

}  // namespace NICA_VARIANT
}  // namespace nica
