/**
 * Refused manifest log: which refusals of manifests were logged, so that each is logged once for each reason: a registry
 * delivers the manifests of a revoked node, or of one with a wrong clock, every ten seconds.
 */
import type { Json } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { PeerManifestUpdateResult } from './peer-directory.ts'

/** Beyond this number refusals are logged again, because anybody can send manifests in any node's name. */
const MAX_LOGGED_REFUSALS = 256

export class RefusedManifestLog {
  readonly #logger: Logger
  /** Node and reason of the refused manifests that were logged. */
  readonly #logged = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  log(
    node: Json | undefined,
    why: Extract<PeerManifestUpdateResult, { kind: 'refused' }>['why'],
    source: string,
  ): void {
    const key = `${JSON.stringify(node)} ${why.kind}`
    if (this.#logged.has(key)) return
    if (this.#logged.size >= MAX_LOGGED_REFUSALS) this.#logged.clear()
    this.#logged.add(key)
    this.#logger.warn({ node, why, source }, 'a manifest was refused')
  }

  /** The node's next refusal is logged again. */
  forget(nodeId: string): void {
    for (const key of this.#logged) if (key.startsWith(`"${nodeId}" `)) this.#logged.delete(key)
  }
}
