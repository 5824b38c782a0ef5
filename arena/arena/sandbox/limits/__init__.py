"""Limits of memory, tasks and CPU time: exact ones enforced by the kernel, or approximate ones by polling."""
