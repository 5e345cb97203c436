# RIDGE_VERSION, from include/ridge/version.h: the one place that says it.
set(version_header ${CMAKE_CURRENT_LIST_DIR}/../include/ridge/version.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
file(STRINGS ${version_header} numbers REGEX "^#define RIDGE_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
if(NOT numbers MATCHES "MAJOR ([0-9]+);.*MINOR ([0-9]+);.*PATCH ([0-9]+)$")
  message(FATAL_ERROR "${version_header} does not define RIDGE_VERSION_MAJOR, _MINOR and _PATCH as numbers")
endif()
set(RIDGE_VERSION ${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3})
