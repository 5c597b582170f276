// Selection of the multiplication for this build's instruction set: AMX tiles if the set has them, else vectors.
#pragma once

#if defined(__AMX_BF16__)
#include "gemm_amx.h"
#include "gemm_int8_amx.h"
#else
#include "gemm_int8_vectors.h"
#include "gemm_vectors.h"
#endif
