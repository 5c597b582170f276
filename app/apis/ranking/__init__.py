"""The rerank routes of Cohere's and Jina's APIs, and the score route of vLLM's."""
