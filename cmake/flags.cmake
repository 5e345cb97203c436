# Warnings, optimization and sanitizers, as one interface library that everything of ridge links.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # clock_gettime, pthread affinity, vector intrinsics
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only what is marked RIDGE_API leaves a shared library.
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# Compilers run through ccache where it is installed, unless the caller names a launcher.
option(RIDGE_CCACHE "compile through ccache where it is installed" ON)
find_program(RIDGE_CCACHE_PROGRAM ccache)
if(RIDGE_CCACHE AND RIDGE_CCACHE_PROGRAM)
  foreach(language C CUDA)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${RIDGE_CCACHE_PROGRAM})
    endif()
  endforeach()
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
# Line tables, for debuggers, sanitizers and ncu's source view: the release preset, which is for installing, leaves them out.
option(RIDGE_LINE_TABLES "compile Release code with line tables" ON)
set(CMAKE_C_FLAGS_RELEASE "-O3")
if(RIDGE_LINE_TABLES)
  string(APPEND CMAKE_C_FLAGS_RELEASE " -g1")
endif()
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

set(RIDGE_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
option(RIDGE_FUZZ "build the fuzzers of tests/fuzz (needs clang)" OFF)

# A compiler that is newer than CI's has warnings of its own, which must not stop a user's build.
set(werror OFF)
if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13) OR
   (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 15))
  set(werror ON)
endif()
option(RIDGE_WERROR "warnings are errors" ${werror})
add_library(ridge_warnings INTERFACE)
target_compile_options(ridge_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wshadow $<$<BOOL:${RIDGE_WERROR}>:-Werror>
  $<$<C_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>)
target_compile_definitions(ridge_warnings INTERFACE _GNU_SOURCE)
if(RIDGE_SANITIZE)
  # Reports name functions and lines, which -g1 has. -g describes every vector register's variables besides: half as much again
  # of clang's time.
  set(RIDGE_SANITIZE_OPTIONS -O1 -g1 -fsanitize=${RIDGE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  if(RIDGE_SANITIZE MATCHES "undefined") # vector code converts infinities whose results it drops; gcc does not check it either
    list(APPEND RIDGE_SANITIZE_OPTIONS -fno-sanitize=float-cast-overflow)
  endif()
  add_compile_options(${RIDGE_SANITIZE_OPTIONS})
  add_link_options(-fsanitize=${RIDGE_SANITIZE})
  # Instrumented code hides from gcc what it knows of ranges: its warnings about sizes are then guesses.
  target_compile_options(ridge_warnings INTERFACE
    $<$<AND:$<C_COMPILER_ID:GNU>,$<NOT:$<BOOL:$<TARGET_PROPERTY:RIDGE_UNINSTRUMENTED>>>>:-Wno-error>)
endif()
if(RIDGE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# What compares must treat NaN as the standard says; what computes may not reassociate either, but need not set errno.
set(RIDGE_STRICT_FLAGS -fno-fast-math -ffp-contract=off)
# Oracles are plain loops: optimized, but never reassociated.
set(RIDGE_ORACLE_FLAGS -fno-math-errno -ffp-contract=off)
set(RIDGE_KERNEL_FLAGS -fopenmp-simd -fno-math-errno -fno-trapping-math -ffp-contract=fast)
