"""Structured logs on standard error: one JSON object a line.

No request line, address or user agent is logged: a device is not to be found in a log.
"""

import logging

import structlog

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": structlog.processors.JSONRenderer(),
            "foreign_pre_chain": [
                structlog.contextvars.merge_contextvars,
                structlog.processors.TimeStamper(fmt="iso"),
                structlog.stdlib.add_logger_name,
                structlog.stdlib.add_log_level,
                structlog.processors.format_exc_info,
            ],
        }
    },
    "handlers": {"standard_error": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["standard_error"], "level": "WARNING"},
    "loggers": {
        "panapp": {"level": "INFO"},
        "results": {"level": "INFO"},
        # Logs at every orderly shutdown that the queue outlives its last worker.
        "kombu.transport.virtual.base": {"level": "ERROR"},
        # Every failed attempt; the audit log has them, without the address.
        "axes": {"level": "ERROR"},
        # Names of paths that were not found, hosts that were wrong: what strangers typed.
        "django.request": {"level": "ERROR"},
        "django.security": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # Forms with files, or too large: each would leave a traceback.
        "django.security.RequestDataTooBig": {"level": "CRITICAL"},
        "django.security.TooManyFieldsSent": {"level": "CRITICAL"},
        "django.security.TooManyFilesSent": {"level": "CRITICAL"},
    },
}

# A line that cannot be written is dropped. Python would print the exception under way with it, which may
# quote what was sent.
logging.raiseExceptions = False

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.filter_by_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.format_exc_info,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
