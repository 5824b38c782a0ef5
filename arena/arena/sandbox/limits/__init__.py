"""Limits of memory, tasks and processor time: exact ones by the kernel, or what the arena sees by polling."""
