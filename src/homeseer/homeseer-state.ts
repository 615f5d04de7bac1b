/**
 * HomeSeer state: confirmed names, the owner's device classes, and rollbacks of administration calls, computed from the
 * log.
 *
 *   alias.learned ─▶ alias.forgotten, or replaced by the next one
 *   class.corrected ─▶ class.withdrawn, or replaced by the next one
 *   rollback.kept ─▶ rollback.used ─▶ rollback.given-back
 *
 * A name is the body of the entry that learned it; an erased name is no longer used.
 *
 * Pure, but for the state that it is given.
 */
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryNumberField, readEntryTextField } from '../ledger/entry.ts'
import type { EntryHandler, Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import { HOMESEER_DEVICE_KINDS } from '../config/homeseer.ts'
import type { DeviceKind } from './catalog/device-classification.ts'
import type { AdminDomain } from './tools/change-policy.ts'
import type { AliasTargetKind } from './resolve/alias.ts'

export interface LearnedAlias {
  readonly kind: AliasTargetKind
  readonly id: number
  /** The key of the caller who confirmed it. Unless it is shared, only that caller uses the name. */
  readonly by: string
  /** True if every caller uses the name, because the owner of the house confirmed it. */
  readonly shared: boolean
  /** The entry whose body has the name. */
  readonly seq: number
}

export interface RecordedRollback {
  readonly id: string
  readonly state: 'available' | 'used'
  readonly domain: AdminDomain
  readonly tool: string
  readonly undoes: string
  /** Hex SHA-256 over a salt and the arguments. */
  readonly argsHash: string
}

export interface CorrectedDeviceClass {
  readonly ref: number
  readonly kind: DeviceKind
  readonly by: string
}

export interface HomeseerProjectionState {
  /** By the ref of the device. */
  readonly classes: UndoableStateMap<CorrectedDeviceClass>
  /** By the number of the entry. */
  readonly aliases: UndoableStateMap<LearnedAlias>
  readonly rollbacks: UndoableStateMap<RecordedRollback>
}

/** Older rollbacks are dropped: nobody wants to restore a state of months ago. */
export const MAX_ROLLBACKS = 500
const ALIAS_KINDS: readonly AliasTargetKind[] = ['device', 'event', 'camera']
const INCOMPLETE = 'a field that such an entry needs is missing or wrong'

const aliasEntries: Readonly<Record<string, EntryHandler<HomeseerProjectionState>>> = {
  'alias.learned': ({ aliases }, entry) => {
    const kind = ALIAS_KINDS.find((known) => known === entry['of'])
    const [id, replaces] = [readEntryNumberField(entry, 'id'), readEntryNumberField(entry, 'replaces')]
    const by = readEntryTextField(entry, 'by')
    if (kind === undefined || id === undefined || by === undefined) return INCOMPLETE
    if (replaces !== undefined && !aliases.has(String(replaces))) return 'there was no such name to replace'
    if (replaces !== undefined) aliases.delete(String(replaces))
    aliases.set(String(entry.seq), { kind, id, by, shared: entry['shared'] === true, seq: entry.seq })
    return undefined
  },
  'alias.forgotten': ({ aliases }, entry) => {
    const learned = String(readEntryNumberField(entry, 'learned'))
    if (!aliases.has(learned)) return 'there was no such name'
    aliases.delete(learned)
    return undefined
  },
  'body.erased': ({ aliases }, entry) => {
    aliases.delete(String(readEntryNumberField(entry, 'entry')))
    return undefined
  },
}

const classEntries: Readonly<Record<string, EntryHandler<HomeseerProjectionState>>> = {
  'class.corrected': ({ classes }, entry) => {
    const [ref, by] = [readEntryNumberField(entry, 'ref'), readEntryTextField(entry, 'by')]
    const kind = HOMESEER_DEVICE_KINDS.find((known) => known === entry['class'])
    if (ref === undefined || by === undefined || kind === undefined) return INCOMPLETE
    classes.set(String(ref), { ref, kind, by })
    return undefined
  },
  'class.withdrawn': ({ classes }, entry) => {
    const ref = String(readEntryNumberField(entry, 'ref'))
    if (!classes.has(ref)) return 'nobody had said what this device is'
    classes.delete(ref)
    return undefined
  },
}

const rollbackEntries: Readonly<Record<string, EntryHandler<HomeseerProjectionState>>> = {
  'rollback.kept': ({ rollbacks }, entry) => {
    const text = (field: string): string | undefined => readEntryTextField(entry, field)
    const [id, domain, tool, undoes] = [text('rollback'), text('domain'), text('tool'), text('undoes')]
    const argsHash = text('args_hash')
    if (id === undefined || domain === undefined || tool === undefined || undoes === undefined) return INCOMPLETE
    if (argsHash === undefined) return INCOMPLETE
    if (rollbacks.has(id)) return `rollback ${id} was kept before`
    rollbacks.dropOldest(MAX_ROLLBACKS - 1, () => true)
    rollbacks.set(id, { id, state: 'available', domain: domain as AdminDomain, tool, undoes, argsHash })
    return undefined
  },
  'rollback.used': ({ rollbacks }, entry) => moveRollback(rollbacks, entry, { from: 'available', to: 'used' }),
  'rollback.given-back': ({ rollbacks }, entry) => moveRollback(rollbacks, entry, { from: 'used', to: 'available' }),
}

export const homeseerProjection: Projection<HomeseerProjectionState> = {
  name: 'homeseer',
  initial: (journal) => ({
    aliases: new UndoableStateMap(journal),
    classes: new UndoableStateMap(journal),
    rollbacks: new UndoableStateMap(journal),
  }),
  apply: { ...aliasEntries, ...classEntries, ...rollbackEntries },
}

function moveRollback(
  rollbacks: UndoableStateMap<RecordedRollback>,
  entry: LedgerEntry,
  { from, to }: { readonly from: RecordedRollback['state']; readonly to: RecordedRollback['state'] },
): string | undefined {
  const rollback = rollbacks.get(readEntryTextField(entry, 'rollback') ?? '')
  if (rollback?.state !== from) return `no such rollback was ${from}`
  rollbacks.set(rollback.id, { ...rollback, state: to })
  return undefined
}
