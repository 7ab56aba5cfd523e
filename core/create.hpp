// The two factories of a variant, which need each other: a rival may stand on layer 1.
#pragma once

#include "api.hpp"

namespace nica {
namespace NICA_VARIANT {

Network* create(const Config&);        // layers of the paper: kernels.cpp
Network* create_rival(const Config&);  // config.rule: rivals.cpp

}  // namespace NICA_VARIANT
}  // namespace nica
