// Vectors and matrices of any size: heap memory allocated once; matrices by rows, or by columns; updates
// wait for the next product, and both are made in one pass over memory. Padded as in fixed.hpp.
#pragma once

#include <cstdlib>
#include <cstring>

#include "api.hpp"
#include "registers.hpp"

namespace nica {
namespace NICA_VARIANT {

struct Pivoting;

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
        NICA_APART void catch_up() {
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
    // If product, y_i = row_i . x; if combine, sum = the sum of share_i row_i.
    template <bool product, bool combine>
    NICA_APART static void pass(Matrix& m, const Lane* x, Lane* y, const Lane* share, Lane* sum) {
        const int c = m.columns.lanes;
        if (m.waiting > 1) m.catch_up();
        if (combine)
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
                        if (product) s[i] += entry * x[q];
                    }
                }
            } else if (product) {
                for (int q = 0; q < c; ++q)
                    NICA_UNROLL for (int i = 0; i < width; ++i) s[i] += r[i * c + q] * x[q];
            }
            if (product) y[b] = sums(s);
            if (combine) {
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
        pass<true, false>(m, x.q, y.q, nullptr, nullptr);
    }
    static NICA_INLINE void multiply_transposed(Matrix& m, const Vector& x, Vector& y) {
        pass<false, true>(m, nullptr, nullptr, x.q, y.q);
    }
    static NICA_INLINE void multiply(ByColumns& m, const Vector& x, Vector& y) {
        multiply_transposed(m.transpose, x, y);
    }
    static NICA_INLINE void multiply_transposed(ByColumns& m, const Vector& x, Vector& y) {
        multiply(m.transpose, x, y);
    }
    static NICA_INLINE void there_and_back(Matrix& m, const Vector& x, Vector& y, Vector& z) {
        pass<true, true>(m, x.q, y.q, y.q, z.q);
    }
    static NICA_INLINE void both_ways(ByColumns& m, const Vector& x, const Vector& y, Vector& a,
                                      Vector& b) {
        pass<true, true>(m.transpose, y.q, b.q, x.q, a.q);
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

}  // namespace NICA_VARIANT
}  // namespace nica
