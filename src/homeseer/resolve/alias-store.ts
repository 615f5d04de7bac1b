/**
 * Alias store: names that their users confirmed. Such a name is valid only for the caller that confirmed it: one
 * agent's answer to its own question means nothing to another. Only the owner of the house confirms a name for all
 * callers. A name that already belongs to something else is not learned: an alias must not take over a device.
 */
import type { Database } from '../../core/database-store.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readEntryBodyFields } from '../../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { HomeseerProjectionState } from '../homeseer-state.ts'
import type { Alias, AliasTargetKind } from './alias.ts'
import { toConfusableSkeleton, toStrictNameKey } from './name-normalisation.ts'

export interface AliasConfirmation {
  readonly kind: AliasTargetKind
  readonly id: number
  readonly text: string
  /** The caller's key. */
  readonly confirmedBy: string
  /** True if the owner of the house confirmed it for all callers. */
  readonly shared?: boolean
}

/** `taken`: other things have that name, or one that looks like it. */
export type AliasLearnFault =
  | { readonly kind: 'taken'; readonly byIds: readonly number[] }
  | { readonly kind: 'not-a-name' }
  | { readonly kind: 'full' }

/** More than a household needs, and few enough not to slow down a search. */
const MAX_LEARNED = 2_000
const MAX_LENGTH = 100

interface KeyedAlias extends Alias {
  /** The normalised name. */
  readonly key: string
  readonly by: string
  readonly seq: number
}

interface KnownAliases {
  readonly version: number
  readonly keyed: readonly KeyedAlias[]
  readonly all: readonly Alias[]
}

export class AliasStore {
  readonly #database: Database
  readonly #log: ProjectionLogWriter
  readonly #state: HomeseerProjectionState
  #known: KnownAliases

  constructor(database: Database, log: ProjectionLogWriter) {
    this.#database = database
    this.#log = log
    this.#state = log.projections.state(homeseerProjection)
    this.#known = this.#read()
  }

  /** Returns the same list as long as nothing was learned or forgotten. */
  get all(): readonly Alias[] {
    return this.#current().all
  }

  /** `others` are the aliases in use, including names; a newer confirmation of the same words replaces the older. */
  async learn(confirmation: AliasConfirmation, others: readonly Alias[]): Promise<Result<void, AliasLearnFault>> {
    const { kind, id, text, confirmedBy, shared = false } = confirmation
    const key = toStrictNameKey(text)
    if (key === '' || text.length > MAX_LENGTH) return fail({ kind: 'not-a-name' })
    const looks = toConfusableSkeleton(text)
    const taken = others.filter(
      (other) =>
        other.kind === kind &&
        other.id !== id &&
        other.origin !== 'confirmed' &&
        toConfusableSkeleton(other.text) === looks,
    )
    if (taken.length > 0) return fail({ kind: 'taken', byIds: [...new Set(taken.map((other) => other.id))] })
    if (this.#state.aliases.size >= MAX_LEARNED) return fail({ kind: 'full' })
    await this.#database.commit(() => {
      const replaces = this.#find(kind, key).find(({ by }) => by === confirmedBy)?.seq
      const event = { kind: 'alias.learned', of: kind, id, by: confirmedBy, shared, replaces }
      this.#log.appendIn(event, { text: text.toWellFormed() })
    })
    return ok(undefined)
  }

  /** Forgets a name for every caller that confirmed it. Returns whether there was one. */
  forget(kind: AliasTargetKind, text: string): Promise<boolean> {
    return this.#database.commit(() => {
      const known = this.#find(kind, toStrictNameKey(text))
      for (const { seq } of known) this.#log.appendIn({ kind: 'alias.forgotten', of: kind, learned: seq })
      return known.length > 0
    })
  }

  /** At most one alias per confirming caller. */
  #find(kind: AliasTargetKind, key: string): readonly KeyedAlias[] {
    return this.#current().keyed.filter((alias) => alias.kind === kind && alias.key === key)
  }

  #current(): KnownAliases {
    if (this.#known.version !== this.#state.aliases.version) this.#known = this.#read()
    return this.#known
  }

  #read(): KnownAliases {
    const { aliases } = this.#state
    const keyed = [...aliases.values()]
      .flatMap(({ kind, id, by, shared, seq }): KeyedAlias[] => {
        const text = readEntryBodyFields(this.#log, seq)?.['text']
        if (typeof text !== 'string') return []
        const owner = shared ? {} : { owner: by }
        return [{ kind, id, text, origin: 'confirmed', ...owner, key: toStrictNameKey(text), by, seq }]
      })
      .toSorted((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1))
    const all = keyed.map(({ key: _key, by: _by, seq: _seq, ...alias }) => alias)
    return { version: aliases.version, keyed, all }
  }
}

function orderOf({ kind, key, by }: KeyedAlias): string {
  return `${kind} ${key} ${by}`
}
