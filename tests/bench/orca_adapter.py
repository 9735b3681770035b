#!/usr/bin/env python3
"""Puts orca beside other multiplexers in the shared harness (see its README.md).

  ORCA_BIN=target/release/orca python3 tests/bench/orca_adapter.py [HARNESS] \\
      --peers tmux,orca --metrics startup,echo,cli,cli_query,memory --runs 3

HARNESS is the folder with mux_bench.py [default: $ORCA_BENCH, else ../shared/bench beside this
checkout]; without one there is nothing to do, and that is no error. Every other option is the
harness's own. Python 3 standard library only.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))


def harness_dir(argv):
    """The harness's folder and the remaining arguments."""
    if len(argv) > 1 and not argv[1].startswith("-"):
        return argv[1], argv[:1] + argv[2:]
    beside = [os.path.join(PROJECT, *up, "shared", "bench") for up in ([".."], ["..", ".."])]
    named = os.environ.get("ORCA_BENCH")
    return named or next((d for d in beside if os.path.isdir(d)), beside[0]), argv


def adapter_class(adapters, outer):
    """The class for orca, over the harness's own modules."""

    class Orca(adapters.Adapter):
        """Client, one server and one holder per terminal; all of them count."""
        name = "orca"
        binary = os.path.join(PROJECT, "target", "release", "orca")
        env_bin = "ORCA_BIN"
        exes = ("orca",)
        has_split = has_hidden = True

        def setup(self):
            self.env["ORCA_HOME"] = self.dir + "/home/.orca"
            config = self.dir + "/cfg/orca"
            os.mkdir(config)
            with open(config + "/config.toml", "w") as f:
                f.write('shell = "%s"\n[terminal]\nscrollback_lines = %d\n' % (self.shell, adapters.SCROLLBACK))

        def start_argv(self):
            # Without a command it starts the server and opens a first shell.
            return [self.bin]

        def attach_argv(self):
            return [self.bin, "attach"]

        def create(self, argv, *options):
            line = "exec " + " ".join("'%s'" % word for word in argv)
            self.cli("terminal", "create", "--command", line, *options)

        def split(self, argv):
            # The screen tiles what belongs to one Run, or all plain shells; focus stays.
            self.create(argv)

        def hidden(self, argv):
            # Zoomed, the first pane has the screen for itself; the others run on unseen.
            if not getattr(self, "is_zoomed", False) and self.outers:
                self.outers[-1].write(b"\x02z")
                self.outers[-1].pump(0.05)
                self.is_zoomed = True
            self.create(argv)

        def detach(self, out):
            out.write(b"\x02d")
            out.settle(0.3, 3)
            out.close()

        def cli_noop(self):
            # A message that is on the disk when the command returns.
            return [self.bin, "orchestration", "send", "--to", "user", "--subject", "x"]

        def cli_query(self):
            return [self.bin, "status"]

        def stop(self):
            self.cli("server", "stop", "--force", check=False)

        def server_pids(self):
            return [pid for pid in self.mux_pids() if " server run" in outer.cmdline(pid)]

    return Orca


def main():
    harness, sys.argv = harness_dir(sys.argv)
    if not os.path.isfile(os.path.join(harness, "mux_bench.py")):
        print("skip: no harness in %s (give its folder, or set ORCA_BENCH)" % harness, file=sys.stderr)
        return
    sys.dont_write_bytecode = True
    sys.path.insert(0, harness)
    import adapters
    import mux_bench
    import outer
    adapters.ADAPTERS["orca"] = adapter_class(adapters, outer)
    if not any(word.startswith("--peers") for word in sys.argv):
        sys.argv += ["--peers", "tmux,orca"]
    mux_bench.main()


if __name__ == "__main__":
    main()
