# build/generated/convect_build_config.h: what `convect version` and every bench print. The commit is looked up at each
# build (not only at configure time), and the header is rewritten only when it changed.
set(convect_generated ${CMAKE_BINARY_DIR}/generated)
add_custom_target(convect_commit ALL
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${convect_generated}/convect_build_config.h
            -DVERSION=${PROJECT_VERSION} -DTYPE=${CMAKE_BUILD_TYPE} "-DSANITIZE=${CONVECT_SANITIZE}"
            "-DCOMPILER=${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}" "-DCUDA=${CONVECT_CUDA_TEXT}"
            "-DLIBRARIES=${CONVECT_LIBRARIES_TEXT}" -P ${CMAKE_SOURCE_DIR}/tools/cmake/modules/commit.cmake
    BYPRODUCTS ${convect_generated}/convect_build_config.h
    COMMENT "recording the commit" VERBATIM)
add_library(convect_build_info INTERFACE)
target_include_directories(convect_build_info INTERFACE ${convect_generated})
add_dependencies(convect_build_info convect_commit)
