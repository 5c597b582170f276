"""The compatible APIs: one package for each, with its schemas, its serializers and its services."""
