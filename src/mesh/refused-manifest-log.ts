/**
 * Refused manifest log: which refusals of manifests were logged, so that each is logged once for each reason: a registry
 * delivers the manifests of a revoked node, or of one with a wrong clock, every ten seconds.
 */
import type { Json } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { PeerManifestUpdateResult } from './peer-directory.ts'

/** Beyond this number refusals are logged again, because anybody can send manifests in any node's name. */
const MAX_TOLD_REFUSALS = 256

export class RefusedManifestLog {
  readonly #logger: Logger
  /** Node and reason of the refused manifests that were logged. */
  readonly #told = new Set<string>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  log(
    node: Json | undefined,
    why: Extract<PeerManifestUpdateResult, { kind: 'refused' }>['why'],
    source: string,
  ): void {
    const key = `${JSON.stringify(node)} ${why.kind}`
    if (this.#told.has(key)) return
    if (this.#told.size >= MAX_TOLD_REFUSALS) this.#told.clear()
    this.#told.add(key)
    this.#logger.warn({ node, why, source }, 'a manifest was refused')
  }

  /** The node's next refusal is logged again. */
  forget(nodeId: string): void {
    for (const key of this.#told) if (key.startsWith(`"${nodeId}" `)) this.#told.delete(key)
  }
}
