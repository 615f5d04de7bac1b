/**
 * Alias store: names that people confirmed. A name is learned only from a person, and never one that is already the
 * name of something else: a learned alias must not take over a device.
 *
 * Does I/O.
 */
import type { Database } from '../../core/database-store.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { wordsOf } from '../../ledger/state-log.ts'
import type { StateLog } from '../../ledger/state-log.ts'
import { homeseerProjection } from '../homeseer-state.ts'
import type { HomeseerState } from '../homeseer-state.ts'
import type { Alias, AliasKind } from './alias.ts'
import { skeleton, strictKey } from './normalise.ts'

export interface Confirmation {
  readonly kind: AliasKind
  readonly id: number
  readonly text: string
  /** The person's principal. */
  readonly confirmedBy: string
}

/** `taken`: other things are called that, or look as if they were. */
export type LearnFault =
  | { readonly kind: 'taken'; readonly byIds: readonly number[] }
  | { readonly kind: 'not-a-name' }
  | { readonly kind: 'full' }

/** More than a household says, fewer than would slow it down. */
const MAX_LEARNED = 2_000
const MAX_LENGTH = 100

interface KeyedAlias extends Alias {
  /** The words as they are compared. */
  readonly key: string
  readonly seq: number
}

interface KnownAliases {
  readonly version: number
  readonly keyed: readonly KeyedAlias[]
  readonly all: readonly Alias[]
}

export class AliasStore {
  readonly #database: Database
  readonly #log: StateLog
  readonly #state: HomeseerState
  #known: KnownAliases

  constructor(database: Database, log: StateLog) {
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
  async learn(confirmation: Confirmation, others: readonly Alias[]): Promise<Result<void, LearnFault>> {
    const { kind, id, text, confirmedBy } = confirmation
    const key = strictKey(text)
    if (key === '' || text.length > MAX_LENGTH) return fail({ kind: 'not-a-name' })
    const looks = skeleton(text)
    const taken = others.filter(
      (other) =>
        other.kind === kind && other.id !== id && other.origin !== 'confirmed' && skeleton(other.text) === looks,
    )
    if (taken.length > 0) return fail({ kind: 'taken', byIds: [...new Set(taken.map((other) => other.id))] })
    if (this.#state.aliases.size >= MAX_LEARNED) return fail({ kind: 'full' })
    await this.#database.commit(() => {
      const replaces = this.#find(kind, key)?.seq
      const event = { kind: 'alias.learned', of: kind, id, by: confirmedBy, replaces }
      this.#log.appendIn(event, { text: text.toWellFormed() })
    })
    return ok(undefined)
  }

  /** True when there was such a name. */
  forget(kind: AliasKind, text: string): Promise<boolean> {
    return this.#database.commit(() => {
      const known = this.#find(kind, strictKey(text))
      if (known !== undefined) this.#log.appendIn({ kind: 'alias.forgotten', of: kind, learned: known.seq })
      return known !== undefined
    })
  }

  #find(kind: AliasKind, key: string): KeyedAlias | undefined {
    return this.#current().keyed.find((alias) => alias.kind === kind && alias.key === key)
  }

  #current(): KnownAliases {
    if (this.#known.version !== this.#state.aliases.version) this.#known = this.#read()
    return this.#known
  }

  #read(): KnownAliases {
    const { aliases } = this.#state
    const keyed = [...aliases.values()]
      .flatMap(({ kind, id, seq }): KeyedAlias[] => {
        const text = wordsOf(this.#log, seq)?.['text']
        return typeof text === 'string' ? [{ kind, id, text, origin: 'confirmed', key: strictKey(text), seq }] : []
      })
      .toSorted((left, right) => (`${left.kind} ${left.key}` < `${right.kind} ${right.key}` ? -1 : 1))
    const all = keyed.map(({ kind, id, text, origin }) => ({ kind, id, text, origin }))
    return { version: aliases.version, keyed, all }
  }
}
