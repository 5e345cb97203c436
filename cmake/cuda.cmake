# The CUDA backend, when nvcc is found. RIDGE_CUDA=OFF leaves it out; the command then says why its variants cannot run.
#
# Machine code for compute capability 8.0 (A100 and its kin), 9.0a (Hopper, with its own instructions) and 10.0a
# (Blackwell), and PTX of 9.0, which the driver compiles for whatever comes later. The runtime is linked statically and
# finds the driver at run time, so one binary serves machines with and without a GPU.
option(RIDGE_CUDA "build the CUDA backend when nvcc is found" ON)
set(RIDGE_CUDA_ARCHITECTURES 80-real 90a-real 100a-real 90-virtual CACHE STRING "as CMAKE_CUDA_ARCHITECTURES")

set(RIDGE_HAVE_CUDA FALSE)
if(RIDGE_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${RIDGE_CUDA_ARCHITECTURES})
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    enable_language(CUDA)
    set(RIDGE_HAVE_CUDA TRUE)
  endif()
endif()
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -lineinfo")
set(CMAKE_CUDA_FLAGS_DEBUG "-O1 -g -lineinfo")

# ridge_add_cuda_objects(<name> <sources…>) sets <name>_OBJECTS: nothing where there is no nvcc. A kernel that spills
# registers on any of the architectures does not build.
function(ridge_add_cuda_objects name)
  set(${name}_OBJECTS "" PARENT_SCOPE)
  if(NOT RIDGE_HAVE_CUDA OR NOT ARGN)
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/kernels
                             ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE RIDGE_HAVE_CUDA=1 _GNU_SOURCE)
  target_compile_options(${name} PRIVATE
    -std=c++20 --expt-relaxed-constexpr -Xptxas=--warn-on-spills,--warning-as-error -Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter,-Werror)
  list(APPEND objects $<TARGET_OBJECTS:${name}>)
  set(${name}_OBJECTS "${objects}" PARENT_SCOPE)
endfunction()
