# cmake -C tools/cmake/fuzz.cmake: clang's libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer
set(CMAKE_C_COMPILER clang CACHE STRING "")
set(CMAKE_BUILD_TYPE Debug CACHE STRING "")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer" CACHE STRING "")
set(CONVECT_SANITIZE "address,undefined" CACHE STRING "")
set(CONVECT_CHECK_TIER 1 CACHE STRING "")
set(CONVECT_FUZZ ON CACHE BOOL "")
