// Which instructions the kernels use, for Python to tell.

#include "instructions.hpp"

extern "C" const char* instar_instructions() {
  return instar::name_of(instar::of_this_processor());
}
