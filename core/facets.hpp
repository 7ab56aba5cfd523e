// What kernels.cpp lists and facets.cpp defines; no code here, as in api.hpp.
#pragma once

namespace nica {
namespace NICA_VARIANT {

void facet_sweep(double* Y, long d, long n, double* B, long columns, double* rows, double floor, double cap);
void facet_sums(const double* Y, long d, long n, long ones, const double* rows, double* sums);

}  // namespace NICA_VARIANT
}  // namespace nica
