"""Rows of answers in and out."""
