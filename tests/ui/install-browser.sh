#!/bin/sh
# Debian's Chromium for the tests of pages, where it is missing and can be had.
set -eu
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if ! command -v apt-get >/dev/null 2>&1 || [ "$(id -u)" -ne 0 ]; then
    echo "no browser, and no way to install one here: tests of pages will be skipped" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null ||
    echo "chromium could not be installed: tests of pages will be skipped, or fail if CI=true" >&2
