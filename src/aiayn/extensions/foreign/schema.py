"""The schema of `aiayn export` and `aiayn import`."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from omegaconf import MISSING

from aiayn.config.command_schema import TrustConfig
from aiayn.config.data_schema import SplitFilesConfig
from aiayn.config.schema import CachePathConfig, ProcessConfig
from aiayn.config.values import text, text_or_null


class Quantization(Enum):
    """The type of an export's stored weights."""

    float32 = "float32"
    float16 = "float16"
    bfloat16 = "bfloat16"
    int8 = "int8"


class ExportFormat(StrEnum):
    """The format of an exported model."""

    ctranslate2 = "ctranslate2"
    safetensors = "safetensors"


@dataclass
class ExportConfig(TrustConfig):
    """`aiayn export`."""

    run: str = text()
    """A run directory."""
    checkpoint: str = text()
    """last, best, average or an optimizer step."""
    format: ExportFormat = MISSING
    """ctranslate2: a folder that CTranslate2 loads; safetensors: a file of the weights by name."""
    output: str = text()
    """The file or folder to write; it must not exist."""
    quantization: Quantization = MISSING
    """Type of the stored weights; int8 only with format=ctranslate2."""
    launch: ProcessConfig = MISSING
    """Settings of this process."""


@dataclass
class ImportConfig:
    """`aiayn import`."""

    checkpoint: str = text()
    """A checkpoint of fairseq, with dict.<language>.txt beside it, or a folder of a Marian model of transformers."""
    output: str = text()
    """The run directory to make; it must not exist."""
    source_language: str | None = text_or_null()
    """ISO 639-1 code of the source side; null: as the checkpoint states."""
    target_language: str | None = text_or_null()
    """ISO 639-1 code of the target side; null: as the checkpoint states."""
    test: SplitFilesConfig = MISSING
    """Files of sentences in the model's own pieces, which aiayn evaluate decodes and scores; null: none."""
    paths: CachePathConfig = MISSING
    """Folders."""
