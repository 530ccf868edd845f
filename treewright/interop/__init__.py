"""Adapters for other libraries: a component and a tokenizer of spaCy, parsers and taggers of NLTK.

The libraries are optional: :mod:`treewright.interop.spacy_component` needs ``treewright[spacy]``, and
:mod:`treewright.interop.nltk_adapters` needs NLTK.
"""
