# One image for web, worker, beat and migrate; compose.yaml names the command of each container. What runs in
# a browser is built first. Nothing that a package brings is run while it is installed.
FROM node:22.14.0-bookworm-slim@sha256:1c18d9ab3af4585870b92e4dbc5cac5a0dc77dd13df1a5905cea89fc720eb05b AS web

WORKDIR /srv/devices_web

COPY devices_web/package.json devices_web/package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

COPY devices_web .
RUN node build.mjs

FROM python:3.11.13-slim-bookworm@sha256:86adf8dbadc3d6e82ee5dd2c74bec2e1c2467cdad47886280501df722372d2e1

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    # The memory of a large body is returned to the system once it is answered.
    MALLOC_MMAP_THRESHOLD_=131072 \
    PANAPP_DATA_DIR=/var/lib/panapp \
    PANAPP_STATIC_ROOT=/srv/panapp/static

LABEL org.opencontainers.image.title="panapp" \
    org.opencontainers.image.description="Private telemetry: totals of many devices, with their error, but no device's answer." \
    org.opencontainers.image.version="0.2.0" \
    # A bundle with phe (docs/encryption.md).
    org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-or-later"

WORKDIR /srv/panapp

# `--build-arg EXTRAS=otlp` also installs requirements-otlp.txt; several with spaces between.
ARG EXTRAS=""
COPY requirements*.txt ./
# hadolint ignore=SC2046
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt \
        $(for extra in $EXTRAS; do echo "-r requirements-$extra.txt"; done)

COPY . .
COPY --from=web /srv/devices_web/build devices_web/build

# collectstatic wants complete settings. These secrets are made for this one line and kept nowhere.
# hadolint ignore=SC2046
RUN env $(python -m panapp.generate_secrets 2>/dev/null) PANAPP_MODE=production PANAPP_ALLOWED_HOSTS=build.invalid \
        DATABASE_URL=sqlite:///:memory: CELERY_BROKER_URL=redis://build.invalid \
        python manage.py collectstatic --noinput \
    && groupadd --system --gid 999 panapp \
    && useradd --system --uid 999 --gid 999 --home-dir /var/lib/panapp --create-home panapp \
    # A new volume takes over whose directory it was.
    && install --directory --owner panapp --mode 700 /var/lib/panapp/stream-keys /var/lib/panapp/erasable-keys

# As a number: Kubernetes cannot see whether a name is root's.
USER 999
ENV PANAPP_MODE=production
EXPOSE 8000
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--blocking-threads", "32", "panapp.wsgi:application"]
