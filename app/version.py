"""The version of Ebb: written here, read by the build and by everything that shows it."""

VERSION = "0.1.0"
