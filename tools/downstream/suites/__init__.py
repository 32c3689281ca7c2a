# SPDX-License-Identifier: BSD-3-Clause
"""All suites, the small ones first."""
from . import boost, fftw, hdf5, hypre, mpich, netcdf, openmpi, p4est, pnetcdf, romio, scotch, sundials

SUITES = {module.SUITE.name: module.SUITE for module in (openmpi, romio, fftw, p4est, scotch, sundials, boost, pnetcdf, hdf5, netcdf, hypre, mpich)}
