"""From raw text to words: tokens, sentences and multiword tokens; morphology; lemmas."""
