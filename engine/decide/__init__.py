"""From a question to its answer: decisions, lists, explanations, remedies."""
