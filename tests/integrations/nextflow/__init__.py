"""Tests of `headway nextflow`, with a real Nextflow."""
