// Vectors and matrices made of vector registers. Two families share one vocabulary, so that the steps of the
// networks are written once:
//
//   Fixed<N>  of a size that the compiler knows (fixed.hpp)
//   Dynamic   of any size (dynamic.hpp)
//
// A third one, whose numbers are registers with one entry for each of several networks, is in replicas.hpp:
// hence "Scalar".
#pragma once

#include "dense.hpp"
#include "dynamic.hpp"
#include "fixed.hpp"
