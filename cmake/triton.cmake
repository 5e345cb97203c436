# Triton's kernels, compiled ahead of time where Python's package triton is: RIDGE_TRITON names the Python that has it, or is OFF.
# Sets RIDGE_TRITON_KERNELS to a file of C (kernels/peer/triton.h), whose table is empty without Triton or without CUDA.
set(RIDGE_TRITON "" CACHE STRING "the Python that has triton, or OFF; empty: python3, if it has")
set(RIDGE_TRITON_KERNELS ${PROJECT_BINARY_DIR}/triton_kernels.c)
set(triton_python "")
if(RIDGE_HAVE_CUDA AND NOT RIDGE_WHEEL AND NOT RIDGE_TRITON STREQUAL "OFF")
  find_program(RIDGE_PYTHON3 python3)
  find_program(RIDGE_FATBINARY fatbinary HINTS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}/../bin)
  mark_as_advanced(RIDGE_PYTHON3 RIDGE_FATBINARY)
  set(triton_python ${RIDGE_TRITON})
  if(NOT triton_python)
    set(triton_python ${RIDGE_PYTHON3})
  endif()
  execute_process(COMMAND ${triton_python} -c "import triton; print(triton.__version__)" OUTPUT_VARIABLE triton_version
                  RESULT_VARIABLE triton_failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(triton_failed OR NOT RIDGE_FATBINARY)
    set(triton_python "")
    if(RIDGE_TRITON)
      message(FATAL_ERROR "RIDGE_TRITON: ${RIDGE_TRITON} cannot import triton, or CUDA's fatbinary was not found")
    endif()
  endif()
endif()
if(triton_python)
  message(STATUS "ridge: kernels of Triton ${triton_version}, compiled ahead of time")
  set(peers ${PROJECT_SOURCE_DIR}/src/peers)
  file(GLOB triton_scripts CONFIGURE_DEPENDS ${peers}/ridge_peers/triton_*.py)
  add_custom_command(OUTPUT ${RIDGE_TRITON_KERNELS} DEPENDS ${triton_scripts}
    COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${peers}:$ENV{PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
            ${triton_python} -m ridge_peers.triton_ahead --fatbinary ${RIDGE_FATBINARY} --out ${RIDGE_TRITON_KERNELS}
    COMMENT "Triton's kernels, ahead of time" VERBATIM)
else()
  file(CONFIGURE OUTPUT ${RIDGE_TRITON_KERNELS} CONTENT
"/* Written by cmake/triton.cmake: there is no Triton here. */
#include \"peer/triton.h\"
const triton_kernel triton_kernels[1];
const int triton_kernel_count = 0;
")
endif()
