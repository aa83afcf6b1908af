#!/usr/bin/env bash
# Checks what is in packaging and .github against the schemas of those who read it; none is asked for, all come with the
# tools, which are kept under target/tools. kubectl, promtool and shellcheck are used where they are installed.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
tools=target/tools/validate-1
if [ ! -e $tools/whole ]; then
  python3 -m venv --clear $tools
  $tools/bin/pip install --quiet --disable-pip-version-check \
    check-jsonschema==0.39.0 kubernetes-validate==1.37.0 zizmor==1.32.0
  touch $tools/whole
fi
only_if() { command -v "$1" >/dev/null || { echo "validate: $1 is not installed: skipped"; return 1; }; }

$tools/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
$tools/bin/check-jsonschema --builtin-schema vendor.compose-spec packaging/compose.yaml
$tools/bin/zizmor --offline --quiet .github/workflows
if only_if shellcheck; then shellcheck --external-sources packaging/*.sh packaging/debian/p* tests/rig/tool.sh; fi
if only_if promtool; then (cd packaging/prometheus && promtool check config --syntax-only prometheus.yml); fi
if only_if kubectl; then
  made=$(mktemp)
  trap 'rm -f "$made"' EXIT
  kubectl kustomize packaging/kubernetes >"$made"
  $tools/bin/kubernetes-validate --strict --kubernetes-version 1.34.0 "$made"
fi
