# Script mode: writes OUT with the commit of SOURCE. A tree without git (a release archive) says "unknown".
set(commit unknown)
set(dirty 0)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  set(git ${GIT} -c safe.directory=* -C ${SOURCE}) # a tree owned by another user (root in a container) is fine to read
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit RESULT_VARIABLE rc
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(rc)
    set(commit unknown)
  else()
    execute_process(COMMAND ${git} --no-optional-locks status --porcelain OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      set(dirty 1)
    endif()
  endif()
endif()
set(text "/* written by tools/cmake/modules/commit.cmake */
#define CONVECT_BUILD_VERSION \"${VERSION}\"
#define CONVECT_BUILD_COMMIT \"${commit}\"
#define CONVECT_BUILD_DIRTY ${dirty}
#define CONVECT_BUILD_TYPE \"${TYPE}\"
#define CONVECT_BUILD_SANITIZE \"${SANITIZE}\"
#define CONVECT_BUILD_COMPILER \"${COMPILER}\"
#define CONVECT_BUILD_CUDA \"${CUDA}\"
#define CONVECT_BUILD_LIBRARIES \"${LIBRARIES}\"
")
file(CONFIGURE OUTPUT ${OUT} CONTENT "${text}" @ONLY)
