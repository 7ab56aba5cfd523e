// Vectors and matrices of a size that the compiler knows: values on the stack, loops unrolled; matrices by
// columns (and by rows too, where both products are needed), so that no product needs a horizontal sum.
// Registers are padded with zeros, and every operation keeps the padding zero.
#pragma once

#include <cstring>

#include "api.hpp"
#include "registers.hpp"

namespace nica {
namespace NICA_VARIANT {

struct Pivoting;

template <int N> struct Fixed {
    static constexpr int width = N <= 2 ? 2 : (N <= 4 && native_width >= 4) ? 4 : native_width;
    static constexpr int lanes = (N + width - 1) / width;
    static constexpr int replicas = 1;
    static constexpr bool few = N <= most_unrolled;
    using Lane = typename LaneOf<width>::type;
    using Scalar = double;

    struct Size {
        static constexpr int n = N, lanes = Fixed::lanes;
        explicit Size(int) {}
    };

    struct Vector {
        Lane q[lanes];
        explicit Vector(Size = Size(0)) { std::memset(q, 0, sizeof q); }
        NICA_INLINE double& operator[](int i) { return reinterpret_cast<aliasing_double*>(q)[i]; }
        NICA_INLINE double operator[](int i) const {
            return reinterpret_cast<const aliasing_double*>(q)[i];
        }
    };

    template <bool both> struct Square {
        Vector column[N];
        Vector row[both ? N : 1];  // the transpose, kept beside
        Square(Size, Size) {}
        NICA_INLINE double operator()(int i, int j) const { return column[j][i]; }
        Field field(const char* name, int = 0) {
            return {name, &column[0][0], N, N, 1, lanes * width};
        }
        NICA_RARE void restored() {
            if (both)
                for (int i = 0; i < N; ++i)
                    for (int j = 0; j < N; ++j) row[i][j] = column[j][i];
        }
        void catch_up() {}
    };
    using Matrix = Square<false>;
    using TwoWay = Square<true>;
    using ByColumns = TwoWay;

    static Field field(const char* name, Vector& v, int = 0) { return {name, &v[0], N, 1, 1, 1}; }
    static NICA_INLINE double& entry(Vector& v, int i, int = 0) { return v[i]; }

    template <class T> using Local = T;  // hot loops work on a copy, which nothing else can change
    template <class T> static void keep(T& to, const T& from) { to = from; }

    // Two chains of additions for each register of the sum.
    static NICA_INLINE void combine(const Vector* m, const Vector& x, Vector& y) {
        Lane even[lanes], odd[lanes];
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            even[q] = m[0].q[q] * x[0];
            odd[q] = N > 1 ? m[N > 1].q[q] * x[N > 1] : Lane{};
        }
        for_each<few>(N / 2 - 1, [&](int i) NICA_HERE {
            const int j = 2 * i + 2;
            NICA_UNROLL for (int q = 0; q < lanes; ++q) {
                even[q] += m[j].q[q] * x[j];
                odd[q] += m[j + 1].q[q] * x[j + 1];
            }
        });
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            if (N > 2 && N % 2) even[q] += m[N - 1].q[q] * x[N - 1];
            y.q[q] = N > 1 ? even[q] + odd[q] : even[q];
        }
    }
    template <bool both>
    static NICA_INLINE void multiply(const Square<both>& m, const Vector& x, Vector& y) {
        combine(m.column, x, y);
    }
    static NICA_INLINE void multiply_transposed(const TwoWay& m, const Vector& x, Vector& y) {
        combine(m.row, x, y);
    }
    // y = m x, z = mT y
    static NICA_INLINE void there_and_back(const TwoWay& m, const Vector& x, Vector& y, Vector& z) {
        multiply(m, x, y);
        multiply_transposed(m, y, z);
    }
    // a = m x, b = mT y
    static NICA_INLINE void both_ways(const TwoWay& m, const Vector& x, const Vector& y, Vector& a,
                                      Vector& b) {
        multiply(m, x, a);
        multiply_transposed(m, y, b);
    }
    // m = a m + b u vT
    template <bool both>
    static NICA_INLINE void blend(Square<both>& m, double a, double b, const Vector& u,
                                  const Vector& v) {
        Vector bu;
        NICA_UNROLL for (int q = 0; q < lanes; ++q) bu.q[q] = b * u.q[q];
        for_each<few>(N, [&](int j) NICA_HERE {
            NICA_UNROLL for (int q = 0; q < lanes; ++q)
                m.column[j].q[q] = a * m.column[j].q[q] + bu.q[q] * v[j];
        });
        if constexpr (both)  // the same products in the same order: the two forms stay equal to the last bit
            for_each<few>(N, [&](int i) NICA_HERE {
                NICA_UNROLL for (int q = 0; q < lanes; ++q)
                    m.row[i].q[q] = a * m.row[i].q[q] + bu[i] * v.q[q];
            });
    }
    // m = diag(keep) m + u vT
    static NICA_INLINE void scale_rows(Matrix& m, const Vector& keep, const Vector& u,
                                       const Vector& v) {
        for_each<few>(N, [&](int j) NICA_HERE {
            NICA_UNROLL for (int q = 0; q < lanes; ++q)
                m.column[j].q[q] = keep.q[q] * m.column[j].q[q] + u.q[q] * v[j];
        });
    }
    // m = m diag(stretch) - u vT
    static NICA_INLINE void scale_columns(TwoWay& m, const Vector& stretch, const Vector& u,
                                          const Vector& v) {
        for_each<few>(N, [&](int j) NICA_HERE {
            NICA_UNROLL for (int q = 0; q < lanes; ++q) {
                m.column[j].q[q] = m.column[j].q[q] * stretch[j] - u.q[q] * v[j];
                m.row[j].q[q] = m.row[j].q[q] * stretch.q[q] - v.q[q] * u[j];
            }
        });
    }
    static NICA_INLINE void load(const double* x, Vector& v) {
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            const int n = N - q * width;
            v.q[q] = load_first<Lane>(x + q * width, n < width ? n : width);
        }
    }
    static NICA_INLINE void store(const Vector& v, double* x) {
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            const int n = N - q * width;
            store_first<Lane>(x + q * width, v.q[q], n < width ? n : width);
        }
    }
    static NICA_INLINE unsigned negative_set(const Vector& v) {
        unsigned bits = 0;
        NICA_UNROLL for (int q = 0; q < lanes; ++q) bits |= bits_negative(v.q[q]) << (q * width);
        return bits;
    }
    static NICA_INLINE bool any_negative(const Vector& v) { return negative_set(v) != 0; }
    static unsigned beyond_round_off(const Vector& r, unsigned wrong);
    static bool solve_complementarity(const TwoWay&, Vector& y, Vector& slack, Pivoting&);
    static NICA_INLINE double dot(Size, const Vector& u, const Vector& v) {
        Lane s = u.q[0] * v.q[0];
        NICA_UNROLL for (int q = 1; q < lanes; ++q) s += u.q[q] * v.q[q];
        return sum(s);
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
