# SPDX-License-Identifier: BSD-2-Clause
# Spack recipe of relayd's MPI library and, with +relay, of all of it.  As a repository of one's own:
#
#   mkdir -p REPO/packages/relayd && cp conf/spack/package.py REPO/packages/relayd/
#   printf 'repo:\n  namespace: site\n' > REPO/repo.yaml && spack repo add REPO
#   spack dev-build relayd@0.9.0                 in the tree
from spack.package import *


class Relayd(MakefilePackage):
    """MPI library and relays that join HPC clusters with private addresses into one MPI job."""

    license("BSD-2-Clause")
    version("0.9.0")

    variant("relay", default=False, description="relayd and its tools, too, which need DPDK")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("intel-ipsec-mb")
    depends_on("libbsd")
    depends_on("libsodium")
    depends_on("pmix@4:")
    with when("+relay"):
        depends_on("dpdk@22.11:")
        depends_on("jansson")
        depends_on("libmicrohttpd")
        depends_on("util-linux")

    provides("mpi@:5")

    def words(self):
        # Compilers that the Makefile was not tested with may warn of more.
        # Spack has no libnetconf2: switches by NETCONF are left out.
        return [f"PREFIX={self.prefix}", "CFLAGS=-O2 -g -Wno-error", "OPTICS=no"]

    def build(self, spec, prefix):
        if spec.satisfies("+relay"):  # else install-mpi builds what it installs
            make(*self.words(), "all")

    def install(self, spec, prefix):
        make(*self.words(), "install" if spec.satisfies("+relay") else "install-mpi")

    def setup_run_environment(self, env):
        env.set("MPI_HOME", self.prefix)

    def setup_dependent_package(self, module, dependent_spec):
        for name, program in (("mpicc", "mpicc"), ("mpicxx", "mpicxx"), ("mpif77", "mpif77"), ("mpifc", "mpifort")):
            setattr(self.spec, name, join_path(self.prefix.bin, program))
