"""How do we speak to operators? One line per event, JSON for machines or colours for a terminal."""

import logging
import sys
from typing import Any, TextIO

import structlog

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(form: str, level: str, stream: TextIO | None = None) -> None:
    """Set up structlog once. `form` is json or console; `level` one of LEVELS."""
    out = stream if stream is not None else sys.stderr
    render: structlog.typing.Processor
    if form == "json":
        render = structlog.processors.JSONRenderer()
    else:
        render = structlog.dev.ConsoleRenderer(colors=out.isatty())
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def logger(**context: Any) -> structlog.typing.FilteringBoundLogger:
    """A logger that adds this context to every line."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger(**context)
    return bound
