# cmake -C tools/cmake/tsan.cmake: ThreadSanitizer
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer" CACHE STRING "")
set(CONVECT_SANITIZE "thread" CACHE STRING "")
set(CONVECT_CHECK_TIER 1 CACHE STRING "")
