/**
 * Alias store: names that were confirmed by whoever used them. Such a name is its confirmer's own: what one agent answers
 * to its own question means nothing to another. Only the owner of the house teaches a name to all. None is learned that
 * is already the name of something else: a learned alias must not take over a device.
 */
import type { Database } from '../../core/database-store.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readEntryBodyFields } from '../../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../../ledger/projection-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { HomeseerState } from '../homeseer-state.ts'
import type { Alias, AliasKind } from './alias.ts'
import { toConfusableSkeleton, toStrictNameKey } from './name-normalisation.ts'

export interface AliasConfirmation {
  readonly kind: AliasKind
  readonly id: number
  readonly text: string
  /** The caller's key. */
  readonly confirmedBy: string
  /** Everybody's from now on: the owner of the house said so. */
  readonly shared?: boolean
}

/** `taken`: other things are called that, or look as if they were. */
export type AliasLearnFault =
  | { readonly kind: 'taken'; readonly byIds: readonly number[] }
  | { readonly kind: 'not-a-name' }
  | { readonly kind: 'full' }

/** More than a household says, fewer than would slow it down. */
const MAX_LEARNED = 2_000
const MAX_LENGTH = 100

interface KeyedAlias extends Alias {
  /** The words as they are compared. */
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
  readonly #state: HomeseerState
  #known: KnownAliases

  constructor(database: Database, log: ProjectionLogWriter) {
    this.#database = database
    this.#log = log
    this.#state = log.projections.state(homeseerProjection)
    this.#known = this.#read()
  }

  /** The very same list again as long as nothing was learned or forgotten. */
  get all(): readonly Alias[] {
    return this.#current().all
  }

  /** `others` are the aliases in force, names included; a newer confirmation of the same words replaces the older. */
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

  /** Of everybody who confirmed it. True when there was such a name. */
  forget(kind: AliasKind, text: string): Promise<boolean> {
    return this.#database.commit(() => {
      const known = this.#find(kind, toStrictNameKey(text))
      for (const { seq } of known) this.#log.appendIn({ kind: 'alias.forgotten', of: kind, learned: seq })
      return known.length > 0
    })
  }

  /** At most one for each who confirmed it. */
  #find(kind: AliasKind, key: string): readonly KeyedAlias[] {
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
