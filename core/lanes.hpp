// Vector registers, and vectors and matrices of fixed or of any size made of them.
//
// Written with the compilers' vector extensions, so that one source serves SSE2, AVX2, AVX-512 and
// NEON. Two families share one vocabulary, so that the steps of the networks are written once:
//
//   Fixed<N>  values on the stack, loops unrolled; matrices by columns (and by rows too, where both
//             products are needed), so that no product needs a horizontal sum
//   Dynamic   heap memory allocated once; matrices by rows, or by columns; updates wait for the next product
//
// Both pad with zeros to whole registers, and every operation keeps the padding zero. A third one, whose
// numbers are registers with one entry for each of several networks, is in replicas.hpp: hence "Scalar".
#pragma once

#ifndef NICA_VARIANT
#error "compile with -DNICA_VARIANT=name"
#endif

#include <cstddef>
#include <cstdlib>
#include <cstring>

#define NICA_INLINE inline __attribute__((always_inline))
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
NICA_INLINE Wide magnitude(Wide a) { return larger(a, -a); }
NICA_INLINE bool all_above(Wide a, Wide b) { return bits_negative(b - a) == every_lane; }
NICA_INLINE bool all_at_most(Wide a, Wide b) { return bits_at_most(a, b) == every_lane; }

struct Pivoting;

// ------------------------------------------------------------------------------------------ Fixed

template <int N> struct Fixed {
    static constexpr int width = N <= 2 ? 2 : (N <= 4 && native_width >= 4) ? 4 : native_width;
    static constexpr int lanes = (N + width - 1) / width;
    static constexpr int replicas = 1;
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
        void restored() {
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

    template <class T> using Local = T;  // hot loops work on a copy, which can live in registers
    template <class T> static void keep(T& to, const T& from) { to = from; }

    static NICA_INLINE void combine(const Vector* m, const Vector& x, Vector& y) {
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            Lane even = m[0].q[q] * x[0];
            if (N == 1) {
                y.q[q] = even;
                continue;
            }
            Lane odd = m[N > 1 ? 1 : 0].q[q] * x[N > 1 ? 1 : 0];
            NICA_UNROLL for (int j = 2; j + 1 < N; j += 2) {
                even += m[j].q[q] * x[j];
                odd += m[j + 1].q[q] * x[j + 1];
            }
            if (N > 2 && N % 2) even += m[N - 1].q[q] * x[N - 1];
            y.q[q] = even + odd;
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
        NICA_UNROLL for (int q = 0; q < lanes; ++q) {
            NICA_UNROLL for (int j = 0; j < N; ++j)
                m.column[j].q[q] = a * m.column[j].q[q] + bu.q[q] * v[j];
            if (both)  // the same products in the same order: the two forms stay equal to the last bit
                NICA_UNROLL for (int i = 0; i < N; ++i)
                    m.row[i].q[q] = a * m.row[i].q[q] + bu[i] * v.q[q];
        }
    }
    // m = diag(keep) m + u vT
    static NICA_INLINE void scale_rows(Matrix& m, const Vector& keep, const Vector& u,
                                       const Vector& v) {
        NICA_UNROLL for (int q = 0; q < lanes; ++q)
            NICA_UNROLL for (int j = 0; j < N; ++j)
                m.column[j].q[q] = keep.q[q] * m.column[j].q[q] + u.q[q] * v[j];
    }
    // m = m diag(stretch) - u vT
    static NICA_INLINE void scale_columns(TwoWay& m, const Vector& stretch, const Vector& u,
                                          const Vector& v) {
        NICA_UNROLL for (int q = 0; q < lanes; ++q)
            NICA_UNROLL for (int j = 0; j < N; ++j) {
                m.column[j].q[q] = m.column[j].q[q] * stretch[j] - u.q[q] * v[j];
                m.row[j].q[q] = m.row[j].q[q] * stretch.q[q] - v.q[q] * u[j];
            }
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

// ---------------------------------------------------------------------------------------- Dynamic

struct Dynamic {
    static constexpr int width = native_width;
    static constexpr int replicas = 1;
    using Lane = LaneOf<width>::type;
    using Scalar = double;

    struct Size {
        int n, lanes;
        explicit Size(int n_) : n(n_), lanes((n_ + width - 1) / width) {}
    };

    static double* allocate(std::size_t doubles) {
        void* p = nullptr;
        const std::size_t bytes = (doubles ? doubles : 1) * sizeof(double);
        if (posix_memalign(&p, 64, bytes)) std::abort();
        std::memset(p, 0, bytes);
        return static_cast<double*>(p);
    }

    struct Vector {
        Lane* q;
        int n, lanes;
        explicit Vector(Size s) : q(reinterpret_cast<Lane*>(allocate(std::size_t(s.lanes) * width))),
                                  n(s.n), lanes(s.lanes) {}
        ~Vector() { std::free(q); }
        Vector(const Vector&) = delete;
        Vector& operator=(const Vector&) = delete;
        NICA_INLINE double& operator[](int i) { return reinterpret_cast<aliasing_double*>(q)[i]; }
        NICA_INLINE double operator[](int i) const {
            return reinterpret_cast<const aliasing_double*>(q)[i];
        }
    };

    // Rows of registers. An update waits until the matrix is next used, and is then made in the same pass
    // over memory as the product; of a matrix that is not used, up to eight updates are made in one pass.
    // Each entry goes through the same operations in the same order either way.
    struct Matrix {
        static constexpr int most = 8;
        Size rows, columns;
        Vector data;
        int waiting = 0;  // updates row_i = scale_i row_i + share_i v
        Vector scales, shares, v;

        Matrix(Size r, Size c)
            : rows(r), columns(c), data(Size(r.lanes * width * c.lanes * width)),
              scales(Size(most * r.lanes * width)), shares(Size(most * r.lanes * width)),
              v(Size(most * c.lanes * width)) {}
        NICA_INLINE Lane* row(int i) { return data.q + std::ptrdiff_t(i) * columns.lanes; }
        NICA_INLINE const Lane* row(int i) const { return data.q + std::ptrdiff_t(i) * columns.lanes; }
        NICA_INLINE double operator()(int i, int j) const {
            return data[i * columns.lanes * width + j];
        }
        Field field(const char* name, int = 0) {
            catch_up();
            return {name, &data[0], rows.n, columns.n, long(columns.lanes) * width, 1};
        }
        void restored() {}

        // Places for the next update.
        struct Update {
            Lane *scale, *share, *v;
        };
        NICA_INLINE Update later() {
            if (waiting == most) catch_up();
            const int j = waiting++;
            return {scales.q + j * rows.lanes, shares.q + j * rows.lanes, v.q + j * columns.lanes};
        }
        NICA_INLINE double scale(int j, int i) const { return scales[j * rows.lanes * width + i]; }
        NICA_INLINE double share(int j, int i) const { return shares[j * rows.lanes * width + i]; }
        void catch_up() {
            const int c = columns.lanes;
            for (int i = 0; waiting && i < rows.n; ++i) {
                Lane a[most], b[most];
                const Lane* from[most];
                int n = 0;
                for (int j = 0; j < waiting; ++j) {
                    if (scale(j, i) == 1 && share(j, i) == 0) continue;  // a silent neuron
                    a[n] = Lane{} + scale(j, i);
                    b[n] = Lane{} + share(j, i);
                    from[n++] = v.q + j * c;
                }
                int q = 0;
                for (; q + 3 < c; q += 4) make<4>(row(i) + q, q, n, a, b, from);
                for (; q < c; ++q) make<1>(row(i) + q, q, n, a, b, from);
            }
            waiting = 0;
        }
        template <int count>
        static NICA_INLINE void make(Lane* r, int q, int n, const Lane* a, const Lane* b,
                                     const Lane* const* from) {
            Lane entry[count];
            NICA_UNROLL for (int p = 0; p < count; ++p) entry[p] = r[p];
            for (int j = 0; j < n; ++j)
                NICA_UNROLL for (int p = 0; p < count; ++p)
                    entry[p] = a[j] * entry[p] + b[j] * from[j][q + p];
            NICA_UNROLL for (int p = 0; p < count; ++p) r[p] = entry[p];
        }
    };
    using TwoWay = Matrix;
    // The same by columns: its transpose, by rows.
    struct ByColumns {
        Matrix transpose;
        ByColumns(Size r, Size c) : transpose(c, r) {}
        NICA_INLINE double operator()(int i, int j) const { return transpose(j, i); }
        Field field(const char* name, int = 0) {
            const Field t = transpose.field(name);
            return {name, t.data, t.columns, t.rows, 1, t.row_stride};
        }
        void restored() {}
        void catch_up() { transpose.catch_up(); }
    };

    static Field field(const char* name, Vector& v, int = 0) { return {name, &v[0], v.n, 1, 1, 1}; }
    static NICA_INLINE double& entry(Vector& v, int i, int = 0) { return v[i]; }

    template <class T> using Local = T&;
    template <class T> static void keep(T&, const T&) {}

    static NICA_INLINE void load(const double* x, Vector& v) { std::memcpy(v.q, x, sizeof(double) * v.n); }
    static NICA_INLINE void store(const Vector& v, double* x) { std::memcpy(x, v.q, sizeof(double) * v.n); }
    static NICA_INLINE bool any_negative(const Vector& v) {
        unsigned bits = 0;
        for (int q = 0; q < v.lanes; ++q) bits |= bits_negative(v.q[q]);
        return bits != 0;
    }
    static bool solve_complementarity(const ByColumns&, Vector& y, Vector& slack, Pivoting&);
    static NICA_INLINE double dot(Size s, const Lane* u, const Lane* v) {
        Lane a = u[0] * v[0], b = {};
        int q = 1;
        for (; q + 1 < s.lanes; q += 2) {
            a += u[q] * v[q];
            b += u[q + 1] * v[q + 1];
        }
        if (q < s.lanes) a += u[q] * v[q];
        return sum(a + b);
    }
    static NICA_INLINE double dot(Size s, const Vector& u, const Vector& v) {
        return dot(s, u.q, v.q);
    }
    // One pass over the rows, as many at once as a register has elements; what waits is made first.
    // If x is given, y_i = row_i . x; if sum is given, sum = the sum of share_i row_i.
    static NICA_INLINE void pass(Matrix& m, const Lane* x, Lane* y, const Lane* share, Lane* sum) {
        const int c = m.columns.lanes;
        if (m.waiting > 1) m.catch_up();
        if (sum)
            for (int q = 0; q < c; ++q) sum[q] = Lane{};
        for (int b = 0; b < m.rows.lanes; ++b) {
            Lane* r = m.row(b * width);
            Lane s[width] = {};
            if (m.waiting) {
                Lane scale[width], part[width];
                NICA_UNROLL for (int i = 0; i < width; ++i) {
                    scale[i] = Lane{} + m.scale(0, b * width + i);
                    part[i] = Lane{} + m.share(0, b * width + i);
                }
                for (int q = 0; q < c; ++q) {
                    const Lane v = m.v.q[q];
                    NICA_UNROLL for (int i = 0; i < width; ++i) {
                        const Lane entry = scale[i] * r[i * c + q] + part[i] * v;
                        r[i * c + q] = entry;
                        if (x) s[i] += entry * x[q];
                    }
                }
            } else if (x) {
                for (int q = 0; q < c; ++q)
                    NICA_UNROLL for (int i = 0; i < width; ++i) s[i] += r[i * c + q] * x[q];
            }
            if (x) y[b] = sums(s);
            if (sum) {
                const Lane shares = share[b];
                for (int q = 0; q < c; ++q) {
                    Lane even = sum[q], odd = {};
                    NICA_UNROLL for (int i = 0; i < width; i += 2) {
                        even += r[i * c + q] * shares[i];
                        odd += r[(i + 1) * c + q] * shares[i + 1];
                    }
                    sum[q] = even + odd;
                }
            }
        }
        m.waiting = 0;
    }
    static NICA_INLINE void multiply(Matrix& m, const Vector& x, Vector& y) {
        pass(m, x.q, y.q, nullptr, nullptr);
    }
    static NICA_INLINE void multiply_transposed(Matrix& m, const Vector& x, Vector& y) {
        pass(m, nullptr, nullptr, x.q, y.q);
    }
    static NICA_INLINE void multiply(ByColumns& m, const Vector& x, Vector& y) {
        multiply_transposed(m.transpose, x, y);
    }
    static NICA_INLINE void multiply_transposed(ByColumns& m, const Vector& x, Vector& y) {
        multiply(m.transpose, x, y);
    }
    static NICA_INLINE void there_and_back(Matrix& m, const Vector& x, Vector& y, Vector& z) {
        pass(m, x.q, y.q, y.q, z.q);
    }
    static NICA_INLINE void both_ways(ByColumns& m, const Vector& x, const Vector& y, Vector& a,
                                      Vector& b) {
        pass(m.transpose, y.q, b.q, x.q, a.q);
    }
    static NICA_INLINE void blend(Matrix& m, double a, double b, const Vector& u, const Vector& v) {
        const Matrix::Update later = m.later();
        for (int q = 0; q < m.rows.lanes; ++q) {
            later.scale[q] = Lane{} + a;
            later.share[q] = b * u.q[q];
        }
        for (int q = 0; q < m.columns.lanes; ++q) later.v[q] = v.q[q];
    }
    static NICA_INLINE void scale_rows(Matrix& m, const Vector& keep, const Vector& u,
                                       const Vector& v) {
        const Matrix::Update later = m.later();
        for (int q = 0; q < m.rows.lanes; ++q) {
            later.scale[q] = keep.q[q];
            later.share[q] = u.q[q];
        }
        for (int q = 0; q < m.columns.lanes; ++q) later.v[q] = v.q[q];
    }
    static NICA_INLINE void scale_columns(ByColumns& m, const Vector& stretch, const Vector& u,
                                          const Vector& v) {
        const Matrix::Update later = m.transpose.later();
        for (int q = 0; q < m.transpose.rows.lanes; ++q) {
            later.scale[q] = stretch.q[q];
            later.share[q] = -v.q[q];
        }
        for (int q = 0; q < m.transpose.columns.lanes; ++q) later.v[q] = u.q[q];
    }
};

// -------------------------------------------------------------------- small dense solves, any size

// Field f := inverse of the n x n matrix g, by Gauss-Jordan with partial pivoting. False if singular.
inline bool invert(const Field& g, Field f, double* work) {
    const int n = int(g.rows);
    const int w = 2 * n;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            work[i * w + j] = g.data[i * g.row_stride + j * g.column_stride];
            work[i * w + n + j] = i == j;
        }
    for (int j = 0; j < n; ++j) {
        int p = j;
        for (int i = j + 1; i < n; ++i)
            if (magnitude(work[i * w + j]) > magnitude(work[p * w + j])) p = i;
        if (!(magnitude(work[p * w + j]) > 0)) return false;
        if (p != j)
            for (int c = 0; c < w; ++c) {
                const double swap = work[j * w + c];
                work[j * w + c] = work[p * w + c];
                work[p * w + c] = swap;
            }
        const double inverse = 1 / work[j * w + j];
        for (int c = 0; c < w; ++c) work[j * w + c] *= inverse;
        for (int i = 0; i < n; ++i) {
            const double factor = work[i * w + j];
            if (i == j || factor == 0) continue;
            for (int c = 0; c < w; ++c) work[i * w + c] -= factor * work[j * w + c];
        }
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
            f.data[i * f.row_stride + j * f.column_stride] = work[i * w + n + j];
    return true;
}

// Largest entry of |A B - I|.
inline double identity_error(const Field& a, const Field& b) {
    double worst = 0;
    for (int i = 0; i < a.rows; ++i)
        for (int j = 0; j < b.columns; ++j) {
            double s = i == j ? -1 : 0;
            for (int c = 0; c < a.columns; ++c)
                s += a.data[i * a.row_stride + c * a.column_stride] *
                     b.data[c * b.row_stride + j * b.column_stride];
            worst = magnitude(s) > worst || s != s ? magnitude(s) : worst;
        }
    return worst;
}

// Of matrices of any family, which may hold those of several networks: the largest error of all.
template <class S, class A, class B> double identity_error(A& a, B& b) {
    double worst = 0;
    for (int r = 0; r < S::replicas; ++r) {
        const double error = identity_error(a.field("", r), b.field("", r));
        worst = error > worst || error != error ? error : worst;
    }
    return worst;
}

// b := inverse of a, where it has one.
template <class S, class A, class B> void invert(A& a, B& b) {
    for (int r = 0; r < S::replicas; ++r) {
        const Field from = a.field("", r);
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * from.rows * from.rows));
        if (invert(from, b.field("", r), work)) b.restored();
        std::free(work);
    }
}

}  // namespace NICA_VARIANT
}  // namespace nica
