/**
 * Cosigned tree memory: the trees of other nodes that this node has cosigned, in its own log, so that nobody who can
 * write into mesh-witness.db can make it forget one and cosign a fork.
 *
 *   witness.remembers ─▶ a larger tree of the same log
 *
 * One entry for each cosignature would make two nodes answer each other for ever: a log's newest tree is recorded once an
 * hour, and before a stop ends. In between a running node knows it itself, and its pin has it before the cosignature
 * goes out, for the case that the node is killed.
 *
 * Pure: the ledger does the writing.
 */
import type { Clock } from '../core/clock.ts'
import { fromBase64, toBase64 } from '../core/bytes.ts'
import { readEntryNumberField, readEntryTextField } from '../ledger/entry.ts'
import type { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Projection } from '../ledger/projection.ts'
import { UndoableStateMap } from '../ledger/projection.ts'
import { HASH_BYTES } from '../ledger/tree.ts'
import type { CosignedTreeSizeAndRoot, CosignedTreeMemory } from '../ledger/cosigned-checkpoint-store.ts'

/** By log. */
interface WitnessState {
  readonly trees: UndoableStateMap<CosignedTreeSizeAndRoot>
}

const RECORD_INTERVAL_MS = 3_600_000
const WITNESS_REMEMBERS_KIND = 'witness.remembers'

export const cosignedTreeProjection: Projection<WitnessState> = {
  name: 'witness',
  initial: (journal) => ({ trees: new UndoableStateMap<CosignedTreeSizeAndRoot>(journal) }),
  apply: {
    [WITNESS_REMEMBERS_KIND]: ({ trees }, entry) => {
      const [log, size] = [readEntryTextField(entry, 'log'), readEntryNumberField(entry, 'size')]
      const root = fromBase64(readEntryTextField(entry, 'root') ?? '')
      if (log === undefined || size === undefined || root?.length !== HASH_BYTES)
        return 'a field that such an entry needs is missing or wrong'
      const before = trees.get(log)
      if (before !== undefined && size <= before.size) return `a tree of ${before.size} entries was cosigned before`
      trees.set(log, { size, root })
      return undefined
    },
  },
}

export interface RecordedCosignedTreeMemory extends CosignedTreeMemory {
  /** Puts on record what was cosigned since; within the hour only what has no record yet, unless `all`. */
  readonly record: (which?: 'all') => Promise<void>
}

/** `pin` is absent where nothing is kept outside of the data directory. */
export function createCosignedTreeMemory(
  ledger: Pick<Ledger, 'append' | 'projections'>,
  clock: Clock,
  pin?: CosignedTreePin,
): RecordedCosignedTreeMemory {
  const { trees } = ledger.projections.state(cosignedTreeProjection)
  const cosigned = new Map<string, CosignedTreeSizeAndRoot>()
  const recordedMs = new Map<string, number>()
  return {
    newest: (log) => {
      const [recorded, pinned] = [trees.get(log), pin?.pinned.get(log)]
      return cosigned.get(log) ?? ((pinned?.size ?? 0) > (recorded?.size ?? 0) ? pinned : recorded)
    },
    remember: (log, tree) => void cosigned.set(log, tree),
    makeDurable: async (log, tree) => pin?.makeDurable(log, tree),
    record: async (which) => {
      for (const [log, { size, root }] of cosigned) {
        if (size <= (trees.get(log)?.size ?? -1)) continue
        const isDue = clock.monotonic() - (recordedMs.get(log) ?? -Infinity) >= RECORD_INTERVAL_MS
        if (which !== 'all' && !isDue) continue
        await ledger.append({ kind: WITNESS_REMEMBERS_KIND, log, size, root: toBase64(root) })
        recordedMs.set(log, clock.monotonic())
      }
    },
  }
}
