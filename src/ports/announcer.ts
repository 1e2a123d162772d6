import type { Terraform } from "../api/terraform.ts";

/** Tells whoever listens elsewhere what happened to an object, such as notification-controller. */
export interface Announcer {
  /** Returns at once, whatever becomes of it; nothing waits for it and nothing fails by it. */
  announce(news: News): void;
}

export interface News {
  readonly object: Terraform;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  /** Holds no secret. */
  readonly message: string;
}
