# Steelyard in a container: evaluations and the viewer, without keys in any layer.
#
#   docker build -t steelyard .
#   docker run --rm -v "$PWD:/work" -e OPENAI_API_KEY steelyard run exam.yaml
#   docker run --rm -v "$PWD:/work" -p 127.0.0.1:7533:7533 steelyard view --host 0.0.0.0 --no-browser
#
# The store is written to /work: mount a local disk there (locks do not hold on network file systems), and add
# --user "$(id -u):$(id -g)" where the folder belongs to you.

FROM python:3.13-slim-trixie AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/steelyard \
    && /opt/steelyard/bin/pip install --no-cache-dir --disable-pip-version-check '.[duckdb,postgres,xlsx]'

FROM python:3.13-slim-trixie
COPY --from=build /opt/steelyard /opt/steelyard
RUN useradd --create-home --uid 10001 steelyard \
    && mkdir /work \
    && chown steelyard:steelyard /work
ENV PATH="/opt/steelyard/bin:$PATH" \
    PYTHONUNBUFFERED=1
USER steelyard
WORKDIR /work
VOLUME /work
# Ctrl-C and `docker stop` finish what is in flight; the run can then be resumed.
STOPSIGNAL SIGINT
HEALTHCHECK --interval=60s --timeout=20s --retries=3 CMD ["steelyard", "--version"]
ENTRYPOINT ["steelyard"]
CMD ["--help"]
