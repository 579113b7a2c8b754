# cmake -D SOURCE=<root> -D OUTPUT=<file.c> -P commit.cmake: records commit and dirty mark in a C file. Runs with every
# build and rewrites the file only when its text changes. Outside a git checkout of this very folder (a tarball, also one
# unpacked inside some other repository) the commit is "unknown".
set(commit unknown)
set(dirty_mark "")
find_program(GIT_PROGRAM git)
set(git ${GIT_PROGRAM} -c safe.directory=* -C ${SOURCE}) # a tree that belongs to another user is fine to read
if(GIT_PROGRAM)
  execute_process(COMMAND ${git} rev-parse --show-toplevel
                  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  file(REAL_PATH "${SOURCE}" source)
  if(top AND top STREQUAL source)
    execute_process(COMMAND ${git} rev-parse --short=12 HEAD
                    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(head MATCHES "^[0-9a-f]+$")
      set(commit ${head})
      if(changes)
        set(dirty_mark "-dirty")
      endif()
    endif()
  endif()
endif()
set(text "/* made by tools/cmake/commit.cmake */
extern const char build_commit[];
extern const char build_dirty_mark[];
const char build_commit[] = \"${commit}\";
const char build_dirty_mark[] = \"${dirty_mark}\";
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
