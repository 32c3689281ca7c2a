# SPDX-License-Identifier: BSD-3-Clause
# What an installation has to read: the licence, the documents for users, and the examples' sources with a README that builds them.
# The manual pages are installed with their commands: RhizomeManual.cmake.
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md"
        PATTERN reports EXCLUDE PATTERN decisions EXCLUDE PATTERN figures EXCLUDE)
install(DIRECTORY ${PROJECT_BINARY_DIR}/site/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/html OPTIONAL) # the documents as HTML, if they were made
install(DIRECTORY apps/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples FILES_MATCHING PATTERN "*.[ch]" PATTERN "*.md"
        PATTERN bench EXCLUDE)
