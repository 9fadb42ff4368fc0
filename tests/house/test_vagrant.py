"""The virtual machine, as far as it can be tested without one."""

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VAGRANTFILE = REPOSITORY / "Vagrantfile"
SCRIPTS = sorted((REPOSITORY / "images" / "vagrant").glob("*.sh"))

# Stands in for Vagrant: prints what is set, by its full name.
VAGRANT = """
class Settings
  def initialize(name) = @name = name
  def method_missing(name, *values, **options, &block)
    if name.end_with?("=") || !options.empty?
      puts ["#{@name}.#{name}", *values, *options.map { |key, value| "#{key}=#{value}" }].join(" ")
    elsif block
      block.call(Settings.new("#{@name}.#{name} #{values.join}"))
    else
      Settings.new("#{@name}.#{name}")
    end
  end
end

module Vagrant
  def self.configure(_version) = yield(Settings.new("config"))
end

load ARGV[0]
"""


def settings(**variables: str) -> list[str]:
    command = ["ruby", "-e", VAGRANT, str(VAGRANTFILE)]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_the_vagrantfile_is_ruby() -> None:
    done = subprocess.run(["ruby", "-wc", VAGRANTFILE], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Syntax OK\n", "")


def test_its_size_comes_from_the_environment() -> None:
    found = settings(TESTBED_VM_MEMORY="1234", TESTBED_VM_CPUS="3")
    for provider in ("virtualbox", "libvirt"):
        assert f"config.vm.provider {provider}.memory= 1234" in found
        assert f"config.vm.provider {provider}.cpus= 3" in found


def test_it_is_provisioned_by_a_script_that_is_there() -> None:
    (line,) = (line for line in settings() if line.startswith("config.vm.provision "))
    found = re.search(r"path=(\S+)", line)
    assert found is not None
    assert REPOSITORY / found[1] in SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_its_scripts_are_shell_scripts_that_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
