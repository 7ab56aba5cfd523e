// exp, log and erfcx of whole registers, by polynomials: no branch, no table, no call. Relative errors are a
// few units of the last place (tests/test_special.py compares with SciPy). Coefficients are interpolations
// in Chebyshev's nodes, computed with 60 digits.
#pragma once

#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

template <class Lane> using Bits = decltype(Lane{} < Lane{});  // whole numbers, as wide as Lane's entries

// The sum of c_i x^i, in a tree: the processor waits for log2(n) steps instead of n.
template <int n, class Lane> NICA_INLINE Lane polynomial(Lane x, const double (&c)[n]) {
    Lane p[(n + 1) / 2];
    NICA_UNROLL for (int i = 0; i < n / 2; ++i) p[i] = c[2 * i] + c[2 * i + 1] * x;
    if (n % 2) p[n / 2] = Lane{} + c[n - 1];
    NICA_UNROLL for (int left = (n + 1) / 2; left > 1; left = (left + 1) / 2) {
        x *= x;
        NICA_UNROLL for (int i = 0; i < left / 2; ++i) p[i] = p[2 * i] + p[2 * i + 1] * x;
        if (left % 2) p[left / 2] = p[left - 1];
    }
    return p[0];
}

// e^x = 2^n e^r, |r| <= log(2) / 2. Below -708 it stays e^-708, 3e-308, so that nothing is denormal or zero;
// above 709 it stays e^709.
template <class Lane> NICA_INLINE Lane exponential(Lane x) {
    constexpr double c[] = {
        1.0, 1.0, 0.5000000000000019, 0.1666666666666668,
        0.0416666666664881, 0.008333333333319601, 0.0013888888952314775, 0.00019841269890047113,
        2.4801485482328494e-05, 2.755724091857897e-06, 2.763263963904103e-07, 2.5110037605963777e-08};
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: what is added to it is rounded to whole
    x = x < -708.0 ? Lane{} - 708.0 : x;
    x = x > 709.0 ? Lane{} + 709.0 : x;
    const Lane rounded = x * 1.4426950408889634 + shift, n = rounded - shift;
    const Lane r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
    const Bits<Lane> power = ((Bits<Lane>)rounded << 52) + ((long long)(1023) << 52);
    return polynomial(r, c) * (Lane)power;
}

// log x = n log 2 + log m, m between 1/sqrt(2) and sqrt(2); for normal x > 0.
template <class Lane> NICA_INLINE Lane logarithm(Lane x) {
    constexpr double c[] = {
        0.6666666666666666, 0.40000000000001007, 0.2857142857072325, 0.22222222409750114,
        0.18181793732111753, 0.15386342449645143, 0.13266048812203002, 0.131148348695975};
    constexpr double shift = 6755399441055744.0;
    const Bits<Lane> half = Bits<Lane>{} + 0x3fe6a09e667f3bcdLL;  // the bits of 1/sqrt(2)
    const Bits<Lane> exponent = ((Bits<Lane>)x - half) >> 52;
    const Lane m = (Lane)((Bits<Lane>)x - (exponent << 52));
    const Lane n = (Lane)(exponent + (Bits<Lane>)(Lane{} + shift)) - shift;
    const Lane s = (m - 1.0) / (m + 1.0), q = s * s;
    // log m = 2 s + s q P(q), with 2 s = f - f^2 / 2 + s f^2 / 2 where f = m - 1: f is exact.
    const Lane f = m - 1.0, square = 0.5 * f * f;
    return n * 0.6931471803691238 - ((square - (s * (square + q * polynomial(q, c)) + n * 1.9082149292705877e-10)) - f);
}

// erfcx(x) = e^(x^2) erfc(x) for x >= 0, by (1 + 2x) erfcx(x), a polynomial in (x - 7/2) / (x + 7/2).
template <class Lane> NICA_INLINE Lane scaled_erfc(Lane x) {
    constexpr double c[] = {
        1.2423492448711544, -0.14000918013762004, -0.010555596332230981, 0.09751909515340762,
        -0.11508959815967594, 0.08798315381890046, -0.04882332583619322, 0.019099331035263255,
        -0.004215019838810882, -0.0003022686165316216, 0.0005643840816872345, -0.00012150900859663406,
        -4.278121618763583e-05, 2.425121770328888e-05, 2.3263767242668642e-06, -3.7970126268470686e-06,
        -4.19728063362064e-08, 5.810615852658273e-07, -9.428959238585939e-09, -8.117699237840823e-08,
        1.0030545739155852e-09, 7.2132644396390315e-09};
    return polynomial((x - 3.5) / (x + 3.5), c) / (1.0 + 2.0 * x);
}

}  // namespace NICA_VARIANT
}  // namespace nica
