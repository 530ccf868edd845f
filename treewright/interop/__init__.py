"""Adapters for other libraries: a component and a tokenizer for spaCy, and parsers and a tagger for NLTK.

The libraries are optional: :mod:`treewright.interop.spacy_component` needs ``treewright[spacy]``, and
:mod:`treewright.interop.nltk_adapters` needs NLTK.
"""
