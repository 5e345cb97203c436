# RIDGE_STATIC=ON: everything but the C library is linked into the programs, so that the folder they lie in can be copied
# to another distribution whose C library is not older than this one's. What is opened at run time (GPU driver, oneDNN,
# OpenBLAS) is still found there.
option(RIDGE_STATIC "link hwloc, jansson, libmd and the compilers' libraries statically" OFF)

# ridge_find_archive(<variable> <name>) finds lib<name>.a, or stops with advice.
function(ridge_find_archive variable name)
  find_library(${variable} NAMES lib${name}.a)
  if(NOT ${variable})
    message(FATAL_ERROR "RIDGE_STATIC: lib${name}.a not found: install its development package, or leave RIDGE_STATIC off")
  endif()
endfunction()

if(RIDGE_STATIC)
  ridge_find_archive(RIDGE_HWLOC_ARCHIVE hwloc)
  ridge_find_archive(RIDGE_JANSSON_ARCHIVE jansson)
  ridge_find_archive(RIDGE_LIBMD_ARCHIVE md)
  # hwloc may have been built with libudev, of which there is no archive. It takes names of disks and the like from it, and
  # goes without where there is no udev: these five functions say that there is none.
  add_library(ridge_no_udev STATIC ${CMAKE_CURRENT_LIST_DIR}/no_udev.c)
  target_link_libraries(ridge_no_udev PRIVATE ridge_warnings)
  add_library(ridge_static_hwloc INTERFACE)
  target_include_directories(ridge_static_hwloc SYSTEM INTERFACE ${HWLOC_INCLUDE_DIRS})
  target_link_libraries(ridge_static_hwloc INTERFACE ${RIDGE_HWLOC_ARCHIVE} ridge_no_udev)
  add_library(ridge_static_jansson INTERFACE)
  target_include_directories(ridge_static_jansson SYSTEM INTERFACE ${JANSSON_INCLUDE_DIRS})
  target_link_libraries(ridge_static_jansson INTERFACE ${RIDGE_JANSSON_ARCHIVE})
  add_library(ridge_static_libmd INTERFACE)
  target_include_directories(ridge_static_libmd SYSTEM INTERFACE ${LIBMD_INCLUDE_DIRS})
  target_link_libraries(ridge_static_libmd INTERFACE ${RIDGE_LIBMD_ARCHIVE})
  set(RIDGE_HWLOC ridge_static_hwloc)
  set(RIDGE_JANSSON ridge_static_jansson)
  set(RIDGE_LIBMD ridge_static_libmd)
  add_link_options(-static-libgcc -static-libstdc++)
else()
  set(RIDGE_HWLOC PkgConfig::HWLOC)
  set(RIDGE_JANSSON PkgConfig::JANSSON)
  set(RIDGE_LIBMD PkgConfig::LIBMD)
endif()
