"""rzbench: what Rhizome costs, beside Open MPI and MPICH. README.md says which module holds what."""
