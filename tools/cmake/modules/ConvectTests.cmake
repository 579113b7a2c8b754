# Tests by folder. Labels: unit (fast, no model run), model (runs the forward pass), gpu (needs a device, exit 77 =
# skipped without one), slow. A test program finds its data by TEST_DATA, the tree by TEST_SOURCE and the program by
# CONVECT_BINARY; tools/bundle.sh overrides the three with paths relative to the bundle.
enable_testing()
if(CONVECT_FUZZ)
  file(GLOB fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
  foreach(source ${fuzz_sources})
    get_filename_component(fuzz ${source} NAME_WE)
    add_executable(${fuzz} ${source})
    target_link_libraries(${fuzz} PRIVATE convect_engine)
    target_link_options(${fuzz} PRIVATE -fsanitize=fuzzer)
  endforeach()
  return()
endif()
if(NOT CONVECT_TESTS)
  return()
endif()
set(CONVECT_TEST_ROOT ${CMAKE_SOURCE_DIR} CACHE STRING "what TEST_SOURCE is in test programs")
if(TARGET convect)
  set(CONVECT_TEST_BINARY ${CMAKE_BINARY_DIR}/convect CACHE STRING "the program that tests run")
endif()

function(convect_tests dir label timeout_s) # ARGN: further libraries
  set(n_processors 1)
  if(label STREQUAL model) # its spinning workers and a neighbour's would wait for each other
    set(n_processors 2)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${dir}/test_*.c)
  foreach(source ${sources})
    get_filename_component(test ${source} NAME_WE)
    add_executable(${test} ${source})
    target_link_libraries(${test} PRIVATE convect_tools lib_cmocka lib_pcre2 ${ARGN})
    target_compile_definitions(${test} PRIVATE TEST_DATA="${CONVECT_TEST_ROOT}/tests/data"
        TEST_SOURCE="${CONVECT_TEST_ROOT}" CONVECT_BINARY="${CONVECT_TEST_BINARY}")
    set_target_properties(${test} PROPERTIES LINKER_LANGUAGE C)
    if(TARGET convect)
      add_dependencies(${test} convect)
    endif()
    add_test(NAME ${test} COMMAND ${test})
    set_tests_properties(${test} PROPERTIES LABELS ${label} PROCESSORS ${n_processors} TIMEOUT ${timeout_s} SKIP_RETURN_CODE 77)
  endforeach()
endfunction()

# for the comparisons of tests/parity, which are run by hand
add_executable(logits_dump ${CMAKE_SOURCE_DIR}/tests/parity/logits_dump.c)
target_link_libraries(logits_dump PRIVATE convect_engine)

# the template renderer against jinja2, where that is installed
add_executable(template_render ${CMAKE_SOURCE_DIR}/tests/oracle/template_render.c)
target_link_libraries(template_render PRIVATE convect_engine)
add_test(NAME test_template_oracle COMMAND python3 ${CMAKE_SOURCE_DIR}/tests/oracle/test_template.py ${CMAKE_SOURCE_DIR}
    $<TARGET_FILE:template_render>)
set_tests_properties(test_template_oracle PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

if(CONVECT_HAVE_CMOCKA)
  convect_tests(unit unit 300)
  convect_tests(model model 900)
  convect_tests(slow slow 1800)
  if(CONVECT_HAVE_CUDA)
    convect_cuda_library(convect_cuda_probe ${CMAKE_SOURCE_DIR}/tests/gpu) # device functions for the tests
    convect_tests(gpu gpu 300 convect_cuda_probe)
  endif()
else()
  message(STATUS "tests: cmocka not found, no test program is built")
endif()

# tests/tree: scripts that check the tree itself; tests/cli: the program from outside. $1 = the source folder, $2 = the
# built program
file(GLOB script_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/tree/test_*.sh ${CMAKE_SOURCE_DIR}/tests/tree/test_*.py
    ${CMAKE_SOURCE_DIR}/tests/cli/test_*.sh)
foreach(source ${script_tests})
  get_filename_component(test ${source} NAME_WE)
  set(runner sh)
  if(source MATCHES "\\.py$")
    set(runner python3)
  endif()
  add_test(NAME ${test} COMMAND ${runner} ${source} ${CMAKE_SOURCE_DIR} ${CONVECT_TEST_BINARY})
  set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 300 SKIP_RETURN_CODE 77)
endforeach()
