# engine/base/build_info.h: what `convect version` and every bench print. The commit is looked up at each build (not only
# at configure time), the rest is known here.
set(build_commit_source ${CMAKE_BINARY_DIR}/build_commit.c)
add_custom_target(build_commit ALL BYPRODUCTS ${build_commit_source}
    COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D OUTPUT=${build_commit_source}
            -P ${CMAKE_SOURCE_DIR}/tools/cmake/commit.cmake
    COMMENT "recording the commit")
target_sources(convect_base PRIVATE ${build_commit_source})
add_dependencies(convect_base build_commit)
set(has_cuda false)
if(CONVECT_HAVE_CUDA)
  set(has_cuda true)
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/engine/base/build_info.c PROPERTIES COMPILE_DEFINITIONS
    "BUILD_VERSION=\"${PROJECT_VERSION}\";BUILD_COMPILER=\"${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}\";\
BUILD_CONFIGURATION=\"${CMAKE_BUILD_TYPE}\";BUILD_SANITIZERS=\"${CONVECT_SANITIZE}\";BUILD_HAS_CUDA=${has_cuda};\
BUILD_HWLOC=\"${HWLOC_VERSION}\";BUILD_LIBURING=\"${URING_VERSION}\";BUILD_MIMALLOC=\"${mimalloc_VERSION}\";\
BUILD_OPENBLAS=\"${OPENBLAS_VERSION}\";BUILD_JSONC=\"${JSONC_VERSION}\";BUILD_UTF8PROC=\"${UTF8PROC_VERSION}\";\
BUILD_MD=\"${MD_VERSION}\"")
