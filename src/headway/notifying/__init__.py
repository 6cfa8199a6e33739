"""Telling people how a run goes: by webhook, by a command, by mail."""
