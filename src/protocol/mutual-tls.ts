import {
  type ChannelCredentials,
  type ClientOptions,
  credentials,
  ResponderBuilder,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";

/**
 * Controller and runner prove to each other who they are: each has a certificate of the cluster's
 * own authority with one URI in it, and each compares the other's URI as a whole. The address says
 * nothing: the next pod may have it a moment later.
 */
export const CONTROLLER_IDENTITY = "nigari://controller";

/** One pod, by its uid, and the only run that it serves. */
export function runnerIdentity(runId: string, podUid: string): string {
  return `nigari://run/${runId}/pod/${podUid}`;
}

/** Own certificate and key, and the authorities that are believed; all PEM. */
export interface TlsIdentity {
  readonly certificate: string;
  readonly key: string;
  readonly trusted: string;
}

/** What a client that speaks with `expected`, and nobody else, hands to its channel. */
export function towards(
  expected: string,
  own: TlsIdentity,
): { readonly credentials: ChannelCredentials; readonly options: ClientOptions } {
  const { trusted, key, certificate } = own;
  const pems = [trusted, key, certificate].map((pem) => Buffer.from(pem));
  const [authorities = null, privateKey = null, chain = null] = pems;
  const checkServerIdentity = (_host: string, peer: { subjectaltname?: string }) =>
    peer.subjectaltname === `URI:${expected}`
      ? undefined
      : new Error(`It is ${peer.subjectaltname ?? "nobody"}, not ${expected}`);
  return {
    credentials: credentials.createSsl(authorities, privateKey, chain, { checkServerIdentity }),
    // An IP address cannot be asked for by name.
    options: { "grpc.ssl_target_name_override": "runner.nigari" },
  };
}

/** What a server shows and believes; `renew` holds for every connection made from then on. */
export class ServerTls extends ServerCredentials {
  constructor(own: TlsIdentity) {
    super({ requestCert: true, rejectUnauthorized: true }, contextOf(own));
  }

  renew(own: TlsIdentity): void {
    this.updateSecureContextOptions(contextOf(own));
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}

function contextOf({ certificate, key, trusted }: TlsIdentity) {
  return { ca: trusted, cert: certificate, key, minVersion: "TLSv1.3" } as const;
}

/** Refuses every caller whose certificate is not that of `expected`. */
export function admitting(expected: string): ServerInterceptor {
  return (_method, call) => {
    const peer = call.getAuthContext().sslPeerCertificate;
    const known = peer !== undefined && peer.subjectaltname === `URI:${expected}`;
    if (known) return new ServerInterceptingCall(call);
    const listener = new ServerListenerBuilder().withOnReceiveMetadata(() => {
      const details = "The caller is not the controller of this run";
      call.sendStatus({ code: status.PERMISSION_DENIED, details, metadata: null });
    });
    const responder = new ResponderBuilder().withStart((next) => next(listener.build()));
    return new ServerInterceptingCall(call, responder.build());
  };
}
