"""The virtual machine, as far as it can be tested without one."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
VAGRANTFILE = REPOSITORY / "Vagrantfile"
LAUNCHER = REPOSITORY / "bin" / "testbed"
REHEARSAL = REPOSITORY / "images" / "vagrant" / "rehearse.sh"
SCRIPTS = sorted((REPOSITORY / "images" / "vagrant").glob("*.sh"))

# Stands in for Vagrant: knows what we set, by Vagrant's documentation, and nothing else, and prints
# each setting as it is told: its full name, values and options.
VAGRANT = """
require "json"

KNOWN = {
  "config" => [:vm],
  "config.vm" => [:box=, :hostname=, :synced_folder, :provider, :provision],
  "config.vm.provider.virtualbox" => [:memory=, :cpus=],
  "config.vm.provider.libvirt" => [:memory=, :cpus=]
}
OPTIONS = {
  synced_folder: [:disabled, :type, :rsync__exclude],
  provision: [:path, :args]
}

class Settings < BasicObject
  def initialize(name) = @name = name
  def method_missing(name, *values, **options, &block)
    known = ::KNOWN.fetch(@name).include?(name)
    unknown = options.keys - ::OPTIONS.fetch(name, [])
    ::Kernel.abort("#{@name} has no #{name} #{unknown}") unless known && unknown.empty?
    full = [@name, name, *(values if block)].join(".")
    ::Kernel.puts(::JSON.generate([full, values, options])) unless block || values.empty?
    inner = ::Settings.new(full)
    block ? block.call(inner) : inner
  end
end

module Vagrant
  def self.configure(_version) = yield(Settings.new("config"))
end

load ARGV[0]
"""

Setting = tuple[str, list[str | int], dict[str, str | bool | list[str]]]


def settings(file: Path = VAGRANTFILE, **variables: str) -> list[Setting]:
    command = ["ruby", "-e", VAGRANT, str(file)]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def code_there() -> Setting:
    """The synced folder that is not switched off."""
    (found,) = (
        setting
        for setting in settings()
        if setting[0] == "config.vm.synced_folder" and not setting[2].get("disabled")
    )
    return found


def test_the_vagrantfile_is_ruby() -> None:
    done = subprocess.run(["ruby", "-wc", VAGRANTFILE], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Syntax OK\n", "")


@pytest.mark.parametrize(
    "line",
    [
        'config.vm.bocks = "debian/bookworm64"',
        'config.wm.box = "debian/bookworm64"',
        'config.vm.provision "shell", paht: "provision.sh"',
        'config.vm.provider("libvirt") { |machine| machine.memroy = 1 }',
        'config.vm.provider("virtualbax") { |machine| machine.memory = 1 }',
    ],
)
def test_a_misspelt_setting_would_be_noticed(tmp_path: Path, line: str) -> None:
    file = tmp_path / "Vagrantfile"
    file.write_text(f'Vagrant.configure("2") do |config|\n{line}\nend\n')
    with pytest.raises(subprocess.CalledProcessError):
        settings(file)


def test_its_size_comes_from_the_environment() -> None:
    found = settings(TESTBED_VM_MEMORY="1234", TESTBED_VM_CPUS="3")
    for provider in ("virtualbox", "libvirt"):
        assert (f"config.vm.provider.{provider}.memory=", [1234], {}) in found
        assert (f"config.vm.provider.{provider}.cpus=", [3], {}) in found


def test_it_is_the_debian_that_the_launcher_sets_up() -> None:
    assert ("config.vm.box=", ["debian/bookworm64"], {}) in settings()


def test_the_code_is_copied_there_without_what_is_only_of_this_machine() -> None:
    _, (here, _), options = code_there()
    assert here == "."
    assert options["type"] == "rsync"
    assert options["rsync__exclude"] == [".git/", ".venv/", ".vagrant/", "runs/"]


def test_it_is_provisioned_by_a_script_that_is_there_and_told_where_the_code_is() -> None:
    (provision,) = (setting for setting in settings() if setting[0] == "config.vm.provision")
    _, kind, options = provision
    assert kind == ["shell"]
    assert REPOSITORY / str(options["path"]) in SCRIPTS
    assert options["args"] == [code_there()[1][1]]


def environments_of_commands() -> set[str]:
    """As the launcher names them."""
    return set(re.findall(r"^ +environment=([a-z]+)$", LAUNCHER.read_text(), re.MULTILINE))


def test_its_rehearsal_looks_for_the_environment_of_every_command() -> None:
    found = re.search(r"for environment in (.+); do", REHEARSAL.read_text())
    assert found is not None
    assert set(found[1].split()) == environments_of_commands() != set()


def test_its_rehearsal_refuses_to_have_no_folder() -> None:
    # Where it finds no program, so that it could do no harm if it went on.
    command = ["/bin/bash", REHEARSAL, ""]
    done = subprocess.run(command, env={"PATH": "/nowhere"}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "FOLDER is missing" in done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_its_scripts_are_shell_scripts_that_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)
