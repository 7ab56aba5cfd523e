// A third family beside those of lanes.hpp: the same number of several networks side by side in one
// register, so that the steps of whitening.hpp and separation.hpp, unchanged, are made for all of them at
// once. Where one network needs a rare branch, all take it: it is exact for each, only slower.
//
//   Replicas<N, W>  W networks of N channels, neurons and outputs; a vector is N registers, and a
//                   matrix N x N of them, by rows
#pragma once

#include "separation.hpp"

namespace nica {
namespace NICA_VARIANT {

template <int N> struct Replicas {
    static constexpr int width = 1, lanes = N, replicas = native_width;
    static constexpr bool few = N <= 6;  // an entry of a matrix is a register here
    using Lane = Wide;
    using Scalar = Wide;

    struct Size {
        static constexpr int n = N, lanes = N;
        explicit constexpr Size(int) {}
    };

    static constexpr Size size{0};

    struct Vector {
        Lane q[N];
        explicit Vector(Size = Size(0)) { std::memset(q, 0, sizeof q); }
        NICA_INLINE Lane& operator[](int i) { return q[i]; }
        NICA_INLINE Lane operator[](int i) const { return q[i]; }
    };

    struct Matrix {
        Vector row[N];
        Matrix(Size, Size) {}
        NICA_INLINE Lane operator()(int i, int j) const { return row[i].q[j]; }
        Field field(const char* name, int replica) {
            double* first = reinterpret_cast<double*>(row) + replica;
            return {name, first, N, N, long(N) * replicas, replicas};
        }
        void restored() {}
        void catch_up() {}
    };
    using TwoWay = Matrix;
    using ByColumns = Matrix;

    static Field field(const char* name, Vector& v, int replica) {
        return {name, reinterpret_cast<double*>(v.q) + replica, N, 1, replicas, 1};
    }
    static NICA_INLINE double& entry(Vector& v, int i, int replica) {
        return reinterpret_cast<aliasing_double*>(v.q + i)[replica];
    }

    static NICA_INLINE Scalar dot(Size, const Vector& u, const Vector& v) {
        Lane even = u.q[0] * v.q[0], odd = {};
        NICA_UNROLL for (int i = 1; i < N; ++i) (i % 2 ? odd : even) += u.q[i] * v.q[i];
        return even + odd;
    }
    static NICA_INLINE void multiply(const Matrix& m, const Vector& x, Vector& y) {
        for_each<few>(N, [&](int i) NICA_HERE {
            Lane s = m.row[i].q[0] * x.q[0];
            NICA_UNROLL for (int j = 1; j < N; ++j) s += m.row[i].q[j] * x.q[j];
            y.q[i] = s;
        });
    }
    static NICA_INLINE void multiply_transposed(const Matrix& m, const Vector& x, Vector& y) {
        for_each<few>(N, [&](int j) NICA_HERE {
            Lane s = m.row[0].q[j] * x.q[0];
            NICA_UNROLL for (int i = 1; i < N; ++i) s += m.row[i].q[j] * x.q[i];
            y.q[j] = s;
        });
    }
    static NICA_INLINE void there_and_back(const Matrix& m, const Vector& x, Vector& y, Vector& z) {
        multiply(m, x, y);
        multiply_transposed(m, y, z);
    }
    static NICA_INLINE void both_ways(const Matrix& m, const Vector& x, const Vector& y, Vector& a,
                                      Vector& b) {
        multiply(m, x, a);
        multiply_transposed(m, y, b);
    }
    // m = a m + b u vT
    static NICA_INLINE void blend(Matrix& m, Scalar a, Scalar b, const Vector& u, const Vector& v) {
        for_each<few>(N, [&](int i) NICA_HERE {
            const Lane bu = b * u.q[i];
            NICA_UNROLL for (int j = 0; j < N; ++j)
                m.row[i].q[j] = a * m.row[i].q[j] + bu * v.q[j];
        });
    }
    // m = diag(keep) m + u vT
    static NICA_INLINE void scale_rows(Matrix& m, const Vector& keep, const Vector& u,
                                       const Vector& v) {
        for_each<few>(N, [&](int i) NICA_HERE {
            NICA_UNROLL for (int j = 0; j < N; ++j)
                m.row[i].q[j] = keep.q[i] * m.row[i].q[j] + u.q[i] * v.q[j];
        });
    }
    // m = m diag(stretch) - u vT
    static NICA_INLINE void scale_columns(Matrix& m, const Vector& stretch, const Vector& u,
                                          const Vector& v) {
        for_each<few>(N, [&](int i) NICA_HERE {
            NICA_UNROLL for (int j = 0; j < N; ++j)
                m.row[i].q[j] = m.row[i].q[j] * stretch.q[j] - u.q[i] * v.q[j];
        });
    }
    static NICA_INLINE bool any_negative(const Vector& v) {
        Lane least = v.q[0];
        NICA_UNROLL for (int i = 1; i < N; ++i) least = v.q[i] < least ? v.q[i] : least;
        return bits_negative(least) != 0;
    }
    static bool solve_complementarity(const Matrix& N_, Vector& y, Vector& slack, Pivoting&);
};

// Block principal pivoting as for Dynamic, every network with its own set of silent neurons: instead of
// the principal block of that set, the whole matrix with the identity elsewhere is eliminated.
template <int N>
bool Replicas<N>::solve_complementarity(const Matrix& inverse, Vector& y, Vector& slack, Pivoting&) {
    const Lane none = {}, one = none + 1.0;
    Vector q = y, silent, s;
    Lane A[N][N], scale = none;
    for (int i = 0; i < N; ++i) {
        silent.q[i] = q.q[i] < none ? one : none;
        scale = larger(scale, magnitude(q.q[i]));
    }
    const Lane tolerance = round_off * scale;
    Lane best = none + (N + 1), patience = none + patience_with_blocks;
    for (int round = 0; round < 20 + 2 * N; ++round) {
        for_each<few>(N, [&](int i) NICA_HERE {
            NICA_UNROLL for (int j = 0; j < N; ++j)
                A[i][j] = inverse.row[i].q[j] * (silent.q[i] * silent.q[j]);
            A[i][i] += one - silent.q[i];
            s.q[i] = -silent.q[i] * q.q[i];
        });
        bool positive = true;
        NICA_UNROLL for (int j = 0; j < N; ++j) {
            const Lane pivot = one / A[j][j];
            positive &= bits_at_most(A[j][j], none) == 0;
            s.q[j] *= pivot;
            NICA_UNROLL for (int c = j + 1; c < N; ++c) A[j][c] *= pivot;
            for_each<few>(N - 1 - j, [&](int below) NICA_HERE {
                const int i = j + 1 + below;
                s.q[i] -= A[i][j] * s.q[j];
                NICA_UNROLL for (int c = j + 1; c < N; ++c) A[i][c] -= A[i][j] * A[j][c];
            });
        }
        if (!positive) return false;
        NICA_UNROLL for (int i = N - 1; i > 0; --i)
            NICA_UNROLL for (int r = 0; r < i; ++r) s.q[r] -= A[r][i] * s.q[i];
        multiply(inverse, s, y);
        Lane wrong = none;
        NICA_UNROLL for (int i = 0; i < N; ++i) {
            y.q[i] = (q.q[i] + y.q[i]) * (one - silent.q[i]);
            wrong += y.q[i] + s.q[i] < -tolerance ? one : none;
        }
        if (bits_at_most(wrong, none) == every_lane) {
            NICA_UNROLL for (int i = 0; i < N; ++i) {
                y.q[i] = larger(y.q[i], none);
                slack.q[i] = larger(s.q[i], none);
            }
            return true;
        }
        patience = wrong < best ? none + patience_with_blocks : patience - one;
        best = wrong < best ? wrong : best;
        Lane left = patience < none ? one : none + N;  // how many may change sides
        NICA_UNROLL for (int i = N - 1; i >= 0; --i) {
            Lane turned = y.q[i] + s.q[i] < -tolerance ? one : none;
            turned = left > none ? turned : none;
            left -= turned;
            silent.q[i] += turned * (one - 2.0 * silent.q[i]);
        }
    }
    return false;
}

// Of three neurons all eight sets are tried, every network's own at once, without a branch: v_i is what
// neuron i emits if it is in the set, and else what drives it, which must not be above zero; both times
// the determinant of the set's block of B, whose diagonal is one.
struct Candidates {
    Wide v0, v1, v2, determinant, found;
    NICA_INLINE void offer(Wide a, Wide b, Wide c, Wide det, Wide least) {
        const Wide none = {};
        v0 = least >= none ? a : v0;
        v1 = least >= none ? b : v1;
        v2 = least >= none ? c : v2;
        determinant = least >= none ? det : determinant;
        found = least >= none ? none + 1.0 : found;
    }
};

NICA_INLINE Wide least(Wide a, Wide b, Wide c) {
    const Wide ab = a < b ? a : b;
    return ab < c ? ab : c;
}

NICA_INLINE bool try_all_sets(const Replicas<3>::Matrix& B, const Replicas<3>::Vector& c,
                              Replicas<3>::Vector& y, Replicas<3>::Vector& slack) {
    const Wide none = {}, one = none + 1.0;
    const Wide c0 = c.q[0], c1 = c.q[1], c2 = c.q[2];
    const Wide b01 = B(0, 1), b02 = B(0, 2), b10 = B(1, 0), b12 = B(1, 2), b20 = B(2, 0), b21 = B(2, 1);
    const Wide p01 = c0 - b01 * c1, p02 = c0 - b02 * c2, p10 = c1 - b10 * c0;
    const Wide p12 = c1 - b12 * c2, p20 = c2 - b20 * c0, p21 = c2 - b21 * c1;
    const Wide d01 = one - b01 * b10, d02 = one - b02 * b20, d12 = one - b12 * b21;
    Candidates best = {c0, c1, c2, one, none};
    best.offer(c0, c1, c2, one, least(-c0, -c1, -c2));
    best.offer(c0, p10, p20, one, least(c0, -p10, -p20));
    best.offer(p01, c1, p21, one, least(-p01, c1, -p21));
    best.offer(p02, p12, c2, one, least(-p02, -p12, c2));
    const Wide e2 = d01 * c2 - b20 * p01 - b21 * p10;
    const Wide e1 = d02 * c1 - b10 * p02 - b12 * p20;
    const Wide e0 = d12 * c0 - b01 * p12 - b02 * p21;
    best.offer(p01, p10, e2, d01, least(p01, p10, -e2));
    best.offer(p02, e1, p20, d02, least(p02, -e1, p20));
    best.offer(e0, p12, p21, d12, least(-e0, p12, p21));
    // of all three: by the cofactors of the first column
    const Wide det = d12 - b10 * (b01 - b02 * b21) - b20 * (b02 - b01 * b12);
    best.offer(e0, e1, e2, det, least(e0, e1, e2));
    const Wide inverse = one / best.determinant;
    const Wide v0 = best.v0 * inverse, v1 = best.v1 * inverse, v2 = best.v2 * inverse;
    y.q[0] = larger(v0, none);
    y.q[1] = larger(v1, none);
    y.q[2] = larger(v2, none);
    slack.q[0] = larger(-v0, none);
    slack.q[1] = larger(-v1, none);
    slack.q[2] = larger(-v2, none);
    return all_above(best.found, none);
}

template <> inline bool Separation<Replicas<3>>::keeps_inverse() const { return false; }

template <>
NICA_INLINE void Separation<Replicas<3>>::fixed_point(Activity2<Replicas<3>>& t, Pivoting&) {
    if (__builtin_expect(!try_all_sets(B, t.c, t.y, t.slack), 0)) sweep(t, 1e-15, 10000);
}

}  // namespace NICA_VARIANT
}  // namespace nica
