# SPDX-License-Identifier: BSD-3-Clause
# Toolchain file: builds for arm64 Linux with Debian's cross compiler against the libraries that tools/arm64-root has unpacked.
#
#   tools/arm64-root; cmake -B build-arm64 --toolchain cmake/arm64.cmake -DRZ_HOST_TOOLS=$PWD/build/bin
#
# RZ_ARM64_ROOT (also an environment variable) names another folder with such libraries. Where qemu-aarch64-static is installed,
# the programs of the build run by it: ctest --test-dir build-arm64 -R wire_messages
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT RZ_ARM64_ROOT)
  set(RZ_ARM64_ROOT "$ENV{RZ_ARM64_ROOT}")
endif()
if(NOT RZ_ARM64_ROOT)
  set(RZ_ARM64_ROOT /var/lib/rhizome/arm64-root)
endif()
if(NOT EXISTS ${RZ_ARM64_ROOT}/usr/include)
  message(FATAL_ERROR "${RZ_ARM64_ROOT} has no libraries for arm64: run tools/arm64-root [FOLDER], and name its folder by RZ_ARM64_ROOT")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RZ_ARM64_ROOT) # trial builds read this file, too
set(CMAKE_SYSROOT ${RZ_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# pkg-config sees that folder alone: a library of this machine would be found, and not link.
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${RZ_ARM64_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${RZ_ARM64_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${RZ_ARM64_ROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")

find_program(RZ_QEMU_ARM64 NAMES qemu-aarch64-static qemu-aarch64)
if(RZ_QEMU_ARM64 AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${RZ_QEMU_ARM64} -L ${RZ_ARM64_ROOT})
endif()
