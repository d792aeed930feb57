"""A file with a password must be closed to other users; a file of root may be readable for its group."""

import os
from pathlib import Path

import pytest

from grantpath.graph.errors import InvalidInput
from grantpath.graph.files.private_files import private_line

ROOT, OTHER = 0, 10_001


@pytest.mark.parametrize(
    ("owner", "process", "mode", "accepted"),
    [
        (OTHER, OTHER, 0o600, True),
        (OTHER, OTHER, 0o400, True),
        (OTHER, OTHER, 0o640, False),
        (ROOT, OTHER, 0o440, True),  # a secret of Kubernetes with `fsGroup`
        (ROOT, OTHER, 0o640, True),
        (ROOT, OTHER, 0o460, False),
        (ROOT, OTHER, 0o450, False),
        (ROOT, OTHER, 0o444, False),
        (ROOT, ROOT, 0o440, False),
        (ROOT, ROOT, 0o400, True),
    ],
)
def test_who_may_read_a_file_with_a_password(
    owner: int, process: int, mode: int, accepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "password"
    file.write_text("only-for-tests\n")
    file.chmod(mode | 0o400)
    real = Path.stat

    def owned(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = [*real(path, follow_symlinks=follow_symlinks)]
        if path == file:
            status[4] = owner
        return os.stat_result(status)

    monkeypatch.setattr(Path, "stat", owned)
    monkeypatch.setattr(os, "geteuid", lambda: process)
    if accepted:
        assert private_line("password", file) == "only-for-tests"
    else:
        with pytest.raises(InvalidInput, match=rf"open to other users \(mode {mode:04o}\)"):
            private_line("password", file)
