# Sourced by controlplane and karpenter: programs for the tests are built once from pinned Go modules, into a folder
# of the user's cache that is named after what they were built from, and found there ever after.
#
# The script that sources this sets
#   name              what it calls itself, and its folder in the cache
#   title, version    what it builds, for people
#   source_dir        where its Go module lies
#   cost              what the first build takes
#   without_go        what to do where there is no Go
# and defines
#   ingredients       prints all that the programs depend on; it runs in source_dir
#   fill FOLDER       builds into an empty folder
# and then calls `provide "$print_only"`.

# Whatever the caller's Go is set to, the same sources give the same programs.
export GOFLAGS="-mod=readonly -modcacherw -buildvcs=false" GOWORK=off CGO_ENABLED=0
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

say() { echo "$name: $*" >&2; }
sha() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }

# Lines of `go build -v` are packages: a count of them is the only progress there is to show.
count_packages() {
  local count=0
  while read -r line; do
    if [[ $line =~ ^[A-Za-z0-9./_@~-]+$ ]]; then
      count=$((count + 1))
      if ((count % 100 == 0)); then say "$count packages compiled after ${SECONDS} s"; fi
    else
      echo "$line" >&2
    fi
  done
}

# Prints the folder. Exit status 3: not built yet and PRINT_ONLY was given; 4: there is no Go.
provide() { # PRINT_ONLY
  local key cache target work
  key=$(cd "$source_dir" && ingredients | sha | cut -c1-16)
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/gpu-reconciler/$name
  target=$cache/$version-$key
  if [[ -e $target/complete ]]; then
    touch "$target"
    echo "$target"
    return
  fi
  if [[ $1 ]]; then
    echo "$target"
    command -v go >/dev/null || exit 4
    exit 3
  fi
  if ! command -v go >/dev/null; then
    say "$title $version has to be built, and there is no Go here. $without_go"
    exit 4
  fi
  mkdir -p "$cache"
  # One build of a version at a time: a second one would do the same work.
  if command -v flock >/dev/null; then
    exec 9>"$cache/lock-$version"
    flock --nonblock 9 || { say "waiting for another build of $title $version" && flock 9; }
  fi
  if [[ ! -e $target/complete ]]; then
    work=$(mktemp -d "$cache/building.XXXXXX")
    # shellcheck disable=SC2064  # the folder of now is meant
    trap "rm -rf '$work'" EXIT
    say "building $title $version, once: $cost"
    fill "$work"
    touch "$work/complete"
    rm -rf "$target"
    mv "$work" "$target"
    trap - EXIT
    # What no run has asked for in a month is of sources long gone.
    find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
    say "built in ${SECONDS} s"
  fi
  echo "$target"
}
