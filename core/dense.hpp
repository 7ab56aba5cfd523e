// Small dense solves for matrices of any family: inverses anew, and how far a kept one has strayed. Rare.
#pragma once

#include <cstdlib>

#include "api.hpp"
#include "registers.hpp"

namespace nica {
namespace NICA_VARIANT {

// Field f := inverse of the n x n matrix g, by Gauss-Jordan with partial pivoting. False if singular.
NICA_RARE inline bool invert(const Field& g, Field f, double* work) {
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

// Largest entry of |A B - I|, by parts of its rows; if B is kept by columns, of |BT AT - I|.
NICA_APART inline double identity_error(Field a, Field b) {
    constexpr long part = 32;
    if (b.column_stride != 1) {
        const Field swap = a;
        a = {"", b.data, b.columns, b.rows, b.column_stride, b.row_stride};
        b = {"", swap.data, swap.columns, swap.rows, swap.column_stride, swap.row_stride};
    }
    double worst = 0;
    for (long first = 0; first < b.columns; first += part) {
        const long n = b.columns - first < part ? b.columns - first : part;
        for (long i = 0; i < a.rows; ++i) {
            double s[part] = {};
            if (i >= first && i < first + n) s[i - first] = -1;
            for (long c = 0; c < a.columns; ++c) {
                const double factor = a.data[i * a.row_stride + c * a.column_stride];
                const double* row = b.data + c * b.row_stride + first * b.column_stride;
                if (b.column_stride == 1)
                    for (long j = 0; j < n; ++j) s[j] += factor * row[j];
                else
                    for (long j = 0; j < n; ++j) s[j] += factor * row[j * b.column_stride];
            }
            for (long j = 0; j < n; ++j)
                worst = magnitude(s[j]) > worst || s[j] != s[j] ? magnitude(s[j]) : worst;
        }
    }
    return worst;
}

// Of matrices of any family, which may hold those of several networks: the largest error of all.
template <class S, class A, class B> NICA_RARE double identity_error(A& a, B& b) {
    double worst = 0;
    for (int r = 0; r < S::replicas; ++r) {
        const double error = identity_error(a.field("", r), b.field("", r));
        worst = error > worst || error != error ? error : worst;
    }
    return worst;
}

// b := inverse of a, where it has one.
template <class S, class A, class B> NICA_RARE void invert(A& a, B& b) {
    for (int r = 0; r < S::replicas; ++r) {
        const Field from = a.field("", r);
        double* work = static_cast<double*>(std::malloc(sizeof(double) * 2 * from.rows * from.rows));
        if (invert(from, b.field("", r), work)) b.restored();
        std::free(work);
    }
}

}  // namespace NICA_VARIANT
}  // namespace nica
