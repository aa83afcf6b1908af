#!/bin/bash
# The life of the package in a Debian of its own; packaging/try-deb.sh runs it there.
set -euo pipefail
say() { echo "try-deb: $*"; }
fail() { say "FAILED: $*"; journalctl --unit dlo --no-pager --lines 50 || true; systemctl status dlo --no-pager || true; exit 1; }
trap 'fail "line $LINENO"' ERR

is() { # WHAT EXPECTED FOUND
  if [ "$2" != "$3" ]; then fail "$1 is $3, and should be $2"; fi
}
await_ready() {
  # shellcheck disable=SC2016 # nothing is expanded
  timeout 120 sh -c 'until dlo health --ready --config /etc/dlo/dlo.toml >/dev/null 2>&1; do sleep 0.1; done' ||
    fail "dlo is not ready"
}
main_pid() { systemctl show --property MainPID --value dlo; }

dpkg --install /packages/one.deb
is "the user of the data" "dlo dlo 700" "$(stat --format '%U %G %a' /var/lib/dlo)"
is "the configuration" "root 644" "$(stat --format '%U %a' /etc/dlo/dlo.toml)"
is "the service" disabled "$(systemctl is-enabled dlo || true)"
is "the service" inactive "$(systemctl is-active dlo || true)"
for file in bash-completion/completions/dlo zsh/vendor-completions/_dlo man/man1/dlo.1.gz man/man1/dlo-serve.1.gz \
  doc/dlo/copyright doc/dlo/examples/dlo.toml; do
  test -s "/usr/share/$file" || fail "there is no /usr/share/$file"
done
systemd-analyze verify --man=no dlo.service
say "installed: $(dlo --version), user, data, configuration, unit"

install -m 600 /dev/null /etc/dlo/environment
echo 'DLO_BROKERS__MAIN__URL=amqp://guest:guest@127.0.0.1:5672/%2f' >/etc/dlo/environment
systemctl enable --quiet --now dlo
await_ready
is "who runs it" dlo "$(ps -o user= -p "$(main_pid)" 2>/dev/null || stat --format %U "/proc/$(main_pid)")"
test -s /var/lib/dlo/dlo.db || fail "there is no database"
is "what others may read of the database" 600 "$(stat --format %a /var/lib/dlo/dlo.db)"
rabbitmqctl --quiet list_queues name | grep -q '^dlo.dead-letters$' || fail "RabbitMQ has no queue for dead letters"
say "started: $(dlo health --config /etc/dlo/dlo.toml); exposure $(systemd-analyze security dlo 2>/dev/null | tail -n 1)"

echo '# mine' >>/etc/dlo/dlo.toml
before=$(main_pid)
dpkg --install /packages/two.deb
is "the package" 2 "$(dpkg-query --show --showformat '${Version}' dlo | cut -d- -f2)"
is "the last line of the configuration" '# mine' "$(tail -n 1 /etc/dlo/dlo.toml)"
await_ready
if [ "$(main_pid)" = "$before" ]; then fail "an upgrade does not start the new version"; fi
say "upgraded: started anew, what somebody wrote into the configuration is kept"

systemctl stop dlo
is "how it ended" success "$(systemctl show --property Result --value dlo)"
systemctl start dlo
dpkg --remove dlo
is "the service" inactive "$(systemctl is-active dlo || true)"
test ! -e /usr/bin/dlo || fail "the program is still there"
test -s /etc/dlo/dlo.toml || fail "the configuration is gone"
test -s /var/lib/dlo/dlo.db || fail "the database is gone"
say "removed: program and unit; configuration and database are kept"

dpkg --purge dlo
for left in /etc/dlo /var/lib/dlo /etc/systemd/system/multi-user.target.wants/dlo.service \
  /var/lib/systemd/deb-systemd-helper-enabled/dlo.service.dsh-also; do
  if [ -e "$left" ] || [ -L "$left" ]; then fail "$left is left"; fi
done
is "what dpkg knows" "" "$(dpkg-query --show --showformat '${Status}' dlo 2>/dev/null || true)"
say "purged: nothing is left but the user"
