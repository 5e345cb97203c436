# Installs both libraries, their headers, the command and the manual page; and what finds them: a CMake package with
# ridge::ops and ridge::ridge, ridge.pc and ridge_ops.pc. What is installed may be moved as a whole, unless the folder of
# the libraries was given outside the prefix.
include(CMakePackageConfigHelpers)

# ridge_pc_folder(<variable> <folder>): the folder as a .pc file says it, from ${prefix} where it lies within.
function(ridge_pc_folder variable folder)
  file(RELATIVE_PATH within ${CMAKE_INSTALL_PREFIX} ${folder})
  if(within MATCHES "^\\.\\./")
    set(${variable} ${folder} PARENT_SCOPE)
  else()
    set(${variable} "\${prefix}/${within}" PARENT_SCOPE)
  endif()
endfunction()

ridge_pc_folder(RIDGE_PC_LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
ridge_pc_folder(RIDGE_PC_INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(RIDGE_PC_LIBDIR MATCHES "^[$]")
  file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
  string(REGEX REPLACE "/$" "" up "${up}")
  set(RIDGE_PC_PREFIX "\${pcfiledir}/${up}")
else()
  set(RIDGE_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
endif()

set(RIDGE_PC_CUDA_CFLAGS "")
set(RIDGE_PC_CUDA_LIBS "")
if(RIDGE_HAVE_CUDA)
  find_library(RIDGE_CUDART_STATIC libcudart_static.a PATHS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} NO_DEFAULT_PATH REQUIRED)
  get_filename_component(cuda_libraries ${RIDGE_CUDART_STATIC} DIRECTORY)
  set(RIDGE_PC_CUDA_CFLAGS "-DRIDGE_HAVE_CUDA=1")
  set(RIDGE_PC_CUDA_LIBS "-L${cuda_libraries} -lcudart_static -lrt -lstdc++")
endif()

set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
foreach(name ridge ridge_ops)
  configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
configure_package_config_file(cmake/ridge-config.cmake.in ridge-config.cmake INSTALL_DESTINATION ${cmake_folder}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(ridge-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ridge-config.cmake ${PROJECT_BINARY_DIR}/ridge-config-version.cmake
        DESTINATION ${cmake_folder})

install(TARGETS ridge_ops EXPORT ridge-ops LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ridge_ops_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libridge EXPORT ridge-lab ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(part ops lab)
  install(EXPORT ridge-${part} FILE ridge-${part}-targets.cmake NAMESPACE ridge:: DESTINATION ${cmake_folder})
endforeach()
install(TARGETS ridge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${judged_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ridge)
if(TARGET ridge-judged-python)
  install(TARGETS ridge-judged-python LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ridge)
  install(FILES ${PROJECT_BINARY_DIR}/ridge-judged.py DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ridge)
endif()
install(DIRECTORY src/peers/ridge_peers DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ridge/peers FILES_MATCHING PATTERN "*.py"
  PATTERN "__pycache__" EXCLUDE)
install(DIRECTORY include/ridge DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${RIDGE_DLPACK_DIR}/dlpack/dlpack.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridge)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
# The Python package, where the interpreter that is here looks below its prefix; it finds the library beside that folder.
find_package(Python3 COMPONENTS Interpreter QUIET)
set(python_folder lib/python3/site-packages)
if(Python3_Interpreter_FOUND)
  set(python_folder lib/python${Python3_VERSION_MAJOR}.${Python3_VERSION_MINOR}/site-packages)
endif()
set(RIDGE_PYTHON_DIR ${python_folder} CACHE STRING "where the Python package is installed, below the prefix")
install(DIRECTORY python/ridge DESTINATION ${RIDGE_PYTHON_DIR}
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES docs/ridge.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Completion scripts, written by the command that was built: not where another machine's was.
if(NOT CMAKE_CROSSCOMPILING)
  set(completion_bash ${PROJECT_BINARY_DIR}/completions/ridge)
  set(completion_zsh ${PROJECT_BINARY_DIR}/completions/_ridge)
  set(completion_fish ${PROJECT_BINARY_DIR}/completions/ridge.fish)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/completions)
  foreach(shell bash zsh fish)
    add_custom_command(OUTPUT ${completion_${shell}} COMMAND ridge completion ${shell} > ${completion_${shell}} DEPENDS ridge VERBATIM)
  endforeach()
  add_custom_target(completions ALL DEPENDS ${completion_bash} ${completion_zsh} ${completion_fish})
  install(FILES ${completion_bash} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion_zsh} DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completion_fish} DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
