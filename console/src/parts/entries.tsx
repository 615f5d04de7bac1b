/**
 * Entries: what a ledger says, entry by entry, each with a proof to take along. The ledger may be another node's.
 *
 * Does I/O: it saves files.
 */
import type { JSX } from 'preact'
import type { LedgerEntryView } from '../../../src/web/views.ts'
import { useAttempt } from '../core/attempt.ts'
import { numberAt } from '../core/json.ts'
import { line } from '../core/text.ts'
import { saveFile } from './copy.tsx'
import { JsonTree } from './json-tree.tsx'
import { Flaw } from './states.tsx'
import { Time } from './words.tsx'

export function Entries({
  entries,
  name,
  proofOf,
}: {
  readonly entries: readonly LedgerEntryView[]
  /** What the file of a proof begins with. */
  readonly name: string
  readonly proofOf: (seq: number) => Promise<string>
}): JSX.Element {
  const { flaw, attempt } = useAttempt()
  const save = async (seq: number): Promise<void> => saveFile(`${name}-${seq}.tlog-proof`, await proofOf(seq))
  return (
    <>
      <Flaw text={flaw} />
      <ul class="entries">
        {entries.map(({ seq, at, kind, entry }) => (
          <li key={seq}>
            <details>
              <summary>
                <span class="mono">#{seq}</span> <strong>{line(kind, 40)}</strong> <Time ms={Date.parse(at)} />
                {numberAt(entry, 'call') === undefined ? null : (
                  <span class="aside"> closes #{numberAt(entry, 'call')}</span>
                )}
              </summary>
              <JsonTree value={entry} />
            </details>
            <button type="button" class="small" onClick={() => void attempt(() => save(seq))}>
              Save proof<span class="hidden-text"> of entry {seq}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}
