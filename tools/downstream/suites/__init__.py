# SPDX-License-Identifier: BSD-3-Clause
"""All suites, the small ones first."""
from . import boost, fftw, hdf5, hypre, mpich, openmpi, p4est, pnetcdf, romio

SUITES = {module.SUITE.name: module.SUITE for module in (openmpi, romio, fftw, p4est, boost, pnetcdf, hdf5, hypre, mpich)}
