"""`testbed report`, run for real."""

from pathlib import Path

from tests.support.command_line import refusal, run

EXPERIMENT = """\
name: small
title: "<script>alert(1)</script>"
protocol: {name: gossip-broadcast, c: 2}
communities: {.: 5, .a: 15}
network: {latency: rounds, loss: $loss}
workload:
  - {topic: .a}
repetitions: 3
sweep: {loss: [0, 0.5]}
"""


def test_a_run_becomes_a_page_with_its_figures(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    assert run(tmp_path, "simulate", "small.yaml", "--workers", "1").returncode == 0
    (folder,) = (tmp_path / "runs").iterdir()
    done = run(tmp_path, "report", folder, "--out", "there")
    assert (done.returncode, done.stdout, done.stderr) == (0, "report: there/report.html\n", "")
    page = (tmp_path / "there/report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script" not in page
    assert (tmp_path / "there/figures/run-1-loss-reception.png").exists()


def test_a_folder_that_is_no_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    done = run(tmp_path, "report", "nowhere")
    assert done.returncode == 2
    assert refusal(done) == "nowhere is no run folder: there is no such folder"


def test_a_file_in_place_of_the_reports_folder_is_refused_before_the_analysis(
    tmp_path: Path,
) -> None:
    (tmp_path / "taken").write_text("")
    done = run(tmp_path, "report", "nowhere", "--out", "taken")
    assert done.returncode == 2
    assert refusal(done) == "taken is not a folder: the report cannot be written there"
