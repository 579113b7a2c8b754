# cmake -C tools/cmake/bundle.cmake: programs that run from a folder anywhere (tools/bundle.sh). RPATH, not RUNPATH: it
# also holds for the libraries that the shared libraries beside the programs need. Tests change folder, so they need a
# fixed absolute root: run_tests.sh makes it a link to the bundle.
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CONVECT_STATIC_LIBS ON CACHE BOOL "")
set(CONVECT_CUDA_ARCHITECTURES "90a" CACHE STRING "")
set(CMAKE_SKIP_BUILD_RPATH ON CACHE BOOL "")
set(CMAKE_EXE_LINKER_FLAGS "-static-libgcc -Wl,--disable-new-dtags,-rpath,'$ORIGIN/../lib'" CACHE STRING "")
set(CONVECT_TEST_ROOT "/tmp/convect-bundle" CACHE STRING "")
set(CONVECT_TEST_BINARY "/tmp/convect-bundle/bin/convect" CACHE STRING "")
