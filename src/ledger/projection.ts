/**
 * Projection: state that decides, computed from the entries of the log and from nothing else.
 *
 *   entry ──▶ the function of its kind (state, entry) ──▶ state ─▶ decisions
 *                        └─▶ a sentence, if the entry is not a valid successor of the ones before it
 *
 * The same functions run when an entry is appended, when a node starts and when the log is verified. At an append an
 * unlawful entry is refused: its transaction is undone. In a log that is read, an unlawful entry has no effect, and
 * every verification reports it.
 *
 * A state contains no texts of people: those are in bodies, where they can be erased, and are read when they are shown.
 *
 * Holds memory; otherwise pure.
 */
import type { TransactionListener } from '../core/database-store.ts'
import type { JsonObject } from '../core/json.ts'
import type { LedgerEntry } from './entry.ts'
import type { LedgerFinding } from './ledger-finding.ts'

/**
 * Changes the given state. Returns what is unlawful about the entry, in a few words that follow "Entry 7 (kind)"; then
 * it has changed nothing, unless the entry takes rights away.
 */
export type EntryHandler<State> = (state: State, entry: LedgerEntry) => string | undefined

/**
 * Compares an entry with the body that it commits to. Returns what contradicts, in a few words that follow "Entry 7
 * (kind) contradicts its body".
 */
export type EntryBodyContradictionCheck = (entry: LedgerEntry, body: JsonObject) => string | undefined

export interface Projection<State> {
  readonly name: string
  readonly initial: (journal: StateUndoJournal) => State
  /** The functions that apply entries, one per kind. */
  readonly apply: Readonly<Record<string, EntryHandler<State>>>
  /**
   * Functions for kinds that change no state and are only checked when a log is verified: a start must not read a
   * million calls, and callers were authenticated with this state before.
   */
  readonly check?: Readonly<Record<string, EntryHandler<State>>>
  /** By kind: compares hashes in an entry with its body. Used only when a log or an audit packet is verified. */
  readonly bodyChecks?: Readonly<Record<string, EntryBodyContradictionCheck>>
  /**
   * Why the body of an entry cannot be erased now, as a sentence: a person still has to read it, or the node still has
   * to use it.
   */
  readonly holds?: (state: State, entry: LedgerEntry, nowMs: number) => string | undefined
}

/** A projection whose state has an unknown type; its functions get only the state that its own `initial` made. */
export interface UntypedProjection {
  readonly name: string
  readonly initial: (journal: StateUndoJournal) => unknown
  readonly apply: Readonly<Record<string, EntryHandler<never>>>
  readonly check?: Readonly<Record<string, EntryHandler<never>>>
  readonly bodyChecks?: Readonly<Record<string, EntryBodyContradictionCheck>>
  readonly holds?: (state: never, entry: LedgerEntry, nowMs: number) => string | undefined
}

export interface UnlawfulEntry {
  readonly seq: number
  readonly kind: string
  readonly why: string
}

/** Thrown by an append of an unlawful entry, so that its transaction is undone. */
export class UnlawfulEntryError extends Error {
  constructor({ kind, why }: Omit<UnlawfulEntry, 'seq'>) {
    super(`an entry ${kind} cannot follow what is recorded: ${why}`)
    this.name = 'EntryUnlawful'
  }
}

/** Reads every entry of these kinds from the log, in order. */
export type EntriesByKindReader = (kinds: ReadonlySet<string>) => Iterable<LedgerEntry>

interface OpenProjection {
  readonly projection: UntypedProjection
  readonly state: never
}

/** Unlawful entries beyond this number are only counted, since one causes others. */
const MAX_UNLAWFUL = 100

export class ProjectionSet {
  readonly #journal = new StateUndoJournal()
  readonly #read: EntriesByKindReader
  readonly #open = new Map<UntypedProjection, OpenProjection>()
  readonly #byKind = new Map<string, OpenProjection[]>()
  readonly #unlawful: UnlawfulEntry[] = []
  #newestAppended = -1

  constructor(read: EntriesByKindReader) {
    this.#read = read
  }

  /** The listener for the database to which entries are committed. */
  get follower(): TransactionListener {
    return this.#journal.follower
  }

  /** The unlawful entries that were found when the log was read; at most the first hundred. */
  get unlawful(): readonly UnlawfulEntry[] {
    return this.#unlawful
  }

  /**
   * Reads the log once and computes the states of all these projections. Projections that are open already are left as
   * they are.
   */
  openAll(projections: readonly UntypedProjection[]): void {
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

  /** The state of a projection, computed from the log if it is not open yet. */
  state<State>(projection: Projection<State>): State {
    this.openAll([projection])
    return this.#open.get(projection)?.state as State
  }

  /** The newest entry that a projection handled in this process, even if its transaction was undone afterwards. */
  get newestAppended(): number {
    return this.#newestAppended
  }

  /** Whether a projection handles this kind. Most entries are calls, which no projection handles. */
  handles(kind: string): boolean {
    return this.#byKind.has(kind)
  }

  /** Applies an entry that is about to be appended. Throws if it is not a valid successor. */
  append(entry: LedgerEntry): void {
    for (const { projection, state } of this.#byKind.get(entry.kind) ?? []) {
      const why = projection.apply[entry.kind]?.(state, entry)
      if (why !== undefined) throw new UnlawfulEntryError({ kind: entry.kind, why })
    }
    this.#newestAppended = entry.seq
  }

  /** Why the body of an entry cannot be erased now. */
  holds(entry: LedgerEntry, nowMs: number): string | undefined {
    for (const { projection, state } of this.#open.values()) {
      const why = projection.holds?.(state, entry, nowMs)
      if (why !== undefined) return why
    }
    return undefined
  }
}

/** Compares content that is stored beside the log with the hashes that projections computed from the log. */
export type StoredContentCheck = (state: <State>(projection: Projection<State>) => State) => readonly LedgerFinding[]

/** Reads the whole log from the first entry on, and checks whether each is a valid successor of the ones before it. */
export class ProjectionRuleVerification {
  readonly #byKind = new Map<string, OpenProjection[]>()
  readonly #states = new Map<UntypedProjection, unknown>()
  readonly unlawful: UnlawfulEntry[] = []

  constructor(projections: readonly UntypedProjection[]) {
    const journal = new StateUndoJournal(false)
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
// transaction that is undone in the database is undone here.
//
//   work begins ─▶ set · set · delete ─▶ work undone: back to where it began
//                                    └─▶ group ends: kept, or all of it undone

/** What readers get of a table, so that code which only decides cannot change it. */
export interface StateMapReader<Value> {
  readonly size: number
  /** Changes after every change, for callers that cache something computed from the whole table. */
  readonly version: number
  readonly get: (id: string) => Value | undefined
  readonly has: (id: string) => boolean
  /** In the order in which the ids were added. */
  readonly values: () => IterableIterator<Value>
  readonly entries: () => IterableIterator<[string, Value]>
}

export class UndoableStateMap<Value> implements StateMapReader<Value> {
  readonly #values = new Map<string, Value>()
  readonly #journal: StateUndoJournal
  version = 0

  constructor(journal: StateUndoJournal) {
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
   * Makes room by dropping the oldest values that may be dropped, until at most `limit` are left. In a table that is
   * only a little too long it looks at the first few.
   */
  dropOldest(limit: number, mayGo: (value: Value) => boolean): void {
    if (this.#values.size <= limit) return
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      if (this.#values.size <= limit) return
    }
  }

  /** Drops values from the old end as long as they may be dropped: they lapse roughly in the order of their arrival. */
  dropLapsed(mayGo: (value: Value) => boolean): void {
    let remaining = 0
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      else if (++remaining >= LOOKED_AT) return
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

/** How many values at the old end are skipped because they may not be dropped yet. */
const LOOKED_AT = 16

/** Records how to undo what was done since the last group became durable. */
export class StateUndoJournal {
  #undo: (() => void)[] = []
  #workBegan = 0
  #isOn: boolean

  /** A reader of a log switches it off, because it undoes nothing. */
  constructor(isOn = true) {
    this.#isOn = isOn
  }

  note(undo: () => void): void {
    if (this.#isOn) this.#undo.push(undo)
  }

  /** Runs work without recording how to undo it, for entries that are durable already. */
  withoutUndo(work: () => void): void {
    const wasOn = this.#isOn
    this.#isOn = false
    try {
      work()
    } finally {
      this.#isOn = wasOn
    }
  }

  readonly follower: TransactionListener = {
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
