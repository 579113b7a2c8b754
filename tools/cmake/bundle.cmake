# cmake -C tools/cmake/bundle.cmake: programs that run from a folder anywhere (tools/bundle.sh). RPATH, not RUNPATH: it
# also holds for the libraries that the shared libraries beside the programs need.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CONVECT_STATIC_LIBS ON CACHE BOOL "")
set(CONVECT_CUDA_ARCHITECTURES "90a" CACHE STRING "")
set(CMAKE_SKIP_BUILD_RPATH ON CACHE BOOL "")
set(CMAKE_EXE_LINKER_FLAGS "-static-libgcc -Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib'" CACHE STRING "")
set(CONVECT_TEST_ROOT "." CACHE STRING "")
set(CONVECT_TEST_BINARY "bin/convect" CACHE STRING "")
