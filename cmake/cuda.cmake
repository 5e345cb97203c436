# The CUDA backend: built for the GPUs of this machine, for all that ridge supports, or not at all. A build without it
# says why, and so does the command.
#
# RIDGE_CUDA_ARCHITECTURES: native (the GPUs present; none: no CUDA backend), all, or a list as CMAKE_CUDA_ARCHITECTURES
# takes. All is machine code for compute capability 8.0 (A100 and its kin), 9.0a (Hopper with its own instructions) and
# 10.0a (Blackwell), and PTX of 9.0, which the driver compiles for later GPUs. The runtime is linked statically and finds
# the driver at run time: one binary serves machines with and without a GPU.
#
# RIDGE_CUDA=emulated: the CUDA backend as PTX for Hopper, run on the CPU by emulator/. It answers, checks and counts, and
# has no times.
# RIDGE_CUDA=both: besides the CUDA backend, which has PTX for Hopper beside its machine code, the command ridge-emulated.
# Its objects are ridge's, linked to the emulator instead of the CUDA runtime: nvcc compiles each file once for both.
set(RIDGE_CUDA ON CACHE STRING "the CUDA backend: ON (when nvcc is found), OFF, emulated (on the CPU), or both")
set_property(CACHE RIDGE_CUDA PROPERTY STRINGS ON OFF emulated both)
string(COMPARE EQUAL "${RIDGE_CUDA}" emulated RIDGE_CUDA_EMULATED)
string(COMPARE EQUAL "${RIDGE_CUDA}" both RIDGE_CUDA_BOTH)
set(RIDGE_CUDA_ARCHITECTURES native CACHE STRING "native, all, or as CMAKE_CUDA_ARCHITECTURES")
set(RIDGE_CUDA_ALL 80-real 90a-real 100a-real 90-virtual)

# What is here; tools/build compares the file with what it finds later.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/cuda-here OUTPUT_VARIABLE cuda_here COMMAND_ERROR_IS_FATAL ANY)
file(WRITE ${PROJECT_BINARY_DIR}/cuda-here "${cuda_here}")
string(REGEX REPLACE ".*nvcc ([^\n]*)\n.*" "\\1" RIDGE_NVCC "${cuda_here}")
string(REGEX REPLACE ".*gpus ([^\n]*)\n.*" "\\1" RIDGE_GPUS "${cuda_here}")

# ridge_choose_cuda(<variable>) sets it to a list of architectures and says which; an empty list is no CUDA backend, and
# RIDGE_CUDA_ABSENT then has the reason, which the command tells, too.
function(ridge_choose_cuda variable)
  set(chosen "")
  set(absent "")
  if(NOT RIDGE_CUDA)
    set(absent "RIDGE_CUDA is off")
  elseif(RIDGE_NVCC STREQUAL "none")
    set(absent "nvcc was not found")
  elseif(RIDGE_CUDA_EMULATED)
    set(chosen 90a-virtual)
    set(said "CUDA backend emulated on the CPU")
  elseif(RIDGE_CUDA_ARCHITECTURES STREQUAL "all")
    set(chosen ${RIDGE_CUDA_ALL})
    set(said "CUDA backend for every supported GPU")
  elseif(NOT RIDGE_CUDA_ARCHITECTURES STREQUAL "native")
    set(chosen ${RIDGE_CUDA_ARCHITECTURES})
    set(said "CUDA backend for ${RIDGE_CUDA_ARCHITECTURES}")
  elseif(RIDGE_GPUS STREQUAL "none")
    set(absent "no GPU of compute capability 8.0 or later was found: make release builds it for all")
  elseif(RIDGE_GPUS STREQUAL "unknown")
    set(chosen ${RIDGE_CUDA_ALL})
    set(said "CUDA backend for every supported GPU, because nvidia-smi does not tell which this machine has")
  else()
    string(REPLACE " " ";" chosen "${RIDGE_GPUS}")
    set(said "CUDA backend for this machine's GPUs (${RIDGE_GPUS}); make release builds it for all that ridge supports")
  endif()
  if(absent)
    set(said "no CUDA backend: ${absent}")
  elseif(RIDGE_CUDA_BOTH) # one pass of nvcc compiles to PTX and machine code of the same architecture
    list(TRANSFORM chosen REPLACE "^90a-real$" 90a)
    if(NOT 90a IN_LIST chosen AND NOT 90a-virtual IN_LIST chosen)
      list(APPEND chosen 90a-virtual)
    endif()
    string(APPEND said ", and emulated on the CPU")
  endif()
  message(STATUS "ridge: ${said}")
  set(${variable} "${chosen}" PARENT_SCOPE)
  set(RIDGE_CUDA_ABSENT "${absent}" PARENT_SCOPE)
endfunction()

ridge_choose_cuda(cuda_architectures)
set(RIDGE_HAVE_CUDA FALSE)
if(cuda_architectures)
  if(NOT CMAKE_CUDA_COMPILER) # none, or a failure that an earlier configuration kept
    unset(CMAKE_CUDA_COMPILER CACHE)
    set(CMAKE_CUDA_COMPILER ${RIDGE_NVCC})
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${cuda_architectures})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  set(RIDGE_HAVE_CUDA TRUE)
  set(RIDGE_CUDART cudart_static)
  if(RIDGE_CUDA_EMULATED OR RIDGE_CUDA_BOTH)
    set(EMULATOR_NVCC ${CMAKE_CUDA_COMPILER} CACHE FILEPATH "nvcc, for its headers")
    add_subdirectory(${PROJECT_SOURCE_DIR}/emulator)
  endif()
  if(RIDGE_CUDA_EMULATED)
    set(CMAKE_CUDA_RUNTIME_LIBRARY None)
    set(RIDGE_CUDART emulator)
  elseif(RIDGE_CUDA_BOTH) # a program chooses by its property RIDGE_EMULATED
    set(RIDGE_CUDART $<IF:$<BOOL:$<TARGET_PROPERTY:RIDGE_EMULATED>>,emulator,cudart_static>)
  endif()
endif()
# nvcc's -O is of host code, which only launches here: more than 1 takes a second a file and gains nothing. Kernels are
# optimized as far as nvcc can whatever it is.
set(CMAKE_CUDA_FLAGS_RELEASE "-O1")
if(RIDGE_LINE_TABLES OR RIDGE_CUDA_EMULATED OR RIDGE_CUDA_BOTH) # the emulator's findings name lines
  string(APPEND CMAKE_CUDA_FLAGS_RELEASE " -lineinfo")
endif()
set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")

# What is installed has its machine code compressed as well as nvcc can, to a fifth of its size, which takes nvcc up to a
# minute a file. The driver unpacks a file's kernels at the first launch of one of them. The emulator reads PTX that --compress-mode=speed packs (LZ4).
option(RIDGE_CUDA_SMALL "compress CUDA code as well as nvcc can (12.8 or newer)" OFF)
set(RIDGE_CUDA_COMPRESS "")
set(RIDGE_CUDA_PTXAS -Xptxas=--warn-on-spills,--warning-as-error)
set(RIDGE_CUDA_WERROR "")
set(RIDGE_CUDA_HOST_WARNINGS -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter)
if(RIDGE_WERROR)
  set(RIDGE_CUDA_WERROR -Werror=all-warnings)
  string(APPEND RIDGE_CUDA_HOST_WARNINGS ",-Werror")
endif()
if(RIDGE_CUDA_EMULATED OR RIDGE_CUDA_BOTH)
  set(RIDGE_CUDA_COMPRESS --compress-mode=speed)
elseif(RIDGE_CUDA_SMALL AND RIDGE_HAVE_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
  set(RIDGE_CUDA_COMPRESS --compress-mode=size)
endif()
if(RIDGE_CUDA_EMULATED)
  set(RIDGE_CUDA_PTXAS "")
endif()

# Files named *_sm100.cu have tcgen05, which Blackwell's machine code and PTX for it alone have. They are compiled for 10.0a
# and nothing else: to machine code where the build has any for 10.0, to PTX for the emulator, and to PTX (which costs no
# ptxas, and a driver can compile) where the build is for other GPUs.
set(RIDGE_CUDA_SM100 100a-virtual)
if("100a-real" IN_LIST cuda_architectures OR "100a" IN_LIST cuda_architectures)
  set(RIDGE_CUDA_SM100 100a-real)
  if(RIDGE_CUDA_BOTH)
    set(RIDGE_CUDA_SM100 100a)
  endif()
endif()

# ridge_add_cuda_objects(<name> <sources…>) sets <name>_OBJECTS: nothing where there is no CUDA backend. A kernel that
# spills registers on any of the architectures does not build.
function(ridge_add_cuda_objects name)
  set(${name}_OBJECTS "" PARENT_SCOPE)
  if(NOT RIDGE_HAVE_CUDA OR NOT ARGN)
    return()
  endif()
  set(sm100 ${ARGN})
  list(FILTER sm100 INCLUDE REGEX "_sm100\\.cu$")
  list(FILTER ARGN EXCLUDE REGEX "_sm100\\.cu$")
  set(objects "")
  foreach(library ${name} ${name}_sm100)
    set(sources ${ARGN})
    set(architectures ${CMAKE_CUDA_ARCHITECTURES})
    if(NOT library STREQUAL "${name}")
      set(sources ${sm100})
      set(architectures ${RIDGE_CUDA_SM100})
    endif()
    if(sources)
      add_library(${library} OBJECT ${sources})
      set_target_properties(${library} PROPERTIES CUDA_ARCHITECTURES "${architectures}")
      target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/kernels
                                 ${PROJECT_SOURCE_DIR}/src)
      target_compile_definitions(${library} PRIVATE RIDGE_HAVE_CUDA=1 _GNU_SOURCE)
      target_compile_options(${library} PRIVATE ${RIDGE_CUDA_COMPRESS}
        -std=c++20 --expt-relaxed-constexpr ${RIDGE_CUDA_PTXAS} ${RIDGE_CUDA_WERROR} ${RIDGE_CUDA_HOST_WARNINGS})
      list(APPEND objects $<TARGET_OBJECTS:${library}>)
    endif()
  endforeach()
  set(${name}_OBJECTS "${objects}" PARENT_SCOPE)
endfunction()
