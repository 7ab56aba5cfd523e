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
    double *A, *q, *s;
    int *set, *silent, *wrong;
    explicit Pivoting(int n)
        : A(Dynamic::allocate(std::size_t(n) * Dynamic::Size(n + 1).lanes * Dynamic::width + 2 * n)),
          q(A + std::size_t(n) * Dynamic::Size(n + 1).lanes * Dynamic::width), s(q + n),
          set(static_cast<int*>(std::malloc(sizeof(int) * 3 * (n + 1)))), silent(set + n + 1),
          wrong(silent + n + 1) {}
    ~Pivoting() {
        std::free(A);
        std::free(set);
    }
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
    NICA_UNROLL for (int j = 0; j < D; ++j) T[j] = N.column[j];
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
            NICA_UNROLL for (int j = 0; j < D; ++j) {
                const double m = T[j][p];
                NICA_UNROLL for (int q = 0; q < lanes; ++q)
                    T[j].q[q] = T[j].q[q] * (1.0 - e[q]) - m * k.q[q];
            }
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
// false where that does not hold.
inline bool eliminate(Dynamic::Lane* rows, int lanes, int n, double* x) {
    const int width = Dynamic::width;
    aliasing_double* A = reinterpret_cast<aliasing_double*>(rows);
    const std::ptrdiff_t stride = std::ptrdiff_t(lanes) * width;
    for (int j = 0; j < n; ++j) {
        const double pivot = A[j * stride + j];
        if (!(pivot > 0)) return false;
        const double inverse = 1 / pivot;
        const Dynamic::Lane* top = rows + j * std::ptrdiff_t(lanes);
        const int from = (j + 1) / width;
        int i = j + 1;
        for (; i + 3 < n; i += 4) {  // four rows at once: the top row is read once for them
            Dynamic::Lane *r0 = rows + i * std::ptrdiff_t(lanes), *r1 = r0 + lanes, *r2 = r1 + lanes,
                          *r3 = r2 + lanes;
            const double* f = A + i * stride + j;
            const double f0 = f[0] * inverse, f1 = f[stride] * inverse, f2 = f[2 * stride] * inverse,
                         f3 = f[3 * stride] * inverse;
            for (int q = from; q < lanes; ++q) {
                const Dynamic::Lane t = top[q];
                r0[q] -= f0 * t;
                r1[q] -= f1 * t;
                r2[q] -= f2 * t;
                r3[q] -= f3 * t;
            }
        }
        for (; i < n; ++i) {
            Dynamic::Lane* row = rows + i * std::ptrdiff_t(lanes);
            const double factor = A[i * stride + j] * inverse;
            for (int q = from; q < lanes; ++q) row[q] -= factor * top[q];
        }
    }
    for (int i = 0; i < n; ++i) x[i] = A[i * stride + n];
    for (int i = n - 1; i >= 0; --i) {  // by columns: the updates do not wait for each other
        x[i] /= A[i * stride + i];
        for (int r = 0; r < i; ++r) x[r] -= A[r * stride + i] * x[i];
    }
    return true;
}

// Many neurons: for a set Z of silent ones solve N_ZZ s_Z = -q_Z, then look at all signs.
inline bool Dynamic::solve_complementarity(const Matrix& N, Vector& y, Vector& slack, Pivoting& p) {
    const int n = N.rows.n;
    double scale = 0;
    for (int i = 0; i < n; ++i) {
        p.q[i] = y[i];
        p.silent[i] = y[i] < 0;
        scale = larger(scale, magnitude(y[i]));
    }
    int best = n + 1, patience = patience_with_blocks;
    for (int round = 0; round < 20 + 2 * n; ++round) {
        int z = 0;
        for (int i = 0; i < n; ++i)
            if (p.silent[i]) p.set[z++] = i;
        const Size columns(z + 1);
        for (int a = 0; a < z; ++a) {
            const aliasing_double* from = reinterpret_cast<const aliasing_double*>(N.row(p.set[a]));
            double* to = p.A + std::ptrdiff_t(a) * columns.lanes * width;
            for (int b = 0; b < z; ++b) to[b] = from[p.set[b]];
            to[z] = -p.q[p.set[a]];
        }
        if (!eliminate(reinterpret_cast<Lane*>(p.A), columns.lanes, z, p.s)) return false;
        for (int q = 0; q < slack.lanes; ++q) slack.q[q] = Lane{};
        for (int a = 0; a < z; ++a) slack[p.set[a]] = p.s[a];
        multiply(N, slack, y);
        int wrong = 0, last = 0;
        for (int i = 0; i < n; ++i) {
            y[i] += p.q[i];
            p.wrong[i] = (p.silent[i] ? slack[i] : y[i]) < -round_off * scale;
            wrong += p.wrong[i];
            if (p.wrong[i]) last = i;
        }
        if (!wrong) {
            for (int i = 0; i < n; ++i) {
                y[i] = p.silent[i] ? 0 : larger(y[i], 0.0);
                slack[i] = larger(slack[i], 0.0);
            }
            return true;
        }
        if (wrong < best) {
            best = wrong;
            patience = patience_with_blocks;
        } else {
            --patience;
        }
        if (patience >= 0)
            for (int i = 0; i < n; ++i) p.silent[i] ^= p.wrong[i];
        else
            p.silent[last] ^= 1;
    }
    return false;
}

}  // namespace NICA_VARIANT
}  // namespace nica
