// This file is compiled once for each instruction set; see CMakeLists.txt.
#include <time.h>

#include "batch.hpp"
#include "create.hpp"
#include "facets.hpp"
#include "network.hpp"
#include "special.hpp"

#define NICA_STRING_(x) #x
#define NICA_STRING(x) NICA_STRING_(x)
#define NICA_PASTE_(a, b) a##b
#define NICA_PASTE(a, b) NICA_PASTE_(a, b)
#define NICA_KERNELS NICA_PASTE(kernels_, NICA_VARIANT)
#define NICA_GROUPS NICA_PASTE(groups_, NICA_VARIANT)

namespace nica {
namespace NICA_VARIANT {

template <int N> Network* fixed(const Config& c) {
    return new Stacked<Fixed<N>, Whitening<Fixed<N>>>(c);
}

Network* create(const Config& c) {
    if (c.rule != layers) return create_rival(c);
    if (c.whiten && (c.alpha > 0 || c.m != c.l || c.dynamics == ode))
        return new Stacked<Dynamic, GeneralWhitening>(c);
    if (c.k == c.l && c.l == c.d) switch (c.d) {
            case 3: return fixed<3>(c);
            case 5: return fixed<5>(c);
#ifndef NICA_FEW_SIZES
            case 2: return fixed<2>(c);
            case 4: return fixed<4>(c);
            case 6: return fixed<6>(c);
            case 7: return fixed<7>(c);
            case 8: return fixed<8>(c);
            case 9: return fixed<9>(c);
            case 10: return fixed<10>(c);
            case 12: return fixed<12>(c);
            case 16: return fixed<16>(c);
            case 20: return fixed<20>(c);
            case 24: return fixed<24>(c);
#endif
        }
    return new Stacked<Dynamic, Whitening<Dynamic>>(c);
}

// Whole registers first, many rows at a time; which row is at fault is asked only if one is.
static bool all_good(const double* x, long n, double limit) {
    constexpr int width = native_width;
    using Lane = LaneOf<width>::type;
    auto within = Lane{} == 0;
    long i = 0;
    for (; i + width <= n; i += width) {
        Lane v;
        std::memcpy(&v, x + i, sizeof v);
        within &= (v <= limit) & (v >= -limit);
    }
    bool good = true;
    for (int j = 0; j < width; ++j) good &= within[j] != 0;
    for (; i < n; ++i) good &= magnitude(x[i]) <= limit;
    return good;
}

static long find_bad(const double* X, long rows, long columns, double limit) {
    if (all_good(X, rows * columns, limit)) return -1;
    long row = 0;
    while (all_good(X + row * columns, columns, limit)) ++row;
    return row;
}

// Function number which of special.hpp: exp, log, erfcx.
static void special(int which, const double* x, long n, double* y) {
    for (long i = 0; i < n; i += native_width) {
        const int some = int(n - i < native_width ? n - i : native_width);
        const Wide v = load_first<Wide>(x + i, some);
        store_first(y + i, which == 0 ? exponential(v) : which == 1 ? logarithm(v) : scaled_erfc(v), some);
    }
}

static double seconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

static double multiply_add_latency() {
    constexpr int steps = 100000;
    double best = 1e9;
    for (int repeat = 0; repeat < 30; ++repeat) {
        volatile double start = 1.0, factor = 0.999999, term = 1e-9;
        double x = start;
        const double a = factor, b = term;
        const double before = seconds();
        for (int i = 0; i < steps; ++i) x = x * a + b;
        volatile double end = x;
        (void)end;
        best = smaller(best, (seconds() - before) / steps);
    }
    return 1e9 * best;
}

static double peak() {
    using Lane = LaneOf<native_width>::type;
    constexpr int steps = 20000, chains = 12;  // enough to hide the latency of one
    double best = 0;
    for (int repeat = 0; repeat < 30; ++repeat) {
        volatile double start = 1.0, factor = 0.999999, term = 1e-9;
        Lane x[chains];
        const Lane a = Lane{} + factor, b = Lane{} + term;
        for (int c = 0; c < chains; ++c) x[c] = Lane{} + start;
        const double before = seconds();
        for (int i = 0; i < steps; ++i)
            NICA_UNROLL for (int c = 0; c < chains; ++c) x[c] = x[c] * a + b;
        const double taken = seconds() - before;
        volatile double end = 0;
        for (int c = 0; c < chains; ++c) end = end + x[c][0];
        best = larger(best, 2e-9 * steps * chains * native_width / taken);
    }
    return best;
}

}  // namespace NICA_VARIANT

extern const Groups NICA_GROUPS;
extern const Kernels NICA_KERNELS;
const Kernels NICA_KERNELS = {
    NICA_STRING(NICA_VARIANT),
    &NICA_GROUPS,
    NICA_VARIANT::native_width,
    NICA_VARIANT::create,
    NICA_VARIANT::multiply_add_latency,
    NICA_VARIANT::peak,
    NICA_VARIANT::find_bad,
    NICA_VARIANT::rectify,
    NICA_VARIANT::special,
    NICA_VARIANT::facet_sweep,
    NICA_VARIANT::facet_sums,
};

}  // namespace nica
