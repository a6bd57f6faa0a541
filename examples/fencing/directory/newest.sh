#!/bin/sh
# ./newest.sh DIRECTORY
#
# The name of the version that counts; nothing where there is none. Names are fences with 20 digits, so that the order of
# names is the order of fences.
set -eu
ls "$1" | grep -E '^[0-9]{20}$' | sort | tail -n 1
