/**
 * Projection: state that decides, computed from the entries of the log and from nothing else.
 *
 *   entry ──▶ the function of its kind (state, entry) ──▶ state ─▶ decisions
 *                        └─▶ a sentence, if the entry could not lawfully follow the ones before it
 *
 * The same functions run when an entry is appended, when a node starts and when the log is verified. At an append an
 * unlawful entry is refused: the transaction that wanted it is undone. In a log that is read it stays a finding for
 * ever, and has no effect.
 *
 * No words are in a state: those are bodies, where they can be erased, and are read when they are shown.
 *
 * Holds memory; otherwise pure.
 */
import type { TransactionFollower } from '../core/database-store.ts'
import type { LedgerEntry } from './entry.ts'
import type { CacheFinding } from './finding.ts'

/**
 * Changes the state that it is given. Answers with what is unlawful about the entry, in a few words that follow "Entry
 * 7 (kind)"; then it has changed nothing, unless the entry takes power away.
 */
export type ApplyEntry<State> = (state: State, entry: LedgerEntry) => string | undefined

export interface Projection<State> {
  readonly name: string
  readonly initial: (journal: StateJournal) => State
  /** One function per kind of entry. */
  readonly apply: Readonly<Record<string, ApplyEntry<State>>>
  /**
   * Kinds that change no state and are only checked when a log is verified: a start must not read a million calls, and
   * whoever makes a call was told who they are by this state.
   */
  readonly check?: Readonly<Record<string, ApplyEntry<State>>>
  /** Why the words of an entry have to stay for now, in a sentence: somebody still has to read or use them. */
  readonly holds?: (state: State, entry: LedgerEntry, nowMs: number) => string | undefined
}

/** Of whatever state: what is handed to its functions is what its own `initial` made. */
export interface AnyProjection {
  readonly name: string
  readonly initial: (journal: StateJournal) => unknown
  readonly apply: Readonly<Record<string, ApplyEntry<never>>>
  readonly check?: Readonly<Record<string, ApplyEntry<never>>>
  readonly holds?: (state: never, entry: LedgerEntry, nowMs: number) => string | undefined
}

export interface UnlawfulEntry {
  readonly seq: number
  readonly kind: string
  readonly why: string
}

/** What an append meets: thrown, so that the transaction it belongs to is undone. */
export class UnlawfulEntryError extends Error {
  constructor({ kind, why }: Omit<UnlawfulEntry, 'seq'>) {
    super(`an entry ${kind} cannot follow what is recorded: ${why}`)
    this.name = 'EntryUnlawful'
  }
}

/** The log as states are made from it: every entry of these kinds, in order. */
export type EntriesByKindReader = (kinds: ReadonlySet<string>) => Iterable<LedgerEntry>

interface OpenProjection {
  readonly projection: AnyProjection
  readonly state: never
}

/** More are counted: one unlawful entry breeds others. */
const MAX_UNLAWFUL = 100

export class ProjectionSet {
  readonly #journal = new StateJournal()
  readonly #read: EntriesByKindReader
  readonly #open = new Map<AnyProjection, OpenProjection>()
  readonly #byKind = new Map<string, OpenProjection[]>()
  readonly #unlawful: UnlawfulEntry[] = []

  constructor(read: EntriesByKindReader) {
    this.#read = read
  }

  /** For the database that entries are committed to. */
  get follower(): TransactionFollower {
    return this.#journal.follower
  }

  /** Found when the log was read; at most the first hundred. */
  get unlawful(): readonly UnlawfulEntry[] {
    return this.#unlawful
  }

  /** Reads the log once for all of them. Those that are open stay as they are. */
  openAll(projections: readonly AnyProjection[]): void {
    const fresh = projections.filter((projection) => !this.#open.has(projection))
    if (fresh.length === 0) return
    const opened = fresh.map((projection) => ({ projection, state: projection.initial(this.#journal) as never }))
    const readers = byKind(opened)
    this.#journal.withoutUndo(() => {
      for (const entry of this.#read(new Set(readers.keys())))
        for (const { projection, state } of readers.get(entry.kind) ?? [])
          noteUnlawful(this.#unlawful, entry, projection.apply[entry.kind]?.(state, entry))
    })
    for (const open of opened) this.#open.set(open.projection, open)
    this.#byKind.clear()
    for (const [kind, open] of byKind([...this.#open.values()])) this.#byKind.set(kind, open)
  }

  /** The state of a projection, which is read from the log when it is not open yet. */
  state<State>(projection: Projection<State>): State {
    this.openAll([projection])
    return this.#open.get(projection)?.state as State
  }

  /** Whether any function is there for this kind: most entries are calls, which concern nobody here. */
  handles(kind: string): boolean {
    return this.#byKind.has(kind)
  }

  /** For an entry that is about to be appended. Throws if it could not lawfully follow. */
  append(entry: LedgerEntry): void {
    for (const { projection, state } of this.#byKind.get(entry.kind) ?? []) {
      const why = projection.apply[entry.kind]?.(state, entry)
      if (why !== undefined) throw new UnlawfulEntryError({ kind: entry.kind, why })
    }
  }

  /** Why the words of an entry have to stay for now. */
  holds(entry: LedgerEntry, nowMs: number): string | undefined {
    for (const { projection, state } of this.#open.values()) {
      const why = projection.holds?.(state, entry, nowMs)
      if (why !== undefined) return why
    }
    return undefined
  }
}

/** Holds what is stored beside the log, under hashes that the log has, against the states that have them. */
export type ContentAudit = (state: <State>(projection: Projection<State>) => State) => readonly CacheFinding[]

/** The whole log once more, from the first entry on: whether each could lawfully follow the ones before it. */
export class SuccessionAudit {
  readonly #byKind = new Map<string, OpenProjection[]>()
  readonly #states = new Map<AnyProjection, unknown>()
  readonly unlawful: UnlawfulEntry[] = []

  constructor(projections: readonly AnyProjection[]) {
    const journal = new StateJournal(false)
    for (const projection of projections) {
      const open = { projection, state: projection.initial(journal) as never }
      this.#states.set(projection, open.state)
      for (const kind of Object.keys({ ...projection.apply, ...projection.check })) listUnder(this.#byKind, kind, open)
    }
  }

  read(entry: LedgerEntry): void {
    for (const { projection, state } of this.#byKind.get(entry.kind) ?? [])
      noteUnlawful(
        this.unlawful,
        entry,
        (projection.apply[entry.kind] ?? projection.check?.[entry.kind])?.(state, entry),
      )
  }

  state<State>(projection: Projection<State>): State {
    return this.#states.get(projection) as State
  }
}

function noteUnlawful(list: UnlawfulEntry[], { seq, kind }: LedgerEntry, why: string | undefined): void {
  if (why !== undefined && list.length < MAX_UNLAWFUL) list.push({ seq, kind, why })
}

function byKind(open: readonly OpenProjection[]): Map<string, OpenProjection[]> {
  const kinds = new Map<string, OpenProjection[]>()
  for (const each of open) for (const kind of Object.keys(each.projection.apply)) listUnder(kinds, kind, each)
  return kinds
}

function listUnder(kinds: Map<string, OpenProjection[]>, kind: string, open: OpenProjection): void {
  kinds.set(kind, [...(kinds.get(kind) ?? []), open])
}

// State table: values by id, as entries made them. Every change is in a journal until its group is durable, so that a
// transaction that is undone on the disk is undone here.
//
//   work begins ─▶ set · set · delete ─▶ work undone: back to where it began
//                                    └─▶ group ends: kept, or all of it undone

/** What readers get of a table: whoever only decides cannot change it. */
export interface StateReader<Value> {
  readonly size: number
  /** Another number after every change, for whoever keeps something that was made from all of it. */
  readonly version: number
  readonly get: (id: string) => Value | undefined
  readonly has: (id: string) => boolean
  /** In the order in which the ids came. */
  readonly values: () => IterableIterator<Value>
  readonly entries: () => IterableIterator<[string, Value]>
}

export class StateTable<Value> implements StateReader<Value> {
  readonly #values = new Map<string, Value>()
  readonly #journal: StateJournal
  version = 0

  constructor(journal: StateJournal) {
    this.#journal = journal
  }

  get size(): number {
    return this.#values.size
  }

  get(id: string): Value | undefined {
    return this.#values.get(id)
  }

  has(id: string): boolean {
    return this.#values.has(id)
  }

  values(): IterableIterator<Value> {
    return this.#values.values()
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#values.entries()
  }

  set(id: string, value: Value): void {
    this.#note(id)
    this.#values.set(id, value)
  }

  delete(id: string): void {
    if (!this.#values.has(id)) return
    this.#note(id)
    this.#values.delete(id)
  }

  /**
   * Makes room by dropping the oldest values that may go, until at most `limit` are left. Of a table that is only a
   * little too long it looks at the first few.
   */
  dropOldest(limit: number, mayGo: (value: Value) => boolean): void {
    if (this.#values.size <= limit) return
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      if (this.#values.size <= limit) return
    }
  }

  /** Drops values from the old end for as long as they may go: what lapses does so roughly in the order it came. */
  dropLapsed(mayGo: (value: Value) => boolean): void {
    let kept = 0
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      else if (++kept >= LOOKED_AT) return
    }
  }

  #note(id: string): void {
    this.version += 1
    const before = this.#values.get(id)
    const had = this.#values.has(id)
    this.#journal.note(() => {
      this.version += 1
      if (had) this.#values.set(id, before as Value)
      else this.#values.delete(id)
    })
  }
}

/** Values at the old end of a table that may not go yet and are passed over. */
const LOOKED_AT = 16

/** How to take back what was done since the last group became durable. */
export class StateJournal {
  #undo: (() => void)[] = []
  #workBegan = 0
  #isOn: boolean

  /** One that is off is for whoever reads a log and takes nothing back. */
  constructor(isOn = true) {
    this.#isOn = isOn
  }

  note(undo: () => void): void {
    if (this.#isOn) this.#undo.push(undo)
  }

  /** Without keeping how to take it back: for entries that are durable already. */
  withoutUndo(work: () => void): void {
    const wasOn = this.#isOn
    this.#isOn = false
    try {
      work()
    } finally {
      this.#isOn = wasOn
    }
  }

  readonly follower: TransactionFollower = {
    workBegins: () => {
      this.#workBegan = this.#undo.length
    },
    workUndone: () => this.#takeBackTo(this.#workBegan),
    groupEnds: (committed) => {
      if (!committed) this.#takeBackTo(0)
      this.#undo = []
      this.#workBegan = 0
    },
  }

  #takeBackTo(length: number): void {
    while (this.#undo.length > length) this.#undo.pop()?.()
  }
}
