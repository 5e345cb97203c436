# dlpack/dlpack.h, which the public headers include. RIDGE_DLPACK_DIR is the folder that has dlpack/. The header is
# installed beside ridge's own, as ridge/dlpack.h, for programs that are compiled where DLPack is not installed.
find_path(RIDGE_DLPACK_DIR dlpack/dlpack.h DOC "the folder that has dlpack/dlpack.h")
if(NOT RIDGE_DLPACK_DIR)
  message(FATAL_ERROR "dlpack/dlpack.h not found: install libdlpack-dev, or name its folder by -DRIDGE_DLPACK_DIR=…")
endif()
if(NOT RIDGE_DLPACK_DIR IN_LIST CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES)
  include_directories(SYSTEM ${RIDGE_DLPACK_DIR})
endif()
