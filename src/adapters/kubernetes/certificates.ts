import { webcrypto } from "node:crypto";
import "reflect-metadata";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** A certificate with its private key, both PEM. */
export interface Certificate {
  readonly certificate: string;
  /** PKCS#8. */
  readonly key: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** Whom a leaf is for: it can be used for nothing else. */
export type LeafPurpose = "server" | "client";

const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** Clocks of two machines may differ by so much. */
const SKEW_MS = 300_000;

/** A new authority that signs leaves and nothing else. */
export async function makeAuthority(
  name: string,
  nowMs: number,
  lifeMs: number,
): Promise<Certificate> {
  const keys = await newKeys();
  const validity = { notBeforeMs: wholeSeconds(nowMs - SKEW_MS), notAfterMs: nowMs + lifeMs };
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    ...dates(validity),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  return await certificateOf(certificate, keys, validity);
}

export interface LeafRequest {
  readonly purpose: LeafPurpose;
  /** URI that says who it is for; the other side compares it. */
  readonly identity: string;
  readonly lifeMs: number;
}

/** A leaf of the authority. It never outlives it. */
export async function makeLeaf(
  authority: Certificate,
  { purpose, identity, lifeMs }: LeafRequest,
  nowMs: number,
): Promise<Certificate> {
  const keys = await newKeys();
  const issuer = new X509Certificate(authority.certificate);
  const validity = {
    notBeforeMs: Math.max(wholeSeconds(nowMs - SKEW_MS), authority.notBeforeMs),
    notAfterMs: Math.min(nowMs + lifeMs, authority.notAfterMs),
  };
  const usage = purpose === "server" ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth;
  const certificate = await X509CertificateGenerator.create({
    subject: [{ CN: [`nigari ${purpose}`] }],
    issuer: issuer.subjectName,
    ...dates(validity),
    signingAlgorithm: EC,
    publicKey: keys.publicKey,
    signingKey: await importKey(authority.key),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([usage]),
      new SubjectAlternativeNameExtension([{ type: "url", value: identity }]),
    ],
  });
  return await certificateOf(certificate, keys, validity);
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(EC, true, ["sign", "verify"]);
}

async function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  const bytes = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");
  return await webcrypto.subtle.importKey("pkcs8", bytes, EC, false, ["sign"]);
}

async function certificateOf(
  certificate: X509Certificate,
  { privateKey }: webcrypto.CryptoKeyPair,
  validity: { readonly notBeforeMs: number; readonly notAfterMs: number },
): Promise<Certificate> {
  const bytes = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", privateKey));
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    certificate: certificate.toString("pem"),
    key: ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n"),
    ...validity,
  };
}

/** Certificates count in whole seconds. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function dates({ notBeforeMs, notAfterMs }: { notBeforeMs: number; notAfterMs: number }) {
  return { notBefore: new Date(notBeforeMs), notAfter: new Date(notAfterMs) };
}
