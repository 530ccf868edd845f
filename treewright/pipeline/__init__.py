"""From raw text to every layer of annotation: components that run in sequence, and the documents that they produce."""

from typing import TYPE_CHECKING

from treewright.lazy import lazy_names

if TYPE_CHECKING:
    from treewright.pipeline.document import Analysis, Document
    from treewright.pipeline.pipeline import Pipeline
    from treewright.pipeline.training import PipelineTrainer, train_pipeline

__all__ = ["Analysis", "Document", "Pipeline", "PipelineTrainer", "train_pipeline"]

__getattr__ = lazy_names(
    __name__,
    {
        "document": "Analysis Document",
        "pipeline": "Pipeline",
        "training": "PipelineTrainer train_pipeline",
    },
)
