/**
 * Random draw state: the key that a log draws with, and whether every draw in it holds.
 *
 *   node.start with `vrf_key` ─▶ consensus.drawn · ledger.sampled     each with a proof by that key
 *
 * The first key is valid for ever: with another key for each draw, a node could choose what is drawn.
 *
 * Pure, but for the state that it is given.
 */
import { fromHex, toHex } from '../core/bytes.ts'
import { computeDrawnIndices, encodeRandomDrawInput } from './random-draw.ts'
import type { RandomDrawSubject } from './random-draw.ts'
import { verifyVrfProof } from './ecvrf.ts'
import type { LedgerEntry } from './entry.ts'
import { readEntryNumberField, readEntryTextField } from './entry.ts'
import type { EntryHandler, Projection } from './projection.ts'
import { UndoableStateMap } from './projection.ts'

/** How many entries one sample checks. */
export const SAMPLE_ENTRY_COUNT = 16

interface DrawState {
  /** The log's key for draws, of which there is only one, and its node. */
  readonly keys: UndoableStateMap<{ readonly house: string; readonly key: string }>
}

const KEY = 'vrf_key'
const HEX_KEY = /^[0-9a-f]{64}$/
const HEX_PROOF = /^[0-9a-f]{160}$/

const sampled: EntryHandler<DrawState> = (state, entry) => {
  const size = readEntryNumberField(entry, 'size')
  if (size === undefined || size > entry.seq) return 'it is about entries that were not there'
  const beta = outputOf(state, entry, { epoch: 0, purpose: 'sample', number: size })
  if (typeof beta === 'string') return beta
  if (readEntryTextField(entry, 'output') !== toHex(beta)) return 'it names another output than its proof proves'
  const drawn = computeDrawnIndices(beta, size, SAMPLE_ENTRY_COUNT)
  const { entries } = entry
  const isDrawn =
    Array.isArray(entries) && entries.length === drawn.length && drawn.every((each, at) => entries[at] === each)
  return isDrawn ? undefined : 'it looked at other entries than were drawn'
}

const drawn: EntryHandler<DrawState> = (state, entry) => {
  const [epoch, number] = [readEntryNumberField(entry, 'epoch'), readEntryNumberField(entry, 'number')]
  if (epoch === undefined || number === undefined) return 'a field that such an entry needs is missing or wrong'
  const beta = outputOf(state, entry, { epoch, purpose: 'witness', number })
  return typeof beta === 'string' ? beta : undefined
}

export const randomDrawProjection: Projection<DrawState> = {
  name: 'draws',
  initial: (journal) => ({ keys: new UndoableStateMap(journal) }),
  apply: {
    'node.start': ({ keys }, entry) => {
      const [key, house] = [readEntryTextField(entry, KEY), readEntryTextField(entry, 'node')]
      if (key === undefined || house === undefined) return undefined
      const before = keys.get(KEY)
      if (!HEX_KEY.test(key)) return 'its key for draws is not valid'
      if (before !== undefined && (before.key !== key || before.house !== house))
        return 'the node drew with another key before'
      keys.set(KEY, { key, house })
      return undefined
    },
  },
  check: { 'consensus.drawn': drawn, 'ledger.sampled': sampled },
}

/** The output that the proof of an entry proves, or why the proof is invalid. */
function outputOf(
  { keys }: DrawState,
  entry: LedgerEntry,
  subject: Omit<RandomDrawSubject, 'house'>,
): Uint8Array | string {
  const [known, proof] = [keys.get(KEY), readEntryTextField(entry, 'proof')]
  if (known === undefined) return 'no key for draws was known before it'
  if (proof === undefined || !HEX_PROOF.test(proof)) return 'its proof cannot be read'
  const alpha = encodeRandomDrawInput({ ...subject, house: known.house })
  return verifyVrfProof(fromHex(known.key), alpha, fromHex(proof)) ?? 'its proof does not hold'
}
