"""Models from the Hugging Face hub: repositories, the choice of their files, and downloads that resume."""
