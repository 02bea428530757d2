"""A file is there whole, old or new, whatever happens."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from pnml import InputError, PNMLRegressor, load, save
from pnml.runtime.atomic import write_whole


def other_model():
    return PNMLRegressor(alpha=1.0).fit([[0.0], [1.0], [5.0]], [0.0, 2.0, 1.0])


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    step, failure, saved, monkeypatch
):
    old, model = saved.read_bytes(), other_model()

    def fail(*_, **__):
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        expected = InputError if isinstance(failure, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            save(model, saved)
    assert saved.read_bytes() == old
    assert list(saved.parent.iterdir()) == [saved]
    save(model, saved)
    assert load(saved).alpha == 1.0


def test_a_failure_between_two_pieces_leaves_nothing_behind(tmp_path):
    def pieces():
        yield b"one"
        raise RuntimeError("no second piece")

    with pytest.raises(RuntimeError):
        write_whole(tmp_path / "file", pieces())
    assert list(tmp_path.iterdir()) == []


def test_the_file_and_then_its_folder_are_brought_to_disk(tmp_path, monkeypatch):
    synced, replace, fsync = [], os.replace, os.fsync

    def watch(handle):
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        synced.append(("folder" if is_folder else "file", os.fstat(handle).st_size))
        fsync(handle)

    def watch_replace(*names):
        synced.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", watch)
    monkeypatch.setattr(os, "replace", watch_replace)
    write_whole(tmp_path / "file", [b"abc", b"defg"])
    assert synced[:2] == [("file", 7), "replace"]
    assert synced[2][0] == "folder"


@pytest.mark.parametrize(("code", "raises"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_folder_that_cannot_be_synced_is_no_error_but_a_broken_disk_is(
    code, raises, tmp_path, monkeypatch
):
    def only_files(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", only_files)
    if raises:
        with pytest.raises(OSError):
            write_whole(tmp_path / "file", [b"abc"])
    else:
        write_whole(tmp_path / "file", [b"abc"])
    assert (tmp_path / "file").read_bytes() == b"abc"


def test_a_new_file_gets_ordinary_rights_and_an_old_one_keeps_its_own(tmp_path):
    path = tmp_path / "file"
    write_whole(path, [b"new"])
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    path.chmod(0o640)
    write_whole(path, [b"newer"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, [b"new"])
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("name", ["", "missing/model.pnml", ".", "model.pnml/inside", "a\0b"])
def test_a_path_that_cannot_be_written_is_named_in_one_sentence(name, saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    old = saved.read_bytes()
    with pytest.raises(InputError, match=r"check the path|name a file"):
        save(other_model(), name)
    assert saved.read_bytes() == old
    assert list(saved.parent.iterdir()) == [saved]
