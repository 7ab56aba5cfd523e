// The streaming network of nica.FacetNICA: for sources that may be correlated. Layer 1 holds a map to as many
// dimensions as there are sources, and follows the subspace if there are more channels; layer 2 is lateral:
//   z = F x,  (I + L) y = z + b,  L_ij += c_i y_j / m_j,  b_i -= c_i,
// c_i from the score of a likelihood that each neuron keeps of its own output. NumPy twin, with the
// derivation: nica/equations/facets_stream.py. Any size; registers of one width per instruction set and size.
#pragma once

#include "api.hpp"
#include "facet_row.hpp"
#include "lanes.hpp"

namespace nica {
namespace NICA_VARIANT {

constexpr int upkeep_interval = 16;      // learned samples from one upkeep to the next
constexpr double blur_kept = 0.992027936;  // .9995^16, of the least noise from one upkeep to the next
constexpr double blur_least = 1e-9, blur_most = 0.3;  // in units of the tail's mean
constexpr double spike_least = 0.02, spike_most = 0.98;
constexpr double outlier_least = 1e-4, outlier_most = 0.05;
constexpr double curvature_least = 0.05;
constexpr double polished_enough = 1e-6;  // its square is left of I - K N
constexpr double power_least = 0.01;       // in units of the tail's mean, squared
constexpr double usual_least = 0.01, usual_most = 0.4;  // share of outliers that is no news
constexpr double changed = 0.3;            // share of the other samples that are outliers after a change
constexpr double alarming = 18.4;          // log 1e8
constexpr double far_residual = 25, far_sample = 100;  // mean squares from which a sample teaches less

template <int width> struct Aligned {
    using Lane = typename LaneOf<width>::type;
    static int lanes(int n) { return (n + width - 1) / width; }

    // Padded with zeros to whole registers.
    struct Vector {
        int n;
        Lane* q;
        explicit Vector(int n_, int columns = 1)
            : n(n_), q(reinterpret_cast<Lane*>(Dynamic::allocate(size_t(lanes(n_)) * width * columns))) {}
        ~Vector() { std::free(q); }
        Vector(const Vector&) = delete;
        Vector& operator=(const Vector&) = delete;
        NICA_INLINE double& operator[](int i) { return reinterpret_cast<aliasing_double*>(q)[i]; }
        NICA_INLINE double operator[](int i) const {
            return reinterpret_cast<const aliasing_double*>(q)[i];
        }
        Field field(const char* name) { return {name, &(*this)[0], n, 1, 1, 1}; }
    };

    // By columns, each padded; so that a product needs no sum across a register.
    struct Matrix : Vector {
        int columns, step;
        Matrix(int rows, int columns_) : Vector(rows, columns_), columns(columns_), step(lanes(rows)) {}
        NICA_INLINE Lane* column(int j) const { return this->q + std::ptrdiff_t(j) * step; }
        NICA_INLINE double& at(int i, int j) { return (*this)[j * step * width + i]; }
        Field field(const char* name) {
            return {name, &(*this)[0], this->n, columns, 1, long(step) * width};
        }
        // y = m x
        NICA_INLINE void times(const Vector& x, Vector& y) const {
            for (int p = 0; p < step; ++p) {
                Lane even = {}, odd = {};
                int j = 0;
                for (; j + 1 < columns; j += 2) {
                    even += column(j)[p] * x[j];
                    odd += column(j + 1)[p] * x[j + 1];
                }
                if (j < columns) even += column(j)[p] * x[j];
                y.q[p] = even + odd;
            }
        }
        // m += u vT
        NICA_INLINE void add(const Vector& u, const Vector& v) {
            for (int j = 0; j < columns; ++j)
                for (int p = 0; p < step; ++p) column(j)[p] += u.q[p] * v[j];
        }
        NICA_RARE void transposed(const Matrix& from) {
            for (int i = 0; i < this->n; ++i)
                for (int j = 0; j < columns; ++j) at(i, j) = const_cast<Matrix&>(from).at(j, i);
        }
    };

    static NICA_INLINE double dot(const Vector& u, const Vector& v) {
        Lane s = u.q[0] * v.q[0];
        for (int p = 1; p < lanes(u.n); ++p) s += u.q[p] * v.q[p];
        return sum(s);
    }
};

}  // namespace NICA_VARIANT
}  // namespace nica
