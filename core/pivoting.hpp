// The linear complementarity problem behind the second layer's fixed point:
//   y = q + N s,   y >= 0,  s >= 0,  y.s = 0,
// with q = N c what the outputs would be if none were cut off. The set of silent neurons is found by
// block principal pivoting: every neuron with a wrong sign goes to the other side, until none is wrong.
// Guards: while the number of wrong signs falls, whole blocks change sides; after three rounds without
// progress single (Bland) exchanges; if those do not end either, the caller goes to coordinate sweeps.
#pragma once

#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int patience_with_blocks = 3;
constexpr double round_off = 1e-14;  // a sign is wrong beyond this part of the largest value

// Workspace for n outputs of any number.
struct Pivoting {
    Dynamic::Vector A, inverse, q, s, silent;  // silent: 1 or 0
    int* set;
    explicit Pivoting(int n)
        : A(Dynamic::Size(n * Dynamic::Size(n + 1).lanes * Dynamic::width)), inverse(Dynamic::Size(n)),
          q(Dynamic::Size(n)), s(Dynamic::Size(n)), silent(Dynamic::Size(n)),
          set(static_cast<int*>(std::malloc(sizeof(int) * (n + 1)))) {}
    ~Pivoting() { std::free(set); }
    Pivoting(const Pivoting&) = delete;
    Pivoting& operator=(const Pivoting&) = delete;
};

template <class S> struct UnitVectors {
    double entry[S::lanes * S::width][S::lanes * S::width];
    constexpr UnitVectors() : entry() {
        for (int i = 0; i < S::lanes * S::width; ++i) entry[i][i] = 1;
    }
};

// Few neurons: exchange y_p and s_p in the whole tableau (N, q), one p after another.
template <int D>
NICA_INLINE bool Fixed<D>::solve_complementarity(const TwoWay& N, Vector& y, Vector& slack, Pivoting&) {
    alignas(64) static constexpr UnitVectors<Fixed<D>> unit;
    Vector T[D], r = y, side;
    for_each<few>(D, [&](int j) NICA_HERE { T[j] = N.column[j]; });
    unsigned wrong = negative_set(r);
    int best = D + 1, patience = patience_with_blocks;
    for (int round = 0; wrong; ++round) {
        if (round == 20 + 2 * D) return false;
        const int count = __builtin_popcount(wrong);
        if (count < best) {
            best = count;
            patience = patience_with_blocks;
        } else if (--patience < 0) {
            wrong = 1u << (31 - __builtin_clz(wrong));
        }
        do {
            const int p = __builtin_ctz(wrong);
            wrong &= wrong - 1;
            const double inverse = 1 / T[p][p], rp = r[p];
            const Lane* e = reinterpret_cast<const Lane*>(unit.entry[p]);
            Vector k;
            NICA_UNROLL for (int q = 0; q < lanes; ++q) {
                const Lane keep = 1.0 - e[q];
                k.q[q] = (T[p].q[q] * keep + e[q]) * inverse;
                r.q[q] = r.q[q] * keep - rp * k.q[q];
                side.q[q] += e[q] * (1.0 - 2.0 * side.q[q]);
            }
            for_each<few>(D, [&](int j) NICA_HERE {
                const double m = T[j][p];
                NICA_UNROLL for (int q = 0; q < lanes; ++q)
                    T[j].q[q] = T[j].q[q] * (1.0 - e[q]) - m * k.q[q];
            });
            T[p] = k;
        } while (wrong);
        wrong = negative_set(r);
        if (round >= 2 && wrong) wrong = beyond_round_off(r, wrong);
    }
    NICA_UNROLL for (int q = 0; q < lanes; ++q) {
        const Lane positive = larger(r.q[q], Lane{});
        slack.q[q] = positive * side.q[q];
        y.q[q] = positive - slack.q[q];
    }
    return true;
}

template <int D> unsigned Fixed<D>::beyond_round_off(const Vector& r, unsigned wrong) {
    double scale = 0;
    for (int i = 0; i < D; ++i) scale = larger(scale, magnitude(r[i]));
    for (int i = 0; i < D; ++i)
        if (r[i] >= -round_off * scale) wrong &= ~(1u << i);
    return wrong;
}

// Solve A x = b by elimination without pivoting; b is the last column of the rows, x replaces it. A is a
// principal block of the inverse of a matrix that is positive definite but for a scaling of its rows;
// false where that does not hold. With the number of registers in a row known, loops unroll.
template <int known>
bool eliminate(Dynamic::Lane* rows, int lanes_, int n, Dynamic::Vector& inverse, Dynamic::Vector& x) {
    const int width = Dynamic::width, lanes = known ? known : lanes_;
    aliasing_double* A = reinterpret_cast<aliasing_double*>(rows);
    const std::ptrdiff_t stride = std::ptrdiff_t(lanes) * width;
    for (int j = 0; j < n; ++j) {
        const double pivot = A[j * stride + j];
        if (!(pivot > 0)) return false;
        const double factor = inverse[j] = 1 / pivot;
        const Dynamic::Lane* top = rows + j * std::ptrdiff_t(lanes);
        const int from = known ? 0 : (j + 1) / width;
        int i = j + 1;
        for (; i + 3 < n; i += 4) {  // four rows at once: the top row is read once for them
            Dynamic::Lane *r0 = rows + i * std::ptrdiff_t(lanes), *r1 = r0 + lanes, *r2 = r1 + lanes,
                          *r3 = r2 + lanes;
            const double* f = A + i * stride + j;
            const double f0 = f[0] * factor, f1 = f[stride] * factor, f2 = f[2 * stride] * factor,
                         f3 = f[3 * stride] * factor;
            NICA_UNROLL for (int q = from; q < lanes; ++q) {
                const Dynamic::Lane t = top[q];
                r0[q] -= f0 * t;
                r1[q] -= f1 * t;
                r2[q] -= f2 * t;
                r3[q] -= f3 * t;
            }
        }
        for (; i < n; ++i) {
            Dynamic::Lane* row = rows + i * std::ptrdiff_t(lanes);
            const double part = A[i * stride + j] * factor;
            NICA_UNROLL for (int q = from; q < lanes; ++q) row[q] -= part * top[q];
        }
    }
    for (int i = 0; i < n; ++i) x[i] = A[i * stride + n];
    for (int i = n - 1; i >= 0; --i) {  // by columns: the updates do not wait for each other
        const double xi = x[i] *= inverse[i];
        for (int r = 0; r < i; ++r) x[r] -= A[r * stride + i] * xi;
    }
    return true;
}

// Solve N_ZZ s_Z = -q_Z for the set Z of z silent neurons.
NICA_APART inline bool hold_down(const Dynamic::ByColumns& N, int z, Pivoting& p) {
    const int lanes = Dynamic::Size(z + 1).lanes;
    const std::ptrdiff_t stride = std::ptrdiff_t(lanes) * Dynamic::width;
    double* A = &p.A[0];
    for (int b = 0; b < z; ++b) {
        const aliasing_double* column =
            reinterpret_cast<const aliasing_double*>(N.transpose.row(p.set[b]));
        for (int a = 0; a < z; ++a) A[a * stride + b] = column[p.set[a]];
        A[b * stride + z] = -p.q[p.set[b]];
    }
    switch (lanes) {
        case 1: return eliminate<1>(p.A.q, lanes, z, p.inverse, p.s);
        case 2: return eliminate<2>(p.A.q, lanes, z, p.inverse, p.s);
        case 3: return eliminate<3>(p.A.q, lanes, z, p.inverse, p.s);
        case 4: return eliminate<4>(p.A.q, lanes, z, p.inverse, p.s);
    }
    return eliminate<0>(p.A.q, lanes, z, p.inverse, p.s);
}

// y = q + N s, four silent neurons at a time.
inline void outputs(const Dynamic::ByColumns& N, int z, const Pivoting& p, Dynamic::Vector& y) {
    for (int q = 0; q < y.lanes; ++q) y.q[q] = p.q.q[q];
    int a = 0;
    for (; a + 3 < z; a += 4) {
        const Dynamic::Lane *n0 = N.transpose.row(p.set[a]), *n1 = N.transpose.row(p.set[a + 1]),
                            *n2 = N.transpose.row(p.set[a + 2]), *n3 = N.transpose.row(p.set[a + 3]);
        const double s0 = p.s[a], s1 = p.s[a + 1], s2 = p.s[a + 2], s3 = p.s[a + 3];
        for (int q = 0; q < y.lanes; ++q)
            y.q[q] = (y.q[q] + s0 * n0[q] + s1 * n1[q]) + (s2 * n2[q] + s3 * n3[q]);
    }
    for (; a < z; ++a) {
        const Dynamic::Lane* column = N.transpose.row(p.set[a]);
        for (int q = 0; q < y.lanes; ++q) y.q[q] += p.s[a] * column[q];
    }
}

// Many neurons: for a set Z of silent ones solve N_ZZ s_Z = -q_Z, then look at all signs.
NICA_APART inline bool Dynamic::solve_complementarity(const ByColumns& N, Vector& y, Vector& slack, Pivoting& p) {
    const int n = y.n;
    Lane most = {};
    for (int q = 0; q < y.lanes; ++q) {
        p.q.q[q] = y.q[q];
        p.silent.q[q] = y.q[q] < 0 ? Lane{} + 1.0 : Lane{};
        most = larger(most, larger(y.q[q], -y.q[q]));
    }
    double scale = 0;
    for (int i = 0; i < width; ++i) scale = larger(scale, most[i]);
    const double tolerance = round_off * scale;
    int best = n + 1, patience = patience_with_blocks;
    for (int round = 0; round < 20 + 2 * n; ++round) {
        int z = 0;
        for (int i = 0; i < n; ++i) {  // no branch: which neurons are silent is hard to predict
            p.set[z] = i;
            z += p.silent[i] != 0;
        }
        if (!hold_down(N, z, p)) return false;
        outputs(N, z, p, y);
        for (int q = 0; q < slack.lanes; ++q) slack.q[q] = Lane{};
        for (int a = 0; a < z; ++a) slack[p.set[a]] = p.s[a];
        int wrong = 0, last = 0;
        for (int q = 0; q < y.lanes; ++q) {
            y.q[q] *= 1.0 - p.silent.q[q];
            const unsigned bits = bits_negative(y.q[q] + slack.q[q] + tolerance);
            wrong += __builtin_popcount(bits);
            if (bits) last = q * width + 31 - __builtin_clz(bits);
        }
        if (!wrong) {
            for (int q = 0; q < y.lanes; ++q) {
                y.q[q] = larger(y.q[q], Lane{});
                slack.q[q] = larger(slack.q[q], Lane{});
            }
            return true;
        }
        if (wrong < best) {
            best = wrong;
            patience = patience_with_blocks;
        } else {
            --patience;
        }
        if (patience < 0)
            p.silent[last] = 1 - p.silent[last];
        else
            for (int q = 0; q < y.lanes; ++q) {
                const Lane other = 1.0 - p.silent.q[q];
                p.silent.q[q] = y.q[q] + slack.q[q] + tolerance < 0 ? other : p.silent.q[q];
            }
    }
    return false;
}

}  // namespace NICA_VARIANT
}  // namespace nica
