#!/usr/bin/env bash
# Makes a throw-away authority and, signed by it, a certificate for localhost: certificates.sh DIR
set -euo pipefail
mkdir -p "$1"
cd "$1"
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30)
{
  openssl req -x509 "${key[@]}" -subj '/CN=dlo test authority' -keyout ca.key -out ca.pem \
    -addext 'basicConstraints=critical,CA:TRUE' -addext 'keyUsage=critical,keyCertSign'
  openssl req "${key[@]}" -subj '/CN=localhost' -keyout server.key -out server.csr
  # Extensions of a request are not copied: an end-entity certificate must name its host and must not be a CA.
  printf '%s\n' 'basicConstraints=CA:FALSE' 'subjectAltName=DNS:localhost,IP:127.0.0.1' 'extendedKeyUsage=serverAuth' >server.ext
  openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile server.ext -out server.pem
} 2>openssl.log || { cat openssl.log >&2; exit 1; }
