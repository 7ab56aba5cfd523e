// What kernels.cpp lists and batch.cpp defines; no code here, as in api.hpp.
#pragma once

namespace nica {
namespace NICA_VARIANT {

long rectify(int d, const double* C, const double* N, double* Y, long n, double* below, double* held);

}  // namespace NICA_VARIANT
}  // namespace nica
