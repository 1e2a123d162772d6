# The runners' image: docker build -f images/runner.Dockerfile -t nigari-runner:0.1.0 .
# Modules may come over git and ssh. An image of your own needs none of this: name it in
# spec.runnerPodTemplate.spec.image, and the runner is brought into it.
FROM node:24.22.3-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run -s build

FROM golang:1.26-bookworm AS tofu
WORKDIR /src
COPY tools/go.mod tools/go.sum ./
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X github.com/opentofu/opentofu/version.dev=no" \
  -o /tofu github.com/opentofu/opentofu/cmd/tofu

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git gnupg openssh-client \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 65532 --user-group --create-home --home-dir /home/runner runner
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=tofu /tofu /usr/local/bin/tofu
COPY --from=build /src/package.json /src/LICENSE /opt/nigari/
COPY --from=build /src/dist/runner-pod.js /opt/nigari/dist/runner-pod.js
USER 65532:65532
WORKDIR /home/runner
ENV CHECKPOINT_DISABLE=1 GNUPGHOME=/tmp/gnupg
ENTRYPOINT ["/usr/local/bin/node", "/opt/nigari/dist/runner-pod.js"]
