"""Another machine: any command run there over SSH, its output here, its results brought back.

    words ─► arguments   which local files they name, and where results may come back to
          ─► tree        our own code, as an archive that is named by its content
          ─► session     ship both · start · follow · bring back · clean up, whatever is cut
               ├── connection   SSH: host keys, authentication, scripts run there, SFTP
               │     └── known_hosts   which keys a host may show
               ├── transfer     files both ways: continued where they broke off, and checksummed
               ├── job          the command there, detached from us: start, follow, interrupt
               └── notes        what was begun and not yet brought back, for `--resume`

There, under ~/.local/state/testbed (or $XDG_STATE_HOME/testbed):

code/<hash>/            our tree; the same code is sent once
environments/<hash>/    its Python environments; the same locks share them
jobs/<id>/              one command: its script, its output, its exit code
jobs/<id>/files/        stands for the root of our file system: what the command reads and writes

All a machine needs is an SSH server with SFTP, and what `bin/testbed` needs: Debian or the like.
"""
