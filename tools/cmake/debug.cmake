# cmake -C tools/cmake/debug.cmake: all cheap and debug checks, no optimisation surprises
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g" CACHE STRING "")
set(CONVECT_CHECK_TIER 2 CACHE STRING "")
