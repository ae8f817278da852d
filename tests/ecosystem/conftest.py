"""What of this folder is tests: the jobs are programs for other environments."""

from __future__ import annotations

collect_ignore = ["jobs", "worker.py"]
