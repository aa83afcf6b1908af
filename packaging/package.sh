#!/usr/bin/env bash
# Makes what is installed, in target/package: a static binary, a .deb of it and a container image of it.
#   package.sh [binary] [deb] [image] [sbom] [checksums]      the first three, if none is named
# DLO_REVISION: of the .deb, 1 if it is not set.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
target=x86_64-unknown-linux-musl
out=target/package
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
revision=${DLO_REVISION:-1}
# Of what is packaged, so that the same commit makes the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

binary() {
  if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then rustup target add $target; fi
  # Build scripts of C code would run again because of the variable, and all that uses them would be compiled again.
  env --unset=SOURCE_DATE_EPOCH cargo build --release --locked --bin dlo --target $target
  install -m 755 target/$target/release/dlo $out/dlo
  # Of a static one that may lie anywhere, ldd says so and succeeds.
  if ldd $out/dlo 2>/dev/null | grep --quiet '=>'; then echo "package: $out/dlo is not static" >&2; exit 1; fi
  install -m 644 LICENSE $out/LICENSE
  rm -rf $out/man $out/completions
  $out/dlo man $out/man
  mkdir $out/completions
  for shell in bash zsh fish; do $out/dlo completions $shell >$out/completions/dlo.$shell; done
}

deb() {
  cat >$out/changelog <<END
dlo ($version-$revision) stable; urgency=medium

  * CHANGELOG.md says what has changed.

 -- $(sed -n 's/^maintainer = "\(.*\)"$/\1/p' Cargo.toml)  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
  # Built already, and stripped by the profile.
  PATH=$($rig/tool.sh cargo-deb):$PATH cargo deb --no-build --no-strip --target $target \
    --deb-version "$version-$revision" --output "$out/dlo_$version-${revision}_amd64.deb"
}

image() {
  local root=$out/image/root archive=$out/dlo-$version.docker.tar
  rm -rf $out/image
  mkdir -p $out/image/data
  install -D -m 755 $out/dlo $root/usr/bin/dlo
  install -D -m 644 LICENSE $root/usr/share/doc/dlo/LICENSE
  install -D -m 644 /etc/ssl/certs/ca-certificates.crt $root/etc/ssl/certs/ca-certificates.crt
  install -d $root/etc
  echo 'dlo:x:65532:65532::/var/lib/dlo:/nonexistent' >$root/etc/passwd
  echo 'dlo:x:65532:' >$root/etc/group
  # Only the format of Docker knows health checks.
  buildah build --format docker --timestamp "$SOURCE_DATE_EPOCH" --label "org.opencontainers.image.version=$version" \
    --tag "dlo:$version" --file packaging/image/Containerfile $out/image
  rm -f "$archive"
  buildah push "dlo:$version" "docker-archive:$archive:dlo:$version"
}

# Of what is in the binary. cargo-cyclonedx writes beside each Cargo.toml.
sbom() {
  PATH=$($rig/tool.sh cargo-cyclonedx):$PATH cargo cyclonedx --quiet --format json --spec-version 1.5 \
    --target $target --override-filename dlo-sbom
  mv dlo-sbom.json $out/dlo.cdx.json
  rm -f crates/*/dlo-sbom.json
}

# What a release has, in one folder.
checksums() {
  rm -rf $out/release
  mkdir $out/release
  tar --create --gzip --file "$out/release/dlo-$version-$target.tar.gz" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime "@$SOURCE_DATE_EPOCH" --transform "s,^,dlo-$version/," --directory $out dlo LICENSE man completions
  cp "$out/dlo_$version-${revision}_amd64.deb" $out/dlo.cdx.json $out/release/
  gzip --no-name --to-stdout "$out/dlo-$version.docker.tar" >"$out/release/dlo-$version.docker.tar.gz"
  (cd $out/release && sha256sum -- * >SHA256SUMS)
}

rig=tests/rig
mkdir -p $out
for part in "${@:-binary deb image}"; do
  for name in $part; do
    case $name in
      binary | deb | image | sbom | checksums) $name ;;
      *) echo "usage: $0 [binary] [deb] [image] [sbom] [checksums]" >&2; exit 2 ;;
    esac
  done
done
