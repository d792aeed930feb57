"""Files and folders in a file system of pyarrow, e.g. s3://bucket/folder, with methods like those of pathlib."""

import fnmatch
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from grantpath.graph.errors import InvalidInput
from grantpath.graph.messages import short

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")  # of a URI
_OF_PYARROW = {"s3a": "s3", "s3n": "s3"}  # by the scheme of Hadoop
_OF_HADOOP = {"s3": "s3a", "s3n": "s3a", "gcs": "gs"}  # by the scheme of others
_WITHOUT_FOLDERS = ("s3", "gcs", "abfs")  # types of file systems in which a folder exists as soon as a file in it does


@dataclass(frozen=True, order=True)
class RemotePath:
    """A file or folder of a file system of pyarrow, with those methods of pathlib.Path that a snapshot needs.

    `uri` is percent-encoded and contains no login; `path` is the name in the file system. The methods
    raise OSError, e.g. FileNotFoundError. A pickle has only the URI: a task opens the file system by its own settings.
    """

    uri: str
    path: str = field(compare=False)
    filesystem: FileSystem = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "RemotePath":
        if not name:
            return self
        return RemotePath(f"{self.uri}/{quote(name)}", f"{self.path}/{name}", self.filesystem)

    def __reduce__(self) -> tuple[object, ...]:
        return path_at, (self.uri,)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> "RemotePath":
        """The folder above it."""
        return RemotePath(self.uri.rpartition("/")[0], self.path.rpartition("/")[0], self.filesystem)

    @property
    def hadoop_uri(self) -> str:
        """The URI as Spark expects it: in a scheme of Hadoop, without percent signs for special characters."""
        return _plain(self.uri, _OF_HADOOP)

    @property
    def plain_uri(self) -> str:
        """The URI in a scheme of pyarrow, without percent signs for special characters."""
        return _plain(self.uri, _OF_PYARROW)

    def absolute(self) -> "RemotePath":
        """Itself."""
        return self

    def exists(self) -> bool:
        return bool(self._info().type != FileType.NotFound)

    def glob(self, pattern: str) -> Iterator["RemotePath"]:
        """The files and folders in this folder whose names match. There are none in a folder that does not exist."""
        found = self.filesystem.get_file_info(FileSelector(self.path, allow_not_found=True))
        yield from (self / each.base_name for each in found if fnmatch.fnmatchcase(each.base_name, pattern))

    def files(self) -> list[FileInfo]:
        """All files in this folder and below it."""
        below = self.filesystem.get_file_info(FileSelector(self.path, allow_not_found=True, recursive=True))
        return [each for each in below if each.type == FileType.File]

    def size(self) -> int:
        """The bytes of a file."""
        found = self._info()
        if found.type != FileType.File:
            raise FileNotFoundError(f"{self} is not a file")
        return int(found.size)

    def read_text(self, encoding: str = "utf-8") -> str:
        with self.filesystem.open_input_stream(self.path) as file:
            return str(file.read().decode(encoding))

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Writes the file. In an object store, the file is complete or absent."""
        with self.filesystem.open_output_stream(self.path) as file:
            file.write(text.encode(encoding))

    def unlink(self) -> None:
        self.filesystem.delete_file(self.path)

    def mkdir(self) -> None:
        """Creates the folder and those above it, where the file system has folders."""
        if self.filesystem.type_name not in _WITHOUT_FOLDERS:
            self.filesystem.create_dir(self.path, recursive=True)

    def _info(self) -> FileInfo:
        return self.filesystem.get_file_info(self.path)


AnyPath = Path | RemotePath


def path_at(location: AnyPath | str) -> AnyPath:
    """The file or folder with this path or URI, e.g. /data, file:///my%20data, s3://bucket/data, hdfs://host/data.

    Raises InvalidInput for a URI that cannot be parsed, contains a login or options, or is of a file system that
    pyarrow cannot open.
    """
    if isinstance(location, RemotePath):
        return location
    text = str(location)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(location)
    if "#" in text or "?" in text:
        raise InvalidInput(
            f"{short(re.split('[#?]', text)[0])}...: # and ? in a name must be written as %23 and %3F; a URI has no "
            "options here: set the endpoint by AWS_ENDPOINT_URL"
        )
    if scheme[1].lower() == "file":
        return _local(text)
    if isinstance(location, Path):
        raise InvalidInput(f"{short(text)}: pass a URI as a string, because a Path removes one of its slashes")
    return _remote(text)


def local_path(location: AnyPath | str) -> Path:
    """Like `path_at`, for what must be on a local file system. Raises InvalidInput if it is not."""
    found = path_at(location)
    if isinstance(found, Path):
        return found
    raise InvalidInput(
        f"{short(str(found))}: `follow`, `mirror --update` and `export` write only to a folder of this machine, "
        "because they rename folders and lock files; name one, or write a new snapshot with `grantpath mirror URI`"
    )


def arrow_place(path: AnyPath) -> tuple[str, FileSystem]:
    """What pyarrow needs to open a file or folder: its name, and its file system."""
    return (str(path), LocalFileSystem()) if isinstance(path, Path) else (path.path, path.filesystem)


def size_of(path: AnyPath) -> int:
    """The bytes of a file. Raises OSError."""
    return path.stat().st_size if isinstance(path, Path) else path.size()


def remove_tree(folder: AnyPath) -> None:
    """Removes a folder with all that is in it, if it exists. Raises OSError if that fails in a remote file system."""
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder.exists():
        folder.filesystem.delete_dir(folder.path)


def reason_of(error: Exception) -> str:
    """The first line of an error, for a message."""
    return short((str(error).splitlines() or [type(error).__name__])[0], 300)


def _local(text: str) -> Path:
    try:
        return Path(FileSystem.from_uri(text)[1])
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            f"{short(text)} is not a URI of a file: {reason_of(error)}; write it as Path(...).as_uri() does"
        ) from None


def _remote(text: str) -> RemotePath:
    scheme, host, inner, _, _ = urlsplit(text)
    if host.rpartition("@")[0].count(":") or ("@" in host and _OF_PYARROW.get(scheme, scheme) == "s3"):
        raise InvalidInput(
            f"a URI of {scheme}: contains a login; remove it, and pass the login by AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or as the storage's other clients take it"
        )
    try:
        inner = "".join(f"/{part}" for part in unquote(inner, errors="strict").split("/") if part)
        filesystem, base = _opened(f"{_OF_PYARROW.get(scheme, scheme)}://{host}/")
        return RemotePath(f"{scheme}://{host}{quote(inner)}", base + inner, filesystem)
    except (pa.ArrowException, ValueError) as error:
        raise InvalidInput(
            f"{short(text)} is not a URI that pyarrow supports ({reason_of(error)}); use s3:, gs:, abfss: or hdfs: "
            "with percent signs for special characters, or name a path"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"{short(text)} cannot be opened ({reason_of(error)}); check its name, the login and the endpoint"
        ) from None


@lru_cache(maxsize=16)
def _opened(uri: str) -> tuple[FileSystem, str]:
    """The file system of a URI without a path, and what its paths begin with. Opening one may use the network."""
    filesystem, base = FileSystem.from_uri(uri)
    return filesystem, base.rstrip("/")


def _plain(uri: str, schemes: dict[str, str]) -> str:
    scheme, host, inner, _, _ = urlsplit(uri)
    return f"{schemes.get(scheme, scheme)}://{host}{unquote(inner)}"
