#!/usr/bin/env bash
# Builds Horovod with Gloo for the PyTorch of the environment whose folder is given. Its sources ask for C++14, and
# PyTorch's headers need C++20. cmake and a C++ compiler must be there; it takes some ten minutes on two processors.
set -euo pipefail
environment=$1
version=0.28.1
sources=$environment/horovod-$version
# Building the list of what it needs runs its setup.py, in an environment of pip's own.
"$environment/bin/pip" download --disable-pip-version-check --no-deps --no-binary :all: -d "$environment" "horovod==$version"
tar -x -f "$sources.tar.gz" -C "$environment"
sed -i 's/set(CMAKE_CXX_STANDARD 14)/set(CMAKE_CXX_STANDARD 20)/' "$sources/CMakeLists.txt" "$sources/horovod/torch/CMakeLists.txt"
export HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1
export HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 MAKEFLAGS=-j2
export PATH=$environment/bin:$PATH
"$environment/bin/pip" install --disable-pip-version-check --no-deps --no-build-isolation --no-cache-dir -v "$sources"
rm -r "$sources"
"$environment/bin/python" -c 'import horovod.torch as hvd; assert hvd.gloo_built()'
