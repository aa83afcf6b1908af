#!/usr/bin/env bash
# An OpenID provider, certified by the OpenID Foundation, for the tests of sign-in.
#   oidc.sh path      prints the directory for NODE_PATH
#   oidc.sh fetch     gets it where that is not done yet
#   oidc.sh serve DLO runs one that signs people in to dlo at that address; prints ISSUER=… and READY
set -euo pipefail
rig=$(dirname "$(readlink -f "$0")")
# shellcheck source=SCRIPTDIR/npm.sh
. "$rig/npm.sh" oidc-provider 9.13.3

case ${1:-} in
  path) echo "$modules" ;;
  fetch) fetch ;;
  serve) NODE_PATH=$modules exec "$("$rig/find.sh" node)" "$rig/clients/oidc_provider.js" "$2" ;;
  *) echo "usage: $0 path | fetch | serve DLO" >&2; exit 2 ;;
esac
