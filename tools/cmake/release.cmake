# cmake -C tools/cmake/release.cmake: what users run
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CONVECT_CHECK_TIER 0 CACHE STRING "")
