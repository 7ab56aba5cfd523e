// The mini-batch kernel of solver="batch": fixed points of layer 2 for a block of samples, with the
// weights held still (eq. NSMdynamics). NumPy twin: nica/equations/minibatch.py.
// With C = sum of y yT symmetric, eq. fullNSMW at rest reads W_yh = K / diag(C), W_yy = C / diag(C) off
// the diagonal, and the fixed point is the linear complementarity problem C y - K h = s >= 0, y.s = 0.
// What the outputs would be if none were cut off, u = C^-1 K h, is a matrix product that the caller
// makes; here the negative ones are put right. This file is compiled once for each instruction set.
#include "batch.hpp"

#include "api.hpp"
#include "pivoting.hpp"

namespace nica {
namespace NICA_VARIANT {

static NICA_INLINE void fill(const double* m, int n, Dynamic::ByColumns& to) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) to.transpose.row(j)[i / Dynamic::width][i % Dynamic::width] = m[i * n + j];
}
template <int N> static NICA_INLINE void fill(const double* m, int, typename Fixed<N>::TwoWay& to) {
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) to.column[j][i] = m[i * N + j];
    to.restored();
}

// Coordinate descent, where round-off hides the solution from pivoting.
static void sweep(const double* C, int d, const double* u, double* y, double* slack) {
    for (int i = 0; i < d; ++i) y[i] = u[i] > 0 ? u[i] : 0;
    for (int s = 0; s < 10000; ++s) {
        double moved = 0, largest = 0;
        for (int i = 0; i < d; ++i) {
            double held = 0;
            for (int j = 0; j < d; ++j) held += C[i * d + j] * (y[j] - u[j]);
            const double next = larger(y[i] - held / C[i * d + i], 0);
            slack[i] = next > 0 ? 0 : larger(held - C[i * d + i] * y[i], 0);
            moved = larger(moved, magnitude(next - y[i]));
            largest = larger(largest, next);
            y[i] = next;
        }
        if (moved <= 1e-15 * largest) break;
    }
}

template <class S, class Matrix>
static long solve_rows(const double* C, int d, const Matrix& N, double* Y, long n, double* below,
                       double* held) {
    const typename S::Size size(d);
    typename S::Vector u(size), y(size), slack(size), under(size), down(size);
    Pivoting pivoting(d);
    long hard = 0;
    for (long row = 0; row < n; ++row, Y += d) {
        S::load(Y, y);
        if (!S::any_negative(y)) continue;
        for (int q = 0; q < size.lanes; ++q) {
            u.q[q] = y.q[q];
            const typename S::Lane part = y.q[q] < 0 ? y.q[q] : typename S::Lane{};
            under.q[q] += part * part;
            slack.q[q] = typename S::Lane{};
        }
        if (__builtin_expect(!S::solve_complementarity(N, y, slack, pivoting), 0)) {
            sweep(C, d, &u[0], &y[0], &slack[0]);
            ++hard;
        }
        for (int q = 0; q < size.lanes; ++q) down.q[q] += slack.q[q] * slack.q[q];
        S::store(y, Y);
    }
    for (int i = 0; i < d; ++i) {
        below[i] += under[i];
        held[i] += down[i];
    }
    return hard;
}

template <int D>
static long fixed(const double* C, const double* N, double* Y, long n, double* below, double* held) {
    typename Fixed<D>::TwoWay matrix{typename Fixed<D>::Size(D), typename Fixed<D>::Size(D)};
    fill<D>(N, D, matrix);
    return solve_rows<Fixed<D>>(C, D, matrix, Y, n, below, held);
}

long rectify(int d, const double* C, const double* N, double* Y, long n, double* below,
                    double* held) {
    switch (d) {
        case 3: return fixed<3>(C, N, Y, n, below, held);
        case 5: return fixed<5>(C, N, Y, n, below, held);
#ifndef NICA_FEW_SIZES
        case 2: return fixed<2>(C, N, Y, n, below, held);
        case 4: return fixed<4>(C, N, Y, n, below, held);
        case 6: return fixed<6>(C, N, Y, n, below, held);
        case 7: return fixed<7>(C, N, Y, n, below, held);
        case 8: return fixed<8>(C, N, Y, n, below, held);
        case 9: return fixed<9>(C, N, Y, n, below, held);
        case 10: return fixed<10>(C, N, Y, n, below, held);
        case 12: return fixed<12>(C, N, Y, n, below, held);
        case 16: return fixed<16>(C, N, Y, n, below, held);
#endif
    }
    Dynamic::ByColumns matrix{Dynamic::Size(d), Dynamic::Size(d)};
    fill(N, d, matrix);
    return solve_rows<Dynamic>(C, d, matrix, Y, n, below, held);
}

}  // namespace NICA_VARIANT
}  // namespace nica
