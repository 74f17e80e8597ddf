"""Model files taken apart and put together again, with a right checksum, as a forger would."""

import io
import json

from preimage.persistence._safetensors import CHECKSUM, ENTRY, checksum, parts_of_file, read_file


def header_of(data):
    """The header, and the bytes after it."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def with_header(header, rest):
    """A file with any header, or the text of one."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return len(text).to_bytes(8, "little") + text + rest


def document_of(data):
    """The JSON that describes the model."""
    return json.loads(header_of(data)[0]["__metadata__"][ENTRY])


def arrays_of(data):
    return read_file(io.BytesIO(data), len(data))[1]


def with_document(data, document):
    """The same arrays under another description, or the text of one; the checksum is right."""
    header, rest = header_of(data)
    text = document if isinstance(document, str) else json.dumps(document)
    header["__metadata__"] = {ENTRY: text, CHECKSUM: checksum(text, arrays_of(data))}
    return with_header(header, rest)


def with_arrays(data, arrays):
    """The same description of other arrays; the checksum is right."""
    return b"".join(parts_of_file(header_of(data)[0]["__metadata__"][ENTRY], arrays))


def without_checksum(data):
    """A file as they were before there was a checksum."""
    header, rest = header_of(data)
    del header["__metadata__"][CHECKSUM]
    return with_header(header, rest)
