/**
 * Peer capability name check: the names of this node's capabilities, so that no peer's capability can be mistaken for
 * one of them.
 *
 *   same name, here too      accepted as another provider; its effect is at least ours
 *   below a prefix of ours   refused: an agent would take it for one of this house
 *   below one that we had    withheld until a person accepts it: the family may have moved to that node
 *   spelt like one of ours   refused: clients write `_` for `.`
 */
import type { Effect, Offer } from '../bus/capability.ts'

export interface PeerCapabilityNameCheckDependencies {
  readonly offers: readonly Offer[]
  /** Prefixes of families that this node has. */
  readonly prefixes: Iterable<string>
  /** Prefixes of families that this node had earlier. */
  readonly hadPrefixes: Iterable<string>
}

export class PeerCapabilityNameCheck {
  readonly #effects = new Map<string, Effect>()
  readonly #normalNames = new Set<string>()
  readonly #schemes = new Map<string, Set<string>>()
  readonly #prefixes: readonly string[]
  readonly #hadPrefixes: readonly string[]

  constructor({ offers, prefixes, hadPrefixes }: PeerCapabilityNameCheckDependencies) {
    for (const { name, effect, face } of offers) {
      this.#effects.set(name, effect)
      this.#normalNames.add(normaliseName(name))
      if (face.kind !== 'resource') continue
      const scheme = schemeOf(face.uri)
      this.#schemes.set(scheme, (this.#schemes.get(scheme) ?? new Set()).add(name))
    }
    this.#prefixes = [...prefixes].map(normaliseName)
    this.#hadPrefixes = [...hadPrefixes].map(normaliseName).filter((prefix) => !this.#prefixes.includes(prefix))
  }

  /** `undefined` where this node does not offer it. */
  effectOf(name: string): Effect | undefined {
    return this.#effects.get(name)
  }

  /** A sentence about why a peer may not offer this here, or `undefined`. */
  refusal({ name, uri }: { readonly name: string; readonly uri: string | undefined }): string | undefined {
    if (this.#effects.has(name)) return undefined
    const normalName = normaliseName(name)
    if (this.#normalNames.has(normalName)) return 'its name is spelt like one of this node'
    if (this.#prefixes.some((prefix) => isBelow(normalName, prefix)))
      return 'its name belongs to a family that this node has itself, and that has nothing of that name here'
    if (uri !== undefined && this.#schemes.has(schemeOf(uri)))
      return `addresses with ${schemeOf(uri)}: belong to resources of this node`
    return undefined
  }

  /** Whether this node had the family that the name belongs to. */
  wasHere(name: string): boolean {
    if (this.#effects.has(name)) return false
    const normalName = normaliseName(name)
    return this.#hadPrefixes.some((prefix) => isBelow(normalName, prefix))
  }
}

/** The name as a client writes it that only allows letters, digits and `_`. */
function normaliseName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
}

function isBelow(name: string, prefix: string): boolean {
  const word = prefix.replace(/_$/, '')
  return name === word || name.startsWith(`${word}_`)
}

function schemeOf(uri: string): string {
  return uri.slice(0, Math.max(0, uri.indexOf(':'))).toLowerCase()
}
