# The controller's image: docker build -f images/controller.Dockerfile -t nigari-controller:0.1.0 .
FROM node:24.22.3-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run -s build

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 65532 --user-group --create-home --home-dir /home/nigari nigari
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /src/package.json /src/LICENSE /opt/nigari/
COPY --from=build /src/dist /opt/nigari/dist
USER 65532:65532
WORKDIR /home/nigari
ENV CHECKPOINT_DISABLE=1
# A small nursery costs little time and saves memory all along.
ENTRYPOINT ["/usr/local/bin/node", "--max-semi-space-size=1", "/opt/nigari/dist/controller.js"]
